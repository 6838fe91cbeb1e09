import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { networkOf, portOf } from '../../protocol/addresses.ts';
import { type ApplicationId, isAnyId } from '../../protocol/ids.ts';
import { type PagePolicy, securityHeaders } from './headers.ts';
import { RELAY_PAGE, RELAY_PATH, relayHeaders } from './relay.ts';
import { Shares } from './shares.ts';
import { type Target, type TargetSettings, Targets } from './targets.ts';

interface ActivityProxyOptions extends TargetSettings {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The URL before whose host an application's id stands, as https://activities.example.org. */
  readonly baseUrl: string;
  /** The origin of this server's API and images. */
  readonly server: () => string;
  /** Source expressions of further pages that may embed activities. */
  readonly embedders: readonly string[];
  /** Whether a proxy in front names the client in X-Forwarded-For. */
  readonly trustProxy: boolean;
  /** What the application has mapped a path to; null for nothing. */
  readonly targetOf: (id: ApplicationId, path: string) => Promise<Target | null>;
  readonly onFault: (error: unknown) => void;
}

export interface ActivityProxy {
  readonly port: number;
  /** A source expression for the origins of all activities. */
  readonly origins: string;
  /** The origin of an application's activity. */
  originOf(id: ApplicationId): string;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 8_000;
/** Connections of one network; behind a trusted proxy, requests and WebSockets under way. */
const PER_NETWORK_MAX = 256;
const HEADERS_MS = 15_000;
const REQUEST_MS = 300_000;
const KEEP_ALIVE_MS = 30_000;
const PROXY_PREFIX = '/.proxy';
/** Applications whose headers are kept. */
const PAGES_MAX = 1_000;

/**
 * Serves the activities of all applications, each on an origin of its own: what a path is mapped to, over HTTP and
 * WebSocket. It stands apart from the API: nothing of ours is on these origins but the relay.
 *
 * @throws Error when the address cannot be bound.
 */
export async function openActivityProxy(options: ActivityProxyOptions): Promise<ActivityProxy> {
  const targets = new Targets(options);
  const origins = originsOf(options.baseUrl);
  const server = http.createServer({ maxHeaderSize: 16 << 10 });
  server.maxConnections = CONNECTIONS_MAX;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // Connections of a proxy in front are of many people: there, what is under way is counted instead.
  if (!options.trustProxy) boundConnections(server);
  const handlers = handling(options, targets, origins);
  server.on('request', handlers.request);
  server.on('upgrade', handlers.upgrade);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  origins.port = portOf(server.address());
  return {
    port: origins.port,
    origins: origins.all(),
    originOf: (id) => origins.of(id).origin,
    close: () =>
      new Promise((resolve) => {
        targets.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function boundConnections(server: http.Server): void {
  const connections = new Shares(CONNECTIONS_MAX, PER_NETWORK_MAX);
  server.on('connection', (socket) => {
    const giveBack = connections.take(networkOf(socket.remoteAddress ?? ''));
    if (giveBack) socket.once('close', giveBack);
    else socket.destroy();
  });
}

/** Origins of applications by their ids, and the other way round. */
function originsOf(baseUrl: string) {
  const base = new URL(baseUrl);
  const suffix = `.${base.hostname}`;
  return {
    port: 0,
    of(id: string): URL {
      const url = new URL(base.origin);
      url.hostname = `${id}${suffix}`;
      // A development server has the port that was free.
      if (base.port === '' && base.protocol === 'http:') url.port = String(this.port);
      return url;
    },
    /** `*` is no host name, so this is put together by hand. */
    all(): string {
      const { protocol, host } = this.of('0');
      return `${protocol}//*${host.slice(1)}`;
    },
    idOf(host: string | undefined): ApplicationId | null {
      const name = (host ?? '').replace(/:\d+$/, '').toLowerCase();
      const id = name.endsWith(suffix) ? name.slice(0, -suffix.length) : '';
      return isAnyId(id) ? id : null;
    },
  };
}

type Origins = ReturnType<typeof originsOf>;

/** What all answers of an application's origin have in common. */
interface Page {
  readonly policy: PagePolicy;
  readonly headers: http.OutgoingHttpHeaders;
}

function handling(options: ActivityProxyOptions, targets: Targets, origins: Origins) {
  const known = new Map<ApplicationId, Page>();
  const admit = admission(options);
  const pageOf = (id: ApplicationId): Page => {
    const server = options.server();
    const found = known.get(id);
    if (found?.policy.server === server) return found;
    const policy = { self: origins.of(id), server, embedders: [server, ...options.embedders] };
    const page = { policy, headers: securityHeaders(policy) };
    const [oldest] = known.keys();
    if (known.size >= PAGES_MAX && oldest !== undefined) known.delete(oldest);
    known.set(id, page);
    return page;
  };

  async function request(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const id = origins.idOf(asked.headers.host);
    if (id === null) return refuse(answer, 404, 'There is no activity at this address.', {});
    const { policy, headers } = pageOf(id);
    const url = urlOf(asked, policy.self);
    if (url?.pathname === RELAY_PATH && (asked.method === 'GET' || asked.method === 'HEAD')) {
      answer.writeHead(200, { ...relayHeaders(policy), 'content-length': Buffer.byteLength(RELAY_PAGE) });
      answer.end(asked.method === 'HEAD' ? undefined : RELAY_PAGE);
      return;
    }
    // A worker would stay when the mappings change, and could answer in the place of the relay.
    if (asked.headers['service-worker'] !== undefined)
      return refuse(answer, 403, 'Activities cannot have service workers.', headers);
    const target = url && (await options.targetOf(id, inner(url.pathname)));
    if (!url || !target) return refuse(answer, 404, 'Nothing is mapped to this path.', headers);
    targets.forward({ id, asked, answer, url, target, headers });
  }

  async function upgrade(asked: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const id = origins.idOf(asked.headers.host);
    const self = id && pageOf(id).policy.self;
    const url = self && urlOf(asked, self);
    // Any page may open a WebSocket to any host: only the application's own pages may open these.
    const isOwn = self && asked.headers.origin === self.origin;
    const isWebSocket = asked.headers.upgrade?.toLowerCase() === 'websocket';
    if (!id || !url || !isOwn || !isWebSocket) return refuseUpgrade(socket, 403);
    const target = await options.targetOf(id, inner(url.pathname));
    if (!target) return refuseUpgrade(socket, 404);
    targets.upgrade({ id, asked, socket, head, url, target });
  }

  return {
    request: (asked: IncomingMessage, answer: ServerResponse) => {
      const giveBack = admit(asked);
      if (!giveBack) return refuse(answer, 503, 'Your network has too much under way.', {});
      answer.once('close', giveBack);
      request(asked, answer).catch((error: unknown) => {
        options.onFault(error);
        if (!answer.headersSent) refuse(answer, 503, 'The activity cannot be served now.', {});
        else answer.destroy();
      });
    },
    upgrade: (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const giveBack = admit(asked);
      if (!giveBack) return refuseUpgrade(socket, 503);
      socket.once('close', giveBack);
      upgrade(asked, socket, head).catch((error: unknown) => {
        options.onFault(error);
        refuseUpgrade(socket, 503);
      });
    },
  };
}

/**
 * Bounds the requests and WebSockets of each network that a trusted proxy names. The returned function gives back what the
 * request took; it is null when there is no room.
 */
function admission({ trustProxy }: ActivityProxyOptions): (asked: IncomingMessage) => (() => void) | null {
  const networks = new Shares(CONNECTIONS_MAX, PER_NETWORK_MAX);
  return (asked) => (trustProxy ? networks.take(networkOf(forwardedFor(asked))) : nothing);
}

const nothing = (): void => undefined;

/** The client's address, which the trusted proxy in front has written last. */
function forwardedFor({ headers, socket }: IncomingMessage): string {
  const given = String(headers['x-forwarded-for'] ?? '');
  const last = given.split(',').at(-1)?.trim() ?? '';
  return isIP(last) === 0 ? (socket.remoteAddress ?? '') : last;
}

/** The requested URL; null when the request target is not a path. */
function urlOf({ url: path = '' }: IncomingMessage, self: URL): URL | null {
  if (!path.startsWith('/') || !URL.canParse(`${self.origin}${path}`)) return null;
  const url = new URL(`${self.origin}${path}`);
  return url.origin === self.origin ? url : null;
}

/** The path that mappings are for: the same with and without `/.proxy`. */
const inner = (path: string): string =>
  path === PROXY_PREFIX || path.startsWith(`${PROXY_PREFIX}/`)
    ? path.slice(PROXY_PREFIX.length) || '/'
    : path;

function refuse(
  answer: ServerResponse,
  status: number,
  message: string,
  headers: http.OutgoingHttpHeaders,
): void {
  const body = JSON.stringify({ message, code: 0 });
  answer.writeHead(status, {
    ...headers,
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), connection: 'close' },
  });
  answer.end(body);
}

function refuseUpgrade(socket: Duplex, status: number): void {
  if (socket.writable)
    socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  else socket.destroy();
}
