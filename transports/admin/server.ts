import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Engine } from '../../embedding.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import { type AdminAnswer, AdminError, findRoute, type Operated } from './routes.ts';

export interface AdminServerOptions {
  readonly engine: Operated & Pick<Engine, 'metrics' | 'unready'>;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Without a token only health and metrics are served. */
  readonly token: string | null;
  readonly logger?: Pick<Logger, 'error'>;
}

export interface AdminServer {
  /** Without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 64 << 10;
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 256;
/** Only there to read a path as a URL. */
const BASE = 'http://admin';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Opens the admin port: `/livez`, `/readyz` and `/metrics` for everyone who reaches it, the rest for the bearer of
 * the admin token. An error is always `{"error":{"code","message"}}`.
 *
 * @throws Error when the port cannot be had.
 */
export async function openAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer((request, response) => {
    answer(request, options).then(
      (given) => send(response, given),
      (error: unknown) => send(response, explained(error, options.logger)),
    );
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

async function answer(request: IncomingMessage, options: AdminServerOptions): Promise<AdminAnswer> {
  const target = request.url ?? '/';
  if (!URL.canParse(target, BASE)) throw new AdminError(400, 'invalid_target', 'The path cannot be read.');
  const { pathname, searchParams } = new URL(target, BASE);
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
  if (method === 'GET') {
    const health = await healthOf(pathname, options.engine);
    if (health !== null) return health;
  }
  if (options.token === null) {
    throw new AdminError(403, 'admin_api_closed', 'The admin API is closed. Set admin_token to open it.');
  }
  if (!bears(request.headers.authorization, options.token)) {
    const message = 'Send "Authorization: Bearer <admin token>" with the admin token of this server.';
    throw new AdminError(401, 'unauthorized', message);
  }
  const found = findRoute(method, pathname);
  if ('methods' in found) {
    if (found.methods.length === 0) throw new AdminError(404, 'not_found', `There is no ${pathname} here.`);
    throw new AdminError(
      405,
      'method_not_allowed',
      `${pathname} answers ${found.methods.join(' and ')} only.`,
    );
  }
  const body = method === 'POST' ? await jsonOf(request) : undefined;
  return found.route.handle(options.engine, { id: found.id, query: searchParams, body });
}

/** What a probe or a scraper asks for; null when the path is none of theirs. */
async function healthOf(path: string, engine: AdminServerOptions['engine']): Promise<AdminAnswer | null> {
  if (path === '/livez') return { status: 200, body: { alive: true } };
  if (path === '/metrics') return { status: 200, body: await engine.metrics() };
  if (path !== '/readyz') return null;
  const reasons = await engine.unready();
  const ready = Object.keys(reasons).length === 0;
  return { status: ready ? 200 : 503, body: { ready, reasons } };
}

/** Compares digests, so that neither the length nor the content of the token shows in the time it takes. */
function bears(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(header ?? ''), digest(`Bearer ${token}`));
}

/** The body of a request as JSON. Asking for the content type keeps forms of other sites out. */
async function jsonOf(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    throw new AdminError(415, 'not_json', 'Send the body as application/json.');
  }
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bodyBytes += chunk.length;
    if (bodyBytes > BODY_BYTES_MAX) {
      throw new AdminError(413, 'too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new AdminError(400, 'invalid_json', 'The body is not valid JSON.');
  }
}

/** An error in the API's shape. A refusal of the engine keeps its status and code; anything else is a fault of ours. */
function explained(error: unknown, logger: AdminServerOptions['logger']): AdminAnswer {
  const refused = refusalOf(error);
  if (refused !== null) {
    const { status, code, message } = refused;
    return { status, body: { error: { code: String(code), message } } };
  }
  logger?.error({ err: error }, 'The admin API failed to answer.');
  return { status: 500, body: { error: { code: 'fault', message: 'The server failed; its log says why.' } } };
}

/** An engine refuses with an error that carries the refusal. */
function refusalOf(error: unknown): (Pick<Refusal, 'status' | 'message'> & { code: string | number }) | null {
  if (error instanceof AdminError) return error;
  if (!(error instanceof Error) || !('refusal' in error)) return null;
  return error.refusal as Refusal;
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
