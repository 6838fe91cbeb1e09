/**
 * Characters of a redirect URI.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `ApplicationFormPartial`; the bound
 * of its URLs
 */
const REDIRECT_CHARACTERS_MAX = 2_048;

/** Printable ASCII without what begins a fragment, breaks a header, or is read differently by different parsers. */
const PLAIN = /^[\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;
const WEB = /^https?:\/\/(?<authority>[^/?#]+)(?:[/?].*)?$/;
const CUSTOM = /^(?<scheme>[a-z][a-z0-9+.-]*):\/[^/].*$/;
/** Schemes that run, read or show something of their own when a browser follows them. */
const DANGEROUS = new Set([
  'javascript',
  'data',
  'vbscript',
  'file',
  'blob',
  'about',
  'filesystem',
  'view-source',
]);
const LOOPBACK = /^http:\/\/(?<host>127\.0\.0\.1|\[::1\])(?::(?<port>\d{1,5}))?(?<rest>[/?].*)?$/;
const PORT_MAX = 65_535;

/**
 * Whether an application may register this: an absolute http(s) URL without credentials or fragment, or a private-use
 * scheme in the form `scheme:/path`.
 *
 * @source RFC 6749, section 3.1.2; RFC 8252, section 7
 */
export function mayRegister(uri: string): boolean {
  if (uri.length > REDIRECT_CHARACTERS_MAX || !PLAIN.test(uri)) return false;
  const authority = WEB.exec(uri)?.groups?.authority;
  if (authority !== undefined) return !authority.includes('@') && URL.canParse(uri);
  const scheme = CUSTOM.exec(uri)?.groups?.scheme;
  return scheme !== undefined && scheme !== 'http' && scheme !== 'https' && !DANGEROUS.has(scheme);
}

/** One that a program on the device catches: PKCE is what protects its codes there. */
export const isCustomScheme = (uri: string): boolean => !WEB.test(uri);

/** What two loopback redirects must have in common: all but the port, which the system chooses anew each time. */
function withoutPort(uri: string): string | null {
  const { host, port, rest } = LOOPBACK.exec(uri)?.groups ?? {};
  if (host === undefined || (port !== undefined && Number(port) > PORT_MAX)) return null;
  return `${host}${rest ?? '/'}`;
}

/**
 * Where an authorization may be answered to: the URI that the request names if it is registered, character by character;
 * of a loopback address the port may differ. Without one in the request, the only one there is. Null: nowhere.
 *
 * @source RFC 6749, section 3.1.2.3; RFC 8252, section 7.3
 */
export function matchRedirect(registered: readonly string[], named: string | null): string | null {
  if (named === null) return registered.length === 1 ? registered[0]! : null;
  if (named.length > REDIRECT_CHARACTERS_MAX || !PLAIN.test(named)) return null;
  if (registered.includes(named)) return named;
  const local = withoutPort(named);
  if (local === null) return null;
  return registered.some((uri) => withoutPort(uri) === local) ? named : null;
}

/** Whether the user is sent back with an answer in the query or, for tokens, in the fragment. */
export function answeredAt(
  uri: string,
  where: 'query' | 'fragment',
  values: Readonly<Record<string, string | null>>,
): string {
  const given = Object.entries(values).flatMap(([key, value]) => (value === null ? [] : [[key, value]]));
  const text = new URLSearchParams(given as [string, string][]).toString();
  if (where === 'fragment') return `${uri}#${text}`;
  return `${uri}${uri.includes('?') ? '&' : '?'}${text}`;
}
