import { AuthenticationCodeChallengeMethod } from './enums.ts';

export interface AuthorizationCodeChallenge {
  readonly method: AuthenticationCodeChallengeMethod;
  readonly challenge: string;
}

/** PKCE pair: `getToken` proves with the verifier that it belongs to the challenge. */
export interface AuthorizationCodeVerifier {
  readonly challenge: AuthorizationCodeChallenge;
  readonly verifier: string;
}

/** `bytes` random bytes in base64url. */
export function randomText(bytes: number): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(bytes)));
}

export function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** 32 random bytes. @source RFC 7636, sections 4.1 and 4.2 */
export async function createVerifier(): Promise<AuthorizationCodeVerifier> {
  const verifier = randomText(32);
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const challenge = base64Url(new Uint8Array(hash));
  return { verifier, challenge: { method: AuthenticationCodeChallengeMethod.S256, challenge } };
}
