import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusalText } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { isOwnHost } from './host.ts';
import { type AdminAnswer, AdminError } from './route.ts';

/** A request to an admin port, once its target can be read. */
export interface AdminRequest {
  /** `GET` for HEAD too. */
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Path and query as they came. */
  readonly target: string;
  readonly contentType: string;
  readonly authorization: string;
  /** The name of the token that was given; empty before one was needed. */
  readonly tokenName: string;
  /** The whole body. @throws AdminError when it is too large. */
  readBody(): Promise<Buffer>;
}

/** A token of the admin API, and what the security trail calls it. */
export interface AdminToken {
  readonly name: string;
  readonly secret: string;
}

export interface AdminPortOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Called `admin_token` in the trail. Without any token only what is open to everyone is served. */
  readonly token: string | null;
  /** More tokens, each with a name of its own. */
  readonly tokens?: readonly AdminToken[];
  /** Names that it is reached by, besides `localhost` and addresses. */
  readonly names?: readonly string[];
  readonly logger?: Pick<Logger, 'error'>;
  readonly security?: SecurityTrail;
  /** What everyone may ask; null when the path is none of that. */
  readonly open: (request: AdminRequest) => Promise<AdminAnswer | null>;
  /** The rest, asked by the bearer of the token. */
  readonly answer: (request: AdminRequest) => Promise<AdminAnswer>;
}

export interface AdminServer {
  /** Without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 64 << 10;
/** Of the rest of a body that is refused. */
const DRAIN_BYTES_MAX = 8 << 20;
const DRAIN_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 256;
/** Only there to read a path as a URL. */
const BASE = 'http://admin';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Opens an admin port. An error is always `{"error":{"code","message"}}`; refused fields are in `message`, and in `errors`
 * as the HTTP API has them.
 *
 * @throws Error when the port cannot be had.
 */
export async function openAdminPort(options: AdminPortOptions): Promise<AdminServer> {
  const server = createServer((request, response) => {
    answer(request, options)
      .catch((error: unknown) => explained(error, options.logger))
      .then(async (given) => {
        if (given.status >= 400) await drained(request);
        send(response, given);
      });
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, options: AdminPortOptions): Promise<AdminAnswer> {
  const target = request.url ?? '/';
  if (!URL.canParse(target, BASE)) throw new AdminError(400, 'invalid_target', 'The path cannot be read.');
  const { pathname, search, searchParams } = new URL(target, BASE);
  if (!isOwnHost(request.headers.host, pathname, [options.host, ...(options.names ?? [])])) {
    options.security?.('admin_refused', { reason: 'host', network: request.socket.remoteAddress ?? null });
    const message = 'The Host is no name of this server: ask by address, or add the name to admin_hosts.';
    throw new AdminError(421, 'unknown_host', message);
  }
  const { authorization = '', 'content-type': contentType = '' } = request.headers;
  const asked: AdminRequest = {
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    ...{
      path: pathname,
      query: searchParams,
      target: pathname + search,
      contentType,
      authorization,
      tokenName: '',
    },
    readBody: () => bodyOf(request),
  };
  const open = await options.open(asked);
  if (open !== null) return open;
  const { token, tokens: named = [] } = options;
  const tokens = token === null ? named : [{ name: 'admin_token', secret: token }, ...named];
  if (tokens.length === 0) {
    throw new AdminError(403, 'admin_api_closed', 'The admin API is closed. Set admin_token to open it.');
  }
  const tokenName = bearerOf(authorization, tokens);
  if (tokenName === null) {
    options.security?.('admin_refused', { reason: 'token', network: request.socket.remoteAddress ?? null });
    const message = 'Send "Authorization: Bearer <admin token>" with the admin token of this server.';
    throw new AdminError(401, 'unauthorized', message);
  }
  return options.answer({ ...asked, tokenName });
}

/**
 * The name of the token in the header. Digests of all tokens are compared, so that neither length nor content of any
 * token shows in the time it takes, nor which one it was.
 */
function bearerOf(header: string, tokens: readonly AdminToken[]): string | null {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const given = digest(header);
  const fitting = tokens.filter(({ secret }) => timingSafeEqual(given, digest(`Bearer ${secret}`)));
  return fitting[0]?.name ?? null;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bodyBytes += chunk.length;
    if (bodyBytes > BODY_BYTES_MAX) {
      throw new AdminError(413, 'too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Drops the rest of a body that is refused, within bounds: a client that is still sending would be reset instead of answered. */
function drained(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let left = DRAIN_BYTES_MAX;
    const done = () => {
      clearTimeout(timer);
      request.pause();
      resolve();
    };
    const timer = setTimeout(done, DRAIN_MS);
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) done();
    });
    request.once('end', done).once('close', done).once('error', done);
  });
}

/** The body of a request as JSON; integers beyond 2^53 are bigints. Asking for the content type keeps forms of other sites out. */
export async function jsonOf(request: AdminRequest): Promise<unknown> {
  if (!/^application\/json\b/.test(request.contentType)) {
    throw new AdminError(415, 'not_json', 'Send the body as application/json.');
  }
  const body = await request.readBody();
  try {
    return parseJson(body);
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    const message = error instanceof OversizedJson ? error.message : 'The body is not valid JSON.';
    throw new AdminError(400, 'invalid_json', message);
  }
}

/** An error in the API's shape. A refusal of the engine keeps its status and code; anything else is a fault of ours. */
function explained(error: unknown, logger: AdminPortOptions['logger']): AdminAnswer {
  const refused = refusalOf(error);
  if (refused !== null) {
    const { status, code, errors } = refused;
    const told = { code: String(code), message: refusalText(refused), ...(errors && { errors }) };
    return { status, body: { error: told } };
  }
  logger?.error({ err: error }, 'The admin API failed to answer.');
  return { status: 500, body: { error: { code: 'fault', message: 'The server failed; its log says why.' } } };
}

/** The status that `explained` answers the error with. */
export const errorStatus = (error: unknown): number => refusalOf(error)?.status ?? 500;

type AdminRefusal = Pick<Refusal, 'status' | 'message' | 'errors'> & { readonly code: string | number };

/** An engine refuses with an error that carries the refusal. */
function refusalOf(error: unknown): AdminRefusal | null {
  if (error instanceof AdminError) return { status: error.status, code: error.code, message: error.message };
  if (!(error instanceof Error)) return null;
  if (error.name === 'NotServed')
    return { status: 503, code: 'not_served', message: 'Nobody serves this now: try again in a moment.' };
  return 'refusal' in error ? (error.refusal as Refusal) : null;
}

function send(response: ServerResponse, { status, body }: AdminAnswer): void {
  if (response.destroyed) return;
  const isText = typeof body === 'string';
  const text = body === undefined ? '' : isText ? body : `${JSON.stringify(body)}\n`;
  const headers = {
    'content-type': isText ? METRICS_TYPE : 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  };
  // A body that was refused half-read leaves the connection in no state to be used again.
  if (status >= 400) response.setHeader('connection', 'close');
  if (status === 204) response.writeHead(204, { 'cache-control': 'no-store' }).end();
  else response.writeHead(status, headers).end(text);
}
