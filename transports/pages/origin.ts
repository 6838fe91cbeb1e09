import type { Exchange } from '../http/exchange.ts';

/** Paths that a user may be sent to after signing in. */
const DESTINATIONS = new Set(['/', '/settings', '/activate', '/oauth2/authorize', '/voice-room/']);
/** The stores of applications. */
const STORE = /^\/store\/\d{1,20}$/;
const NEXT_CHARACTERS_MAX = 8_192;

/**
 * The page that requested the sign-in, as a path of this server; null for anything else. It is parsed as a browser would,
 * because text that a pattern takes for a path may name another host to a browser.
 */
export function safeNext(text: string | null): string | null {
  if (text === null || text.length > NEXT_CHARACTERS_MAX || !text.startsWith('/')) return null;
  const base = 'https://this.invalid';
  if (!URL.canParse(text, base)) return null;
  const url = new URL(text, base);
  const isKnown = DESTINATIONS.has(url.pathname) || STORE.test(url.pathname);
  return url.origin === base && isKnown ? `${url.pathname}${url.search}` : null;
}

/**
 * Whether a form was sent by a page of this server. Browsers send the origin with every POST; other programs use the JSON
 * operations instead. Without a configured public URL, the origin is compared with the request's own Host.
 */
export function isOwnOrigin(exchange: Pick<Exchange, 'headers'>, publicUrl: string | null): boolean {
  const origin = exchange.headers.get('origin');
  if (origin === undefined || !URL.canParse(origin)) return false;
  const site = exchange.headers.get('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return false;
  if (publicUrl !== null) return new URL(origin).origin === new URL(publicUrl).origin;
  return new URL(origin).host === exchange.headers.get('host')?.toLowerCase();
}

/** The CSP source expression that lets a form redirect to `location`; null when there is none. */
export function formTarget(location: string): string | null {
  if (!URL.canParse(location)) return null;
  const { protocol, host, origin } = new URL(location);
  if (!/^[a-z][a-z0-9+.-]*:$/.test(protocol)) return null;
  const isWeb = protocol === 'https:' || protocol === 'http:';
  // CSP host sources cannot contain brackets, so an IPv6 address can be allowed only by its scheme.
  return isWeb && /^[a-z0-9.:-]+$/.test(host) ? origin : protocol;
}
