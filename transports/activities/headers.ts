import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** @source RFC 9110, section 7.6.1 */
const HOP_BY_HOP = [
  ...(['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'] as const),
  ...(['te', 'trailer', 'transfer-encoding', 'upgrade'] as const),
];
/** Added by proxies in front of this server: they would identify the person. `cookie` is rewritten. */
const NOT_SENT = new Set<string>([
  ...HOP_BY_HOP,
  ...['host', 'cookie', 'expect', 'forwarded', 'via', 'x-real-ip', 'true-client-ip', 'origin-agent-cluster'],
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

const listed = (value: string | undefined): readonly string[] =>
  (value ?? '').split(',').map((name) => name.trim().toLowerCase());

/** The headers that a target receives: without those of a hop, of proxies in front, and cookies of others. */
export function requestHeaders(headers: IncomingHttpHeaders, sendsCookies: boolean): OutgoingHttpHeaders {
  const ofHop = new Set(listed(headers.connection));
  const sent: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers))
    if (!NOT_SENT.has(name) && !ofHop.has(name) && !NOT_SENT_PREFIXES.some((one) => name.startsWith(one)))
      sent[name] = value;
  const cookie = sendsCookies ? ownCookies(headers.cookie ?? '') : '';
  return { ...sent, ...framing(headers), ...(cookie !== '' && { cookie }) };
}

/**
 * How the body is delimited, whatever the method: bytes without it would be further requests on a connection to the target
 * that others use too.
 */
function framing(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined) return { 'transfer-encoding': 'chunked' };
  return length === undefined ? {} : { 'content-length': length };
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
export function mayCarryCookies(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return true;
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] !== 'document';
}

/** Headers of an answer as the browser receives them, before ours. */
export function answerHeaders(
  headers: IncomingHttpHeaders,
  { location }: { readonly location: string | null },
) {
  const ofHop = new Set(listed(headers.connection));
  const sent: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers))
    if (!NOT_ANSWERED.has(name) && !ofHop.has(name)) sent[name] = value;
  const cookies = (headers['set-cookie'] ?? [])
    .slice(0, COOKIES_MAX)
    .flatMap((one) => partitioned(one) ?? []);
  if (cookies.length > 0) sent['set-cookie'] = cookies;
  if (location !== null) sent.location = location;
  return sent;
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
  location: string | undefined,
  { target, asked }: { readonly target: URL; readonly asked: URL },
): string | null {
  if (location === undefined) return null;
  if (!URL.canParse(location, target.href)) return null;
  const to = new URL(location, target);
  if (to.origin === asked.origin) return `${joined('', to.pathname)}${to.search}${to.hash}`;
  if (to.origin !== target.origin) return null;
  // What the mapping has put before the path is taken off again.
  const common = sharedTail(asked.pathname, target.pathname);
  const [prefix, directory] = [cut(asked.pathname, common), cut(target.pathname, common)];
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
  /** Of the application itself. */
  readonly self: URL;
  /** Of this server: its API and its images. */
  readonly server: string;
  /** Source expressions of pages that may embed activities. */
  readonly embedders: readonly string[];
}

/** What the browser enforces on every page of an activity: it reaches only what its application has mapped, and this server. */
export function securityHeaders({ self, server, embedders }: PagePolicy): OutgoingHttpHeaders {
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
