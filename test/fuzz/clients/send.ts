import http from 'node:http';
import { OPERATIONS } from '../../../transports/rest/operations.generated.ts';

const BOUNDARY = 'fuzz-0f3a7c';
const FILES = [
  { name: 'map.png', type: 'image/png', bytes: pixel() },
  { name: 'notes.txt', type: 'text/plain', bytes: Buffer.from('tide\n') },
] as const;

function pixel(): Buffer {
  const base64 =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  return Buffer.from(base64, 'base64');
}

const PLACES = new Map(
  OPERATIONS.map((line) => {
    const [id = '', method = '', path = ''] = line.split(' ');
    return [id, { method, path }];
  }),
);

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface SentRequest {
  readonly to: string;
  readonly params: Readonly<Record<string, string>>;
  /** JSON; undefined for no body. */
  readonly text: string | undefined;
}

/** Sends requests over kept connections, with as little as it takes: a run makes hundreds of thousands. */
export class Sender {
  readonly #api: URL;
  readonly #agent: http.Agent;

  constructor(api: string, connections: number) {
    this.#api = new URL(api);
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** @throws when no answer comes. */
  ask(authorization: string, { to, params, text }: SentRequest): Promise<Answer> {
    const place = PLACES.get(to);
    if (!place) throw new Error(`There is no operation "${to}".`);
    const path = place.path.replaceAll(/:(\w+)/g, (_, key: string) =>
      encodeURIComponent(Buffer.from(params[key] ?? '0').toString()),
    );
    const needsFiles =
      text !== undefined &&
      /_message$/.test(to) &&
      /attachment:\/\/(map|notes)|"attachments":\[{"id":"[01]"/.test(text);
    const body = needsFiles ? withFiles(text) : text;
    const type = needsFiles ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/json';
    const { hostname, port, pathname } = this.#api;
    const options: http.RequestOptions = {
      ...{ hostname, port, method: place.method, agent: this.#agent },
      path: `${pathname}/v10${path}`,
      headers: {
        authorization,
        ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
      },
    };
    return requested(options, body);
  }
}

/** A kept connection may be closed by the server at the moment it is used: such a request is made once more, on a new one. */
function requested(
  options: http.RequestOptions,
  body: string | Buffer | undefined,
  isAgain = false,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(options);
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && error.code === 'ECONNRESET' && !isAgain;
      if (isStale) requested({ ...options, agent: false }, body, true).then(resolve, reject);
      else reject(error);
    });
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const said = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode ?? 0, body: said === '' ? undefined : JSON.parse(said) });
      });
    });
    request.end(body);
  });
}

function withFiles(text: string): Buffer {
  const part = (name: string, type: string, bytes: Buffer | string) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name=${name}\r\nContent-Type: ${type}\r\n\r\n`,
    ),
    Buffer.from(bytes),
    Buffer.from('\r\n'),
  ];
  return Buffer.concat([
    ...part('"payload_json"', 'application/json', text),
    ...FILES.flatMap(({ name, type, bytes }, index) =>
      part(`"files[${index}]"; filename="${name}"`, type, bytes),
    ),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}
