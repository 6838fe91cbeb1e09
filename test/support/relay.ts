import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { OPERATIONS } from '../../transports/rest/operations.generated.ts';
import { operations, unlisted } from '../../transports/rest/resources/index.ts';
import { recordAnswer, recordDispatch } from './comparedreplies.ts';
import { objectionsToReply } from './declaredreplies.ts';
import { objectionsToDispatch } from './dispatchschemas.ts';
import { validateResponse } from './openapi.ts';
import { isUnlisted, objectionsToUnlisted } from './unlistedschemas.ts';
import { Wiretap } from './wiretap.ts';

/**
 * Stands between unmodified clients and a server: checks every answer, and every dispatch that the published file has
 * a schema for, against that file; cuts connections.
 */
export interface Relay {
  readonly origin: string;
  /** Answers and dispatches that do not fit the published file. */
  readonly mismatches: readonly string[];
  /** Answers that were compared with it, or with the table of operations that it does not list. */
  readonly checked: number;
  /** Dispatches that were compared with it, by name. */
  readonly dispatches: ReadonlyMap<string, number>;
  /** Gateway connections that stand. */
  readonly sockets: number;
  /** Resets every gateway connection; answers how many there were. */
  cut(): number;
  close(): Promise<void>;
}

interface RelayAddress {
  readonly operationId: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: number;
}

/** Literal segments win over parameters, as in any router. */
const BESIDE = Object.entries<AnyOperation>(unlisted).map(
  ([id, { method, path }]) => `${id} ${method} ${path}`,
);
const PLACES: readonly RelayAddress[] = [...OPERATIONS, ...BESIDE]
  .map((line) => {
    const [operationId = '', method = '', path = ''] = line.split(' ');
    const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`);
    return { operationId, method, pattern, parameters: path.split(':').length - 1 };
  })
  .toSorted((a, b) => a.parameters - b.parameters);

/**
 * Operations that reply with plain text, as clients of another service expect it, where the published file has a JSON string.
 *
 * @source https://github.com/discord/discord-api-docs/issues/1067
 */
const PLAIN_TEXT = 'text/plain; charset=utf-8';
/** The types of replies that are no JSON: such texts, and files. */
const TYPES = new Map<string, string>(
  Object.entries<AnyOperation>({ ...operations, ...unlisted }).flatMap(([id, { text, media }]) =>
    text || media ? [[id, media ?? PLAIN_TEXT] as const] : [],
  ),
);

/** The operation of a request, if it is one of the API: of the published file, or beside it. */
export function operationOf(method: string, url: string): string | null {
  const path = /^\/api(?:\/v\d+)?(\/[^?]*)/.exec(url)?.[1];
  if (path === undefined) return null;
  const plain = path.replaceAll(/%40/gi, '@');
  return PLACES.find((place) => place.method === method && place.pattern.test(plain))?.operationId ?? null;
}

/** Whether an answer is one of the API that should have been compared with something. */
const isAnswered = (method: string, url: string, status: number): boolean =>
  url.startsWith('/api/') && status < 300 && method !== 'OPTIONS' && method !== 'HEAD';

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Faults in an answer: by the operation's own declaration, and by the published file or the table beside it. */
function objectionsTo(operationId: string, answer: IncomingMessage, body: Buffer): string[] {
  const status = answer.statusCode ?? 0;
  const compare = (value: unknown) => [
    ...objectionsToReply(operationId, status, value),
    ...(isUnlisted(operationId)
      ? objectionsToUnlisted(operationId, status, value)
      : validateResponse(operationId, status, value)),
  ];
  if (body.length === 0) return compare(undefined);
  const special = status < 300 ? TYPES.get(operationId) : undefined;
  const expected = special ?? 'application/json';
  const type = answer.headers['content-type'];
  if (type !== expected) return [`${operationId} ${status} is ${type}, not exactly ${expected}`];
  return compare(special ? body.toString('latin1') : JSON.parse(body.toString()));
}

/** Passes a gateway connection on, byte for byte; the end of either side is the end of both. */
function tunnel(
  asked: IncomingMessage,
  socket: Socket,
  {
    first,
    port,
    tap,
  }: { readonly first: Buffer; readonly port: number; readonly tap: (bytes: Buffer) => void },
): void {
  const onward = connect(port, '127.0.0.1', () => {
    const fields = asked.rawHeaders.flatMap((name, at, all) => (at % 2 ? [] : [`${name}: ${all[at + 1]}`]));
    onward.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    onward.write(first);
    socket.pipe(onward).pipe(socket);
  });
  onward.on('data', tap);
  const drop = () => {
    socket.destroy();
    onward.destroy();
  };
  for (const end of [socket, onward]) end.on('error', drop).on('close', drop);
}

/** Reads along on a gateway connection: counts the dispatches that have a schema, and keeps what is wrong with them. */
function tapOf(url: string, dispatches: Map<string, number>, mismatches: string[]): (bytes: Buffer) => void {
  // The voice gateway has frames of its own, and no dispatches.
  if (url.startsWith('/voice')) return () => undefined;
  const wiretap = new Wiretap(url, (t, d) => {
    recordDispatch(t);
    const objections = objectionsToDispatch(t, d);
    if (!objections) return;
    dispatches.set(t, (dispatches.get(t) ?? 0) + 1);
    mismatches.push(...objections);
  });
  return (bytes) => {
    wiretap.take(bytes);
    wiretap.read.catch((error: Error) => mismatches.push(`${url}: ${error.message}`));
  };
}

/** Opens a relay on loopback for the server at `targetPort`, which need not be there yet. */
export async function openRelay(targetPort: () => number): Promise<Relay> {
  const mismatches: string[] = [];
  const tunnels = new Set<Socket>();
  const dispatches = new Map<string, number>();
  let checked = 0;

  async function answered(asked: IncomingMessage, answer: IncomingMessage, out: ServerResponse) {
    const { method = 'GET', url = '/' } = asked;
    const status = answer.statusCode ?? 502;
    const operationId = operationOf(method, url);
    const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers;
    const body = await bodyOf(answer);
    // Faults and operations that are not built are no answers of the file.
    if (operationId !== null && status < 500) {
      checked += 1;
      const objections = objectionsTo(operationId, answer, body);
      mismatches.push(...objections);
      if (objections.length === 0) recordAnswer(operationId, status, body.toString('latin1'));
    } else if (operationId === null && isAnswered(method, url, status)) {
      mismatches.push(`${method} ${url}: ${status} of no known operation`);
    }
    out.writeHead(status, headers).end(body);
  }

  const server = createServer((asked, out) => {
    const { method, url } = asked;
    // Whether a connection is kept is between each two that share it.
    const { connection: _, ...headers } = asked.headers;
    const onward = request({ port: targetPort(), host: '127.0.0.1', method, path: url, headers });
    const fail = (error: Error) => {
      // A client that has left is no fault of the server.
      if (!out.destroyed) mismatches.push(`${method} ${url}: ${error.message}`);
      out.destroy();
    };
    onward.on('response', (answer) => answered(asked, answer, out).catch(fail));
    onward.on('error', fail);
    asked.pipe(onward);
  });
  server.on('upgrade', (asked: IncomingMessage, client: Duplex, first: Buffer) => {
    const socket = client as Socket;
    tunnels.add(socket);
    socket.on('close', () => tunnels.delete(socket));
    const tap = tapOf(asked.url ?? '/', dispatches, mismatches);
    tunnel(asked, socket, { first, port: targetPort(), tap });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mismatches,
    dispatches,
    get checked() {
      return checked;
    },
    get sockets() {
      return tunnels.size;
    },
    cut() {
      const count = tunnels.size;
      for (const socket of tunnels) socket.resetAndDestroy();
      return count;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      for (const socket of tunnels) socket.destroy();
      await once(server, 'close');
    },
  };
}
