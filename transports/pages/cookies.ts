/** Bound of the cookie header. */
const HEADER_CHARACTERS_MAX = 8_192;

/** The value of a cookie, or null. Of two with the same name the first counts: browsers send the most specific first. */
export function readCookie(header: string | undefined, name: string): string | null {
  if (header === undefined || header.length > HEADER_CHARACTERS_MAX) return null;
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

export interface CookieJar {
  /** Cookie of the browser session. */
  readonly session: string;
  /** Cookie that identifies the browser to accounts that signed in with it; kept at sign-out. */
  readonly device: string;
  /** Cookie that binds forms of users who are not signed in to their browser. */
  readonly form: string;
  /** Formats a `Set-Cookie` header; a null value deletes the cookie. */
  set(name: string, value: string | null, maxAgeSec: number): string;
}

/**
 * The cookies of this server. Over https their names have the `__Host-` prefix, so that no other host, no narrower path and
 * no plain http can set them.
 *
 * @source https://datatracker.ietf.org/doc/draft-ietf-httpbis-rfc6265bis/, 4.1.3.2, "The __Host- Prefix"
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
