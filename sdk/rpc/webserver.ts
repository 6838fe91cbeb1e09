import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { RPC_CLOSE, RPC_LIMITS, RPC_OP, RPC_PORTS } from '../../protocol/rpc.ts';
import type { RpcConnection, RpcTransport } from './host.ts';
import { isObject } from './link.ts';
import type { Room } from './room.ts';
import { ROOM_LINK } from './roomlink.ts';

type Connect = (transport: RpcTransport) => RpcConnection;

/** The room that the voice-room page connects to. */
interface RoomServer {
  /** Origin of the server's own pages; no other page may connect. */
  readonly origin: string;
  readonly room: Room;
}

/** Erlang's external term format, which a WebSocket may ask for in place of JSON. */
interface Etf {
  encode(data: unknown): Uint8Array;
  /** @throws Error for a malformed term */
  decode(bytes: Uint8Array): unknown;
}

const HOST = '127.0.0.1';
const SOCKETS_MAX = 32;
const UNSENT_BYTES_MAX = 1 << 20;
const COMMAND_MS = 60_000;
/** Time for a page to prove that it knows the secret. */
const PROOF_MS = 10_000;
/** A name of this machine, so that pages of other names that resolve to it are refused. */
const OWN_HOST = /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/;

/** Null for a target that is no path or cannot be parsed; browsers send `//[` unchanged. */
function urlOf({ url = '' }: IncomingMessage): URL | null {
  const whole = `http://${HOST}${url}`;
  return url.startsWith('/') && URL.canParse(whole) ? new URL(whole) : null;
}
const handshakeOf = ({ searchParams }: URL): object => ({
  v: searchParams.get('v') ?? '',
  client_id: searchParams.get('client_id') ?? '',
  encoding: searchParams.get('encoding') ?? 'json',
});
const originOf = ({ headers }: IncomingMessage): string | null => headers.origin ?? null;
const isOwnHost = ({ headers }: IncomingMessage): boolean => OWN_HOST.test(headers.host ?? '');

/** Serves WebSocket and HTTP on the first free port of this machine. @returns null when all are taken */
export async function serveWeb(
  connect: Connect,
  place: RoomServer,
  etf: Etf,
): Promise<{ readonly port: number; close(): Promise<void> } | null> {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: RPC_LIMITS.frame_bytes_max });
  const server = createServer({ requestTimeout: 15_000, headersTimeout: 10_000 }, (request, response) => {
    answer(request, response, connect).catch(() => response.destroy());
  });
  server.maxConnections = 64;
  server.on('upgrade', (request, socket, head) => {
    const url = urlOf(request);
    const isRoom = url?.pathname === ROOM_LINK.path;
    if (url === null || !isOwnHost(request) || sockets.clients.size >= SOCKETS_MAX) socket.destroy();
    else if (isRoom && originOf(request) !== place.origin) socket.destroy();
    else if (isRoom) sockets.handleUpgrade(request, socket, head, (opened) => serveRoom(opened, place.room));
    else
      sockets.handleUpgrade(request, socket, head, (opened) =>
        serveSocket(opened, { url, origin: originOf(request), connect, etf }),
      );
  });
  for (let port: number = RPC_PORTS.first; port <= RPC_PORTS.last; port += 1) {
    if (!(await listenAt(server, port))) continue;
    return {
      port,
      close: () =>
        new Promise((resolve) => {
          for (const socket of sockets.clients) socket.terminate();
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }
  return null;
}

const listenAt = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const failed = (): void => resolve(false);
    server.once('error', failed);
    server.listen(port, HOST, () => {
      server.off('error', failed);
      resolve(true);
    });
  });

/** Where a connection comes from, and what accepts it. */
interface ConnectionRequest {
  readonly url: URL;
  readonly origin: string | null;
  readonly connect: Connect;
}

/** Messages of a WebSocket as values, whatever their encoding. */
interface Encoding {
  encode(data: object): string | Uint8Array;
  /** @returns null for a malformed message */
  decode(bytes: Buffer, isBinary: boolean): unknown;
}

const JSON_MESSAGES: Encoding = {
  encode: (data) => JSON.stringify(data),
  decode: (bytes, isBinary) => (isBinary ? null : parsed(String(bytes))),
};

const messagesIn = (etf: Etf): Encoding => ({
  encode: (data) => etf.encode(data),
  decode(bytes, isBinary) {
    try {
      return isBinary ? etf.decode(bytes) : null;
    } catch {
      return null;
    }
  },
});

function serveSocket(
  socket: WebSocket,
  { url, origin, connect, etf }: ConnectionRequest & { readonly etf: Etf },
): void {
  const isEtf = url.searchParams.get('encoding') === 'etf';
  const messages = isEtf ? messagesIn(etf) : JSON_MESSAGES;
  // 1006 stands for a connection that broke; it is not sent.
  const closeCode = (code: number): number => (code === RPC_CLOSE.ABNORMAL ? 1011 : code);
  const connection = connect({
    ...{ kind: 'websocket', origin },
    send(op, data) {
      if (socket.readyState !== socket.OPEN) return;
      if (op === RPC_OP.CLOSE) {
        const { code, message } = isObject(data) ? data : {};
        socket.close(closeCode(Number(code)), String(message));
      } else if (op === RPC_OP.FRAME && isObject(data)) socket.send(messages.encode(data));
      if (socket.bufferedAmount > UNSENT_BYTES_MAX) socket.terminate();
    },
    closed: () => undefined,
  });
  socket.on('message', (bytes, isBinary) => {
    const data = Buffer.isBuffer(bytes) ? messages.decode(bytes, isBinary) : null;
    if (data === null)
      connection.close(RPC_CLOSE.UNSUPPORTED, `Messages are ${isEtf ? 'ETF, in bytes' : 'JSON'}.`);
    else connection.receive(RPC_OP.FRAME, data);
  });
  socket.on('error', () => socket.terminate());
  socket.once('close', () => connection.lost());
  // The link sees values, whatever their encoding.
  connection.receive(RPC_OP.HANDSHAKE, { ...handshakeOf(url), ...(isEtf && { encoding: 'json' }) });
}

function serveRoom(socket: WebSocket, room: Room): void {
  const link = room.connect({
    send(text) {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > UNSENT_BYTES_MAX) socket.terminate();
    },
    close: (code, reason) => socket.close(code, reason),
  });
  const timer = setTimeout(() => {
    if (!link.isProved()) socket.terminate();
  }, PROOF_MS);
  socket.on('message', (bytes) => link.receive(String(bytes)));
  socket.on('error', () => socket.terminate());
  socket.once('close', () => {
    clearTimeout(timer);
    link.lost();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > RPC_LIMITS.frame_bytes_max) return null;
    parts.push(part);
  }
  return parsed(Buffer.concat(parts).toString('utf8'));
}

/** One command: connects, sends it when READY arrives, and answers with its reply. */
async function answer(request: IncomingMessage, response: ServerResponse, connect: Connect): Promise<void> {
  const url = urlOf(request);
  const origin = originOf(request);
  const cors = origin === null ? {} : { 'access-control-allow-origin': origin, vary: 'origin' };
  const reply = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...cors });
    response.end(JSON.stringify(body));
  };
  // Stock clients look for the port by this answer.
  if (url?.pathname !== '/rpc' || !isOwnHost(request)) reply(404, { code: 0, message: 'Not Found' });
  else if (request.method === 'OPTIONS') {
    const allowed = {
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
    };
    response.writeHead(204, { ...cors, ...allowed }).end();
  } else if (request.method !== 'POST') reply(405, { code: 0, message: 'Method Not Allowed' });
  else {
    const command = await bodyOf(request);
    const { status, body } = await once(command, { url, origin, connect });
    reply(status, body);
  }
}

function once(
  command: unknown,
  { url, origin, connect }: ConnectionRequest,
): Promise<{ status: number; body: object }> {
  return new Promise((resolve) => {
    const finish = (status: number, body: object): void => {
      clearTimeout(timer);
      resolve({ status, body });
      connection.lost();
    };
    const timer = setTimeout(() => finish(504, { code: 1000, message: 'No answer.' }), COMMAND_MS);
    let isReady = false;
    const connection = connect({
      ...{ kind: 'http', origin },
      send(op, data) {
        if (!isObject(data)) return;
        if (op === RPC_OP.CLOSE) finish(403, data);
        else if (isReady) finish(200, data);
        else {
          isReady = true;
          if (!isObject(command) || typeof command.cmd !== 'string')
            finish(400, { code: 4000, message: 'The body must be a command.' });
          else connection.receive(RPC_OP.FRAME, { nonce: '0', ...command });
        }
      },
      closed: () => undefined,
    });
    connection.receive(RPC_OP.HANDSHAKE, handshakeOf(url));
  });
}
