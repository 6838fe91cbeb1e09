/** Longest cookie header that is looked at. */
const HEADER_CHARACTERS_MAX = 8_192;

/** The value of a cookie; null when there is none. Of two with one name the first counts, as browsers send the closest first. */
export function readCookie(header: string | undefined, name: string): string | null {
  if (header === undefined || header.length > HEADER_CHARACTERS_MAX) return null;
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

export interface CookieJar {
  /** The browser's sign-in. */
  readonly session: string;
  /** Names of the browser for the accounts that have signed in with it. It stays when they sign out. */
  readonly device: string;
  /** Binds forms of people who are not signed in to their browser. */
  readonly form: string;
  /** A `Set-Cookie` header; without a value it is taken back. */
  set(name: string, value: string | null, maxAgeSec: number): string;
}

/**
 * Cookies of this server. Over https their names say that no other host, no other path and no plain http may set them.
 *
 * @source RFC 6265bis, 4.1.3.2, "The __Host- Prefix"
 */
export function cookieJar(secure: boolean): CookieJar {
  const prefix = secure ? '__Host-' : '';
  return {
    session: `${prefix}guildhall_session`,
    device: `${prefix}guildhall_device`,
    form: `${prefix}guildhall_form`,
    set(name, value, maxAgeSec) {
      const age = value === null ? 0 : maxAgeSec;
      const rest = `Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
      return `${name}=${value ?? ''}; ${rest}`;
    },
  };
}
