import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { portOf } from '../../protocol/addresses.ts';
import { isBug } from '../../protocol/faults.ts';
import { MalformedJson, OversizedJson, parseJson } from '../../protocol/json.ts';
import { type Refusal, refusalText } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { isOwnHost } from './host.ts';
import { type AdminAnswer, AdminError } from './route.ts';

/** A request to an admin port, with a valid target. */
export interface AdminRequest {
  /** `GET` for HEAD too. */
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Path and query, unparsed. */
  readonly target: string;
  readonly contentType: string;
  readonly authorization: string;
  readonly accept: string;
  /** The Origin header; null without one. */
  readonly origin: string | null;
  readonly host: string;
  /** Name of the caller's token; empty for requests that need none. */
  readonly tokenName: string;
  /** Reads the whole body. @throws AdminError when it is too large. */
  readBody(): Promise<Buffer>;
}

/** A token of the admin API, and its name in the security trail. */
export interface AdminToken {
  readonly name: string;
  readonly secret: string;
}

export interface AdminPortOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Named `admin_token` in the trail. Without any token only the public paths are served. */
  readonly token: string | null;
  /** More tokens, each with a name. */
  readonly tokens?: readonly AdminToken[];
  /** Tokens that one-time links of the console have opened. */
  readonly sessions?: () => readonly AdminToken[];
  /** Names of this server, besides `localhost` and addresses. */
  readonly names?: readonly string[];
  readonly logger?: Pick<Logger, 'error'>;
  readonly security?: SecurityTrail;
  /** Answers requests to public paths; null for another path. */
  readonly open: (request: AdminRequest) => Promise<AdminAnswer | null>;
  /** Answers all other requests, which carry a valid token. */
  readonly answer: (request: AdminRequest) => Promise<AdminAnswer>;
}

export interface AdminServer {
  /** Without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 64 << 10;
/** Bound for discarding the rest of a refused body. */
const DRAIN_BYTES_MAX = 8 << 20;
const DRAIN_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 256;
/** Base for parsing a path as a URL. */
const BASE = 'http://admin';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Opens an admin port. Errors have the form `{"error":{"code","message"}}`; refused fields are listed in `message`, and in
 * `errors` with the structure of the HTTP API.
 *
 * @throws Error when the port cannot be bound.
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
  const port = portOf(server.address());
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
  if (!URL.canParse(target, BASE)) throw new AdminError(400, 'invalid_target', 'The path is malformed.');
  const { pathname, search, searchParams } = new URL(target, BASE);
  if (!isOwnHost(request.headers.host, pathname, [options.host, ...(options.names ?? [])])) {
    options.security?.('admin_refused', { reason: 'host', network: request.socket.remoteAddress ?? null });
    const message =
      'The Host header does not name this server: use its address, or add the name to admin_hosts.';
    throw new AdminError(421, 'unknown_host', message);
  }
  const {
    authorization = '',
    'content-type': contentType = '',
    accept = '',
    origin = null,
  } = request.headers;
  const asked: AdminRequest = {
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    ...{
      path: pathname,
      query: searchParams,
      target: pathname + search,
      contentType,
      authorization,
      ...{ accept, origin, host: request.headers.host ?? '' },
      tokenName: '',
    },
    readBody: () => bodyOf(request),
  };
  const open = await options.open(asked);
  if (open !== null) return open;
  const { token, tokens: named = [], sessions = () => [] } = options;
  const fixed = token === null ? named : [{ name: 'admin_token', secret: token }, ...named];
  const tokens = [...fixed, ...sessions()];
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
 * The name of the token in the header. Digests of all tokens are compared, so that the time taken reveals neither a token's
 * length or content, nor which token it was.
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

/** Discards the rest of a refused body, within bounds; otherwise a client that is still sending would get a reset, no answer. */
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

/** The body as JSON; integers beyond 2^53 are bigints. Requiring the content type refuses forms posted by other sites. */
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

const UNAVAILABLE = {
  code: 'unavailable',
  message: 'The server cannot do this now; its log says why. Try again.',
};

/** Converts an error to the API's format. A refusal of the engine keeps its status and code; any other error is a fault. */
function explained(error: unknown, logger: AdminPortOptions['logger']): AdminAnswer {
  const refused = refusalOf(error);
  if (refused !== null) {
    const { status, code, errors } = refused;
    const shown = { code: String(code), message: refusalText(refused), ...(errors && { errors }) };
    return { status, body: { error: shown } };
  }
  logger?.error({ err: error }, 'An admin request failed.');
  if (!isBug(error)) return { status: 503, body: { error: UNAVAILABLE } };
  return { status: 500, body: { error: { code: 'fault', message: 'The server failed; its log says why.' } } };
}

/** The status of the answer that `explained` gives for the error. */
export const errorStatus = (error: unknown): number => refusalOf(error)?.status ?? 500;

type AdminRefusal = Pick<Refusal, 'status' | 'message' | 'errors'> & { readonly code: string | number };

/** The refusal in an error, if it has one. */
export function refusalOf(error: unknown): AdminRefusal | null {
  if (error instanceof AdminError) return { status: error.status, code: error.code, message: error.message };
  if (!(error instanceof Error)) return null;
  if (error.name === 'NotServed')
    return { status: 503, code: 'not_served', message: 'No shard serves this now; try again in a moment.' };
  return 'refusal' in error ? (error.refusal as Refusal) : null;
}

function send(response: ServerResponse, { status, body, file }: AdminAnswer): void {
  if (response.destroyed) return;
  if (file) {
    response.writeHead(status, { ...file.headers, 'content-length': file.body.length }).end(file.body);
    return;
  }
  const isText = typeof body === 'string';
  const text = body === undefined ? '' : isText ? body : `${JSON.stringify(body)}\n`;
  const headers = {
    'content-type': isText ? METRICS_TYPE : 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  };
  // The unread part of a refused body makes the connection unusable.
  if (status >= 400) response.setHeader('connection', 'close');
  if (status === 204) response.writeHead(204, { 'cache-control': 'no-store' }).end();
  else response.writeHead(status, headers).end(text);
}
