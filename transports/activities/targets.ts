import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { checkedLookup, OutgoingFault, type Resolve, resolveBySystem } from '../outgoing/connection.ts';
import { mayContact, mayContactAt, type Permitted } from '../outgoing/endpoints.ts';
import { answerHeaders, mayCarryCookies, redirectWithin, requestHeaders } from './headers.ts';
import { Shares } from './shares.ts';

export interface TargetSettings extends Permitted {
  /** CA certificates, PEM, trusted besides the usual ones. */
  readonly extraCa: string | null;
  readonly requestBytesMax: number;
  /** Default: 1 GiB. */
  readonly answerBytesMax?: number;
  /** Other bounds than the usual ones, in a test. */
  readonly bounds?: Partial<typeof BOUNDS>;
  readonly resolve?: Resolve;
}

/** Where a request goes: a host with an optional port, and a path. */
export interface Target {
  readonly host: string;
  readonly path: string;
}

interface Asked {
  readonly id: string;
  readonly asked: IncomingMessage;
  /** As the browser knows it. */
  readonly url: URL;
  readonly target: Target;
}

interface Forwarded extends Asked {
  readonly answer: ServerResponse;
  /** Ours, which replace those of the target. */
  readonly headers: http.OutgoingHttpHeaders;
}

interface Upgraded extends Asked {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const ANSWER_BYTES_MAX = 1 << 30;
const BOUNDS = {
  exchanges: 4_000,
  exchangesPerApplication: 400,
  sockets: 4_000,
  socketsPerApplication: 1_000,
  /** Timeout of a target for the first and for each further part of its answer. */
  targetMs: 30_000,
  exchangeMs: 900_000,
  /** A WebSocket on which nothing passes ends. */
  socketIdleMs: 300_000,
};
const SOCKETS_PER_TARGET_MAX = 256;
const IDLE_SOCKETS_MAX = 256;
const IDLE_MS = 4_000;

/** Hosts of targets that are known; mappings with parameters in a host make many. */
const SITES_MAX = 1_000;

/** A host of targets that may be contacted. */
interface Site {
  readonly url: URL;
  readonly options: http.RequestOptions;
}

/** Connections to the targets of mappings: to addresses that may be contacted, within bounds of number, bytes and time. */
export class Targets {
  readonly #settings: TargetSettings;
  readonly #bounds: typeof BOUNDS;
  readonly #plain: http.Agent;
  readonly #secure: https.Agent;
  readonly #exchanges: Shares;
  readonly #sockets: Shares;
  readonly #open = new Set<Duplex>();
  readonly #sites = new Map<string, Site | null>();

  constructor(settings: TargetSettings) {
    this.#settings = settings;
    const bounds = { ...BOUNDS, ...settings.bounds };
    this.#bounds = bounds;
    this.#exchanges = new Shares(bounds.exchanges, bounds.exchangesPerApplication);
    this.#sockets = new Shares(bounds.sockets, bounds.socketsPerApplication);
    const { extraCa } = settings;
    const options = {
      ...{ keepAlive: true, maxSockets: SOCKETS_PER_TARGET_MAX, maxFreeSockets: IDLE_SOCKETS_MAX },
      timeout: IDLE_MS,
    };
    this.#plain = new http.Agent(options);
    this.#secure = new https.Agent({
      ...options,
      ...(extraCa !== null && { ca: [...rootCertificates, extraCa] }),
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
    for (const socket of this.#open) socket.destroy();
  }

  /** Passes a request on, and its answer back, as both are read. */
  forward(forwarded: Forwarded): void {
    const { id, asked, answer, headers } = forwarded;
    const announced = Number(asked.headers['content-length'] ?? 0);
    const isTooLarge = announced > this.#settings.requestBytesMax;
    const site = isTooLarge ? null : this.#siteOf(forwarded.target.host);
    const giveBack = site && this.#exchanges.take(id);
    if (!giveBack) {
      refuse(answer, isTooLarge ? 413 : site ? 503 : 502, headers);
      return;
    }
    const sent = this.#request(site, forwarded, {
      method: asked.method ?? 'GET',
      headers: requestHeaders(asked.headers, mayCarryCookies(asked.headers)),
    });
    const deadline = setTimeout(
      () => sent.destroy(new OutgoingFault('The exchange took too long.')),
      this.#bounds.exchangeMs,
    );
    answer.once('close', () => {
      clearTimeout(deadline);
      giveBack();
      if (!answer.writableFinished) sent.destroy();
    });
    sent.on('timeout', () => sent.destroy(new OutgoingFault('The target does not answer.')));
    sent.on('error', () => {
      if (answer.headersSent) answer.destroy();
      else refuse(answer, 502, headers);
    });
    // Another protocol was not asked for; without this the request would never be answered.
    sent.on('upgrade', (_, socket) => {
      socket.destroy();
      refuse(answer, 502, headers);
    });
    sent.on('response', (from) => passBack(from, forwarded, site, this.#settings));
    bounded(asked, this.#settings.requestBytesMax, () =>
      sent.destroy(new OutgoingFault('The body is too large.')),
    );
    asked.pipe(sent);
  }

  /** Opens a WebSocket to the target and joins the two ends. */
  upgrade(upgraded: Upgraded): void {
    const { id, asked, socket, head, url: from, target } = upgraded;
    const site = this.#siteOf(target.host);
    const giveBack = site && this.#sockets.take(id);
    if (!giveBack) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      return;
    }
    const sent = this.#request(site, upgraded, {
      method: 'GET',
      headers: {
        ...requestHeaders(asked.headers, asked.headers.origin === from.origin),
        ...socketHeaders(asked.headers),
        ...{ connection: 'Upgrade', upgrade: 'websocket' },
      },
      agent: false,
    });
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      giveBack();
      sent.destroy();
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => socket.destroy());
    sent.on('response', ({ statusCode = 502 }) => {
      const status = statusCode < 400 ? 502 : statusCode;
      socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Error'}\r\nConnection: close\r\n\r\n`);
      sent.destroy();
    });
    sent.on('upgrade', ({ headers }, upstream, first) => {
      sent.removeAllListeners('timeout');
      const lines = Object.entries(socketHeaders(headers)).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines.join('')}\r\n`,
      );
      join(socket, upstream, { head, first, idleMs: this.#bounds.socketIdleMs });
    });
    sent.end();
  }

  /** The host of a target; null for one that may not be contacted. */
  #siteOf(host: string): Site | null {
    const known = this.#sites.get(host);
    if (known !== undefined) return known;
    const site = this.#newSite(host);
    const [oldest] = this.#sites.keys();
    if (this.#sites.size >= SITES_MAX && oldest !== undefined) this.#sites.delete(oldest);
    this.#sites.set(host, site);
    return site;
  }

  #newSite(host: string): Site | null {
    const { privateOrigins, resolve = resolveBySystem } = this.#settings;
    for (const scheme of ['https', 'http']) {
      const base = `${scheme}://${host}`;
      if (!URL.canParse(base)) return null;
      const url = new URL(base);
      // Plain HTTP goes to this machine only, and to origins that the operator has named with it.
      const isPlain = isLocal(url.hostname) || privateOrigins.has(url.origin);
      if (scheme === 'https' ? isLocal(url.hostname) && !privateOrigins.has(url.origin) : !isPlain) continue;
      if (scheme === 'https' && privateOrigins.has(`http://${url.host}`) && !privateOrigins.has(url.origin))
        continue;
      if (!mayContact(this.#settings, url.origin)) return null;
      return {
        url,
        options: {
          ...{ protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ''), port: url.port },
          agent: url.protocol === 'https:' ? this.#secure : this.#plain,
          lookup: checkedLookup(resolve, (address) => mayContactAt(this.#settings, url, address)),
          timeout: this.#bounds.targetMs,
        },
      };
    }
    return null;
  }

  #request(
    { url, options }: Site,
    { target, url: { search } }: Pick<Asked, 'target' | 'url'>,
    given: http.RequestOptions,
  ): http.ClientRequest {
    const request = url.protocol === 'https:' ? https.request : http.request;
    return request({ ...options, path: target.path + search, ...given });
  }
}

const isLocal = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

function passBack(
  from: IncomingMessage,
  { answer, url: asked, target: { path }, headers: ours }: Forwarded,
  site: Site,
  { answerBytesMax: bytesMax = ANSWER_BYTES_MAX }: Pick<TargetSettings, 'answerBytesMax'>,
): void {
  const status = from.statusCode ?? 502;
  const isRedirect = status >= 300 && status < 400 && from.headers.location !== undefined;
  const target = isRedirect ? urlAt(site.url, path, asked.search) : site.url;
  const location = redirectWithin(from.headers.location, { target, asked });
  const isTooLarge = Number(from.headers['content-length'] ?? 0) > bytesMax;
  if (status < 200 || isTooLarge || (isRedirect && location === null)) {
    from.destroy();
    refuse(answer, 502, ours);
    return;
  }
  answer.writeHead(status, { ...answerHeaders(from.headers, { location }), ...ours });
  bounded(from, bytesMax, () => answer.destroy());
  from.on('aborted', () => answer.destroy());
  from.on('error', () => answer.destroy());
  from.pipe(answer);
}

/** Assigns the path, because a parser would take one that begins with two slashes for a host, or for no URL. */
function urlAt(site: URL, path: string, search: string): URL {
  const url = new URL(site);
  [url.pathname, url.search] = [path, search];
  return url;
}

/** Calls `exceeded` when more bytes pass than the bound allows. */
function bounded(stream: IncomingMessage, bytesMax: number, exceeded: () => void): void {
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) exceeded();
  });
}

/** Joins two ends of a WebSocket until either ends, or nothing passes for long. */
function join(
  socket: Duplex,
  upstream: Duplex,
  { head, first, idleMs }: { readonly head: Buffer; readonly first: Buffer; readonly idleMs: number },
): void {
  const end = () => {
    clearTimeout(idle);
    socket.destroy();
    upstream.destroy();
  };
  const idle = setTimeout(end, idleMs);
  for (const one of [socket, upstream]) {
    one.on('data', () => idle.refresh());
    one.on('error', end);
    one.on('close', end);
  }
  if (first.length > 0) socket.write(first);
  if (head.length > 0) upstream.write(head);
  socket.pipe(upstream);
  upstream.pipe(socket);
}

const SOCKET_HEADERS = ['key', 'version', 'protocol', 'extensions', 'accept'].map(
  (name) => `sec-websocket-${name}`,
);

const socketHeaders = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    SOCKET_HEADERS.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  );

const REASONS: Readonly<Record<number, string>> = {
  413: 'The body is too large.',
  502: 'The target of the mapping cannot be reached, leads elsewhere, or answers too much.',
  503: 'The activity has too much under way.',
};

function refuse(answer: ServerResponse, status: number, headers: http.OutgoingHttpHeaders): void {
  const body = JSON.stringify({ message: REASONS[status] ?? '', code: 0 });
  answer.writeHead(status, {
    ...headers,
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), connection: 'close' },
  });
  answer.end(body);
}
