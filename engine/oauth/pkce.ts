/** @source RFC 7636, section 4.1 */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;
/** SHA-256 in base64url. @source RFC 7636, section 4.2 */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export const isVerifier = (text: string): boolean => VERIFIER.test(text);

/**
 * The challenge of an authorization request: null without one; `wrong` for any method but S256, and when only one of
 * the two parameters is present. "plain" shows the verifier to everyone who sees the request, so it protects nothing
 * and is refused.
 */
export function challengeOf(challenge: string | null, method: string | null): string | null | 'wrong' {
  if (challenge === null && method === null) return null;
  if (challenge === null || method !== 'S256') return 'wrong';
  return CHALLENGE.test(challenge) ? challenge : 'wrong';
}
