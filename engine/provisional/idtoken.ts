import { IDENTITY_LIMITS } from '../../protocol/identities.ts';
import { isRecord } from '../../protocol/json.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Reply } from '../kernel/aggregate.ts';
import { displayName } from './names.ts';

/**
 * Signatures that are taken: asymmetric ones only.
 *
 * @source
 * https://docs.discord.com/developers/discord-social-sdk/development-guides/provisional-accounts/identity-providers,
 * "Supported Signing Algorithms"
 */
export const SIGNING_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** Greatest age of an ID token. */
const AGE_MS_MAX = 7 * 24 * 60 * 60 * 1000;
/** How far the issuer's clock may be ahead of ours. */
const SKEW_MS = 60_000;
const KEY_ID_CHARACTERS_MAX = 1024;

const no = (name: Parameters<typeof refusal>[0]): { readonly ok: false; readonly refusal: Refused } => ({
  ok: false,
  refusal: refusal(name),
});
type Refused = ReturnType<typeof refusal>;

/** The key that an ID token claims to be signed with; not yet verified. */
export interface TokenHeader {
  readonly keyId: string;
  readonly algorithm: SigningAlgorithm;
}

/** Reads the protected header of an ID token. */
export function readTokenHeader(header: unknown): Reply<TokenHeader> {
  if (!isRecord(header)) return no('INVALID_OIDC_TOKEN');
  const { kid, alg, crit } = header;
  // Critical extensions are refused, because none is supported.
  if (crit !== undefined) return no('INVALID_OIDC_TOKEN');
  const algorithm = SIGNING_ALGORITHMS.find((each) => each === alg);
  if (algorithm === undefined) return no('INVALID_OIDC_TOKEN');
  if (typeof kid !== 'string' || kid === '' || kid.length > KEY_ID_CHARACTERS_MAX)
    return no('ID_TOKEN_WITHOUT_KEY_ID');
  return { ok: true, value: { keyId: kid, algorithm } };
}

/** Required claims of an ID token. */
export interface Expected {
  readonly issuer: string;
  readonly audience: string;
  /** The claim with the player's name; null without one. */
  readonly nameClaim: string | null;
}

interface Player {
  readonly subject: string;
  /** 1 to 32 characters; null when the token has no valid name. */
  readonly name: string | null;
}

/** Checks the claims of an ID token, in the order of the platform's error codes. */
export function checkClaims(claims: unknown, expected: Expected, nowMs: number): Reply<Player> {
  if (!isRecord(claims)) return no('INVALID_OIDC_TOKEN');
  const { iss, aud, exp, iat, nbf, sub } = claims;
  if (iss !== expected.issuer) return no('ID_TOKEN_ISSUER_MISMATCH');
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(expected.audience)) return no('ID_TOKEN_AUDIENCE_MISMATCH');
  if (!isTime(exp) || !isTime(iat) || (nbf !== undefined && !isTime(nbf))) return no('INVALID_OIDC_TOKEN');
  if (nowMs >= exp * 1000) return no('ID_TOKEN_EXPIRED');
  if (nowMs - iat * 1000 > AGE_MS_MAX) return no('ID_TOKEN_TOO_OLD');
  if (Math.max(iat, nbf ?? 0) * 1000 > nowMs + SKEW_MS) return no('INVALID_OIDC_TOKEN');
  if (typeof sub !== 'string' || !isExternalId(sub)) return no('INVALID_OIDC_TOKEN');
  const named = expected.nameClaim === null ? null : claims[expected.nameClaim];
  return { ok: true, value: { subject: sub, name: displayName(named) } };
}

/** Seconds since 1970. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

/** Characters that PostgreSQL cannot store: NUL and unpaired surrogates. */
const UNKEPT = /[\0\p{Cs}]/u;

/** Whether a provider's id for a player can be stored. */
export function isExternalId(text: string): boolean {
  return (
    text !== '' && !UNKEPT.test(text) && [...text].length <= IDENTITY_LIMITS.external_user_id_characters_max
  );
}
