/** Headers of a request: names in lower case; values of a repeated header are joined. */
export type RequestHeaders = ReadonlyMap<string, string>;
/** Names in lower case, each followed by its value, as they are written. */
export type HeaderLines = readonly string[];
/** Lines of headers as they are written, each with its end. */
export type HeaderText = string;

/** @source RFC 9110, section 7.6.1 */
const HOP_BY_HOP = [
  ...(['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'] as const),
  ...(['te', 'trailer', 'transfer-encoding', 'upgrade'] as const),
];
/** Added by proxies in front of this server: they would identify the person. `cookie` is rewritten. */
const NOT_SENT = new Set<string>([
  ...HOP_BY_HOP,
  ...[
    'host',
    'cookie',
    'content-length',
    'expect',
    'forwarded',
    'via',
    'x-real-ip',
    'true-client-ip',
    'origin-agent-cluster',
  ],
  ...['x-client-ip', 'x-cluster-client-ip', 'fastly-client-ip', 'x-original-forwarded-for', 'client-ip'],
  ...['x-envoy-external-address', 'x-azure-clientip', 'x-azure-socketip', 'x-appengine-user-ip'],
]);
const NOT_SENT_PREFIXES = ['x-forwarded-', 'cf-', 'x-amz-', 'fly-', 'sec-websocket-'];

/** Headers that change how browsers treat the origin. Ours replace them; `set-cookie` and `location` are rewritten. */
const NOT_ANSWERED = new Set<string>([
  ...HOP_BY_HOP,
  ...['content-security-policy', 'content-security-policy-report-only', 'x-frame-options', 'referrer-policy'],
  ...['cross-origin-opener-policy', 'cross-origin-opener-policy-report-only', 'permissions-policy'],
  ...['cross-origin-embedder-policy', 'cross-origin-embedder-policy-report-only', 'feature-policy'],
  ...['cross-origin-resource-policy', 'origin-agent-cluster', 'document-policy', 'document-isolation-policy'],
  ...['strict-transport-security', 'public-key-pins', 'expect-ct', 'alt-svc', 'clear-site-data', 'refresh'],
  // Written by this server itself.
  ...['content-length', 'date'],
  ...['service-worker-allowed', 'report-to', 'reporting-endpoints', 'nel', 'timing-allow-origin'],
  ...[
    'access-control-allow-origin',
    'access-control-allow-credentials',
    'access-control-allow-private-network',
  ],
  ...['www-authenticate', 'set-cookie', 'set-login', 'location', 'accept-ch', 'critical-ch', 'link'],
  ...['speculation-rules', 'supports-loading-mode', 'no-vary-search', 'activate-storage-access'],
]);

/**
 * Browsers keep a cookie with this prefix to one host, and accept it from that host alone: no application can read or plant
 * a cookie of another, although all their hosts have one parent.
 *
 * @source RFC 6265bis, section 4.1.3.2
 */
const HOST_PREFIX = '__Host-';
const COOKIES_MAX = 50;
const COOKIE_CHARS_MAX = 4_096;

/** Headers that the sender has limited to its own connection. */
const hopOf = (connection: string | undefined): ReadonlySet<string> | null =>
  connection === undefined || connection.toLowerCase() === 'keep-alive'
    ? null
    : new Set(connection.split(',').map((name) => name.trim().toLowerCase()));

/**
 * Whether the connection may become a WebSocket. One that is to close would end while the native server upgrades it.
 *
 * @source RFC 6455, section 4.2.1
 */
export function wantsUpgrade(headers: RequestHeaders): boolean {
  const ofHop = hopOf(headers.get('connection'));
  return ofHop?.has('upgrade') === true && !ofHop.has('close');
}

const isSent = (name: string): boolean => {
  if (NOT_SENT.has(name)) return false;
  for (const prefix of NOT_SENT_PREFIXES) if (name.startsWith(prefix)) return false;
  return true;
};

/** The headers that a target receives: without the length, those of a hop, of proxies in front, and cookies of others. */
export function requestHeaders(headers: RequestHeaders, sendsCookies: boolean): string[] {
  const ofHop = hopOf(headers.get('connection'));
  const sent: string[] = [];
  for (const [name, value] of headers) if (isSent(name) && !ofHop?.has(name)) sent.push(name, value);
  const cookie = sendsCookies ? ownCookies(headers.get('cookie') ?? '') : '';
  if (cookie !== '') sent.push('cookie', cookie);
  return sent;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^\/[\x21-\x7e]*$/;

interface SentHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  readonly headers: HeaderLines;
  /** The size of the body, `chunked` for an unknown one; null when nothing is said about a body. */
  readonly length: number | 'chunked' | null;
}

/** The start of a request as a target receives it; null when a part of it could be taken for the start of another one. */
export function requestHead({ method, target, host, headers, length }: SentHead): string | null {
  if (!TOKEN.test(method) || !TARGET.test(target)) return null;
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    if (!TOKEN.test(name) || !VALUE.test(value)) return null;
    head += lineOf(name, value);
  }
  if (length === 'chunked') head += 'transfer-encoding: chunked\r\n';
  else if (length !== null) head += lineOf('content-length', String(length));
  return `${head}\r\n`;
}

/** The caller has checked that neither name nor value contains a line end. */
const lineOf = (name: string, value: string): HeaderText => `${name}: ${value}\r\n`;

/** Headers of this server, prepared once: the name of the first one, and all that follows it. */
export interface OwnHeaders {
  readonly name: string;
  readonly rest: Buffer;
}

export function ownHeaders(headers: Readonly<Record<string, string>>): OwnHeaders {
  const [name = ''] = Object.keys(headers);
  const text = Object.entries(headers)
    .map(([each, value]) => lineOf(each, value))
    .join('');
  return { name, rest: Buffer.from(text.slice(name.length + 2, -2)) };
}

/**
 * Whether the end of the body is unambiguous, so that no part of it could be read as another request. The native parser reads
 * several lengths, and encodings besides `chunked`, without complaint.
 *
 * @source RFC 9112, section 6.3
 */
export function isFramed(headers: RequestHeaders): boolean {
  const [length, encoding] = [headers.get('content-length'), headers.get('transfer-encoding')];
  if (encoding !== undefined) return length === undefined && encoding.toLowerCase() === 'chunked';
  return length === undefined || /^\d{1,15}$/.test(length);
}

/** Cookies that the target has set, under the names that it knows. */
function ownCookies(header: string): string {
  const own = header.split(';').map((pair) => pair.trim());
  return own
    .filter((pair) => pair.startsWith(HOST_PREFIX))
    .map((pair) => pair.slice(HOST_PREFIX.length))
    .join('; ');
}

/** Whether a request may carry the application's cookies: its own page asks, or a person navigates. */
export function mayCarryCookies(headers: RequestHeaders): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === 'same-origin' || site === 'none') return true;
  return headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') !== 'document';
}

/** The values of all headers with a name; undefined for none. */
function allOf(lines: HeaderLines, name: string): string | undefined {
  let all: string | undefined;
  for (let at = 0; at < lines.length; at += 2)
    if (lines[at] === name) all = all === undefined ? lines[at + 1] : `${all},${lines[at + 1]}`;
  return all;
}

/** The headers of a target's answer, and what this server decides by. */
interface TargetAnswer {
  /** For the browser, without this server's own headers and without `location`. */
  readonly headers: HeaderText;
  readonly location: string | undefined;
  readonly isEventStream: boolean;
}

/** Reads the headers of a target's answer. */
export function answerHeaders(lines: HeaderLines): TargetAnswer {
  const ofHop = hopOf(allOf(lines, 'connection'));
  let headers = '';
  let location: string | undefined;
  let [isEventStream, cookies] = [false, 0];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] ?? '';
    const value = lines[at + 1] ?? '';
    if (ofHop?.has(name)) continue;
    if (!NOT_ANSWERED.has(name)) {
      headers += lineOf(name, value);
      if (name === 'content-type') isEventStream = value.startsWith('text/event-stream');
    } else if (name === 'set-cookie') {
      const cookie = cookies < COOKIES_MAX ? partitioned(value) : null;
      cookies += 1;
      if (cookie !== null) headers += lineOf(name, cookie);
    } else if (name === 'location') location ??= value;
  }
  return { headers, location, isEventStream };
}

const ATTRIBUTES_KEPT = /^(?:expires|max-age|httponly)$/i;

/** A cookie of the target as one of its application's host, within the page that embeds it; null for a malformed one. */
function partitioned(cookie: string): string | null {
  if (cookie.length > COOKIE_CHARS_MAX) return null;
  const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim());
  const name = pair.slice(0, Math.max(0, pair.indexOf('=')));
  if (name === '' || /^__(?:Host|Secure)-__/i.test(name)) return null;
  const kept = attributes.filter((one) => ATTRIBUTES_KEPT.test(one.split('=')[0]?.trim() ?? ''));
  return [`${HOST_PREFIX}${pair}`, ...kept, 'Path=/', 'Secure', 'SameSite=None', 'Partitioned'].join('; ');
}

/**
 * Where a redirect of the target leads in the origin of the application; null for one that leads elsewhere, which is not
 * followed.
 */
export function redirectWithin(
  location: string,
  { target, self, path }: { readonly target: URL; readonly self: URL; readonly path: string },
): string | null {
  if (!URL.canParse(location, target.href)) return null;
  const to = new URL(location, target);
  if (to.origin === self.origin) return `${joined('', to.pathname)}${to.search}${to.hash}`;
  if (to.origin !== target.origin) return null;
  // Removes again the prefix that the mapping put before the path.
  const common = sharedTail(path, target.pathname);
  const [prefix, directory] = [cut(path, common), cut(target.pathname, common)];
  if (!to.pathname.startsWith(directory)) return null;
  const rest = to.pathname.slice(directory.length);
  return `${joined(prefix, rest)}${to.search}${to.hash}`;
}

const cut = (path: string, tail: string): string => path.slice(0, path.length - tail.length);
const joined = (prefix: string, rest: string): string => {
  const path = `${prefix.replace(/\/$/, '')}/${rest.replace(/^\/+/, '')}`;
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path;
};

/** The longest common suffix of two paths, in whole segments. */
function sharedTail(one: string, other: string): string {
  const [a, b] = [one.split('/'), other.split('/')];
  let count = 0;
  while (count < Math.min(a.length, b.length) - 1 && a.at(-1 - count) === b.at(-1 - count)) count += 1;
  return count === 0 ? '' : `/${a.slice(-count).join('/')}`;
}

/** Origins that pages of an application may reach or be embedded by. */
export interface PagePolicy {
  /** URL of the application itself. */
  readonly self: URL;
  /** Origins of this server: its API and its images. */
  readonly server: string;
  /** Source expressions of pages that may embed activities. */
  readonly embedders: readonly string[];
}

/** Headers for every page of an activity; the browser then lets it reach only mapped origins and this server. */
export function securityHeaders({ self, server, embedders }: PagePolicy): Readonly<Record<string, string>> {
  const socket = `${self.protocol === 'https:' ? 'wss' : 'ws'}://${self.host}`;
  const csp = [
    "default-src 'self' blob: data: 'unsafe-inline' 'unsafe-eval'",
    `connect-src 'self' blob: data: ${socket} ${server}`,
    `img-src 'self' blob: data: ${server}`,
    "frame-src 'self' blob: data:",
    "worker-src 'self' blob:",
    ...["object-src 'none'", "base-uri 'self'", "form-action 'self'"],
    `frame-ancestors 'self' ${embedders.join(' ')}`,
  ].join('; ');
  return {
    'content-security-policy': csp,
    'cross-origin-embedder-policy': 'credentialless',
    'cross-origin-resource-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'permissions-policy':
      'camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), serial=(), hid=(), midi=()',
    'referrer-policy': 'same-origin',
  };
}
