import type { Exchange } from '../http/exchange.ts';

/** Where a person may be sent after signing in. */
const DESTINATIONS = new Set(['/settings', '/activate', '/oauth2/authorize', '/voice-room/']);
const NEXT_CHARACTERS_MAX = 8_192;

/**
 * The page that asked, as a path of this server; null for anything else. It is parsed as a browser would, because what
 * looks like a path to a pattern may be another host to a browser.
 */
export function safeNext(text: string | null): string | null {
  if (text === null || text.length > NEXT_CHARACTERS_MAX || !text.startsWith('/')) return null;
  const base = 'https://this.invalid';
  if (!URL.canParse(text, base)) return null;
  const url = new URL(text, base);
  return url.origin === base && DESTINATIONS.has(url.pathname) ? `${url.pathname}${url.search}` : null;
}

/**
 * Whether a form was sent by a page of this server. Browsers say so with every POST; who does not is no browser, and has
 * the JSON operations. Without a fixed public URL the address in the browser's own address line counts.
 */
export function isOwnOrigin(exchange: Pick<Exchange, 'headers'>, publicUrl: string | null): boolean {
  const origin = exchange.headers.get('origin');
  if (origin === undefined || !URL.canParse(origin)) return false;
  const site = exchange.headers.get('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return false;
  if (publicUrl !== null) return new URL(origin).origin === new URL(publicUrl).origin;
  return new URL(origin).host === exchange.headers.get('host')?.toLowerCase();
}

/** A source expression that lets a form lead to `location` by redirect; null when there is none. */
export function formTarget(location: string): string | null {
  if (!URL.canParse(location)) return null;
  const { protocol, host, origin } = new URL(location);
  if (!/^[a-z][a-z0-9+.-]*:$/.test(protocol)) return null;
  const isWeb = protocol === 'https:' || protocol === 'http:';
  // Host sources have no brackets, so an IPv6 address can be named by its scheme only.
  return isWeb && /^[a-z0-9.:-]+$/.test(host) ? origin : protocol;
}
