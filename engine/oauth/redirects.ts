/**
 * Characters of a redirect URI.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `ApplicationFormPartial`; the bound
 * of its URLs
 */
const REDIRECT_CHARACTERS_MAX = 2_048;

/**
 * Printable ASCII without characters that begin a fragment, break a header, or are parsed differently by different
 * parsers.
 */
const PLAIN = /^[\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;
const WEB = /^https?:\/\/(?<authority>[^/?#]+)(?:[/?].*)?$/;
const CUSTOM = /^(?<scheme>[a-z][a-z0-9+.-]*):\/[^/].*$/;
/** Schemes that execute, read or show content of their own when a browser follows them. */
const DANGEROUS: ReadonlySet<string> = new Set([
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
 * Whether an application may register this URI: an absolute http(s) URL without credentials or fragment, or a
 * private-use scheme in the form `scheme:/path`.
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

/** Whether a program on the device receives the redirect; PKCE protects its codes. */
export const isCustomScheme = (uri: string): boolean => !WEB.test(uri);

/** The part that two loopback redirects must share: all but the port, which the system chooses for each run. */
function withoutPort(uri: string): string | null {
  const { host, port, rest } = LOOPBACK.exec(uri)?.groups ?? {};
  if (host === undefined || (port !== undefined && Number(port) > PORT_MAX)) return null;
  return `${host}${rest ?? '/'}`;
}

/**
 * The URI that an authorization may redirect to: the requested one if it is registered, compared character by
 * character, except for the port of a loopback address. Without one in the request, the only registered one. Null when
 * none is valid.
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

/** The redirect with the response in the query or, for tokens, in the fragment. */
export function answeredAt(
  uri: string,
  where: 'query' | 'fragment',
  values: Readonly<Record<string, string | null>>,
): string {
  const given = Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : [[key, value] satisfies [string, string]],
  );
  const text = new URLSearchParams(given).toString();
  if (where === 'fragment') return `${uri}#${text}`;
  return `${uri}${uri.includes('?') ? '&' : '?'}${text}`;
}
