import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret as OtpSecret, TOTP } from 'otpauth';
import type { SecondFactor } from '../../engine/account/facts.ts';
import { Secret } from '../../protocol/secret.ts';
import { type Keys, NONCE_BYTES } from './keys.ts';

type RandomBytes = (size: number) => Uint8Array;

/** Parameters that every authenticator app assumes. @source RFC 6238; https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
const TOTP_PARAMETERS = { issuer: 'Guildhall', algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** @source RFC 4226, section 4, R6: 160 bits */
const SECRET_BYTES = 20;
/** Steps before and after the current one that are accepted, for clock differences. */
const WINDOW = 1;

const RECOVERY_CODES = 8;
/** 80 random bits each, so a thief cannot reverse their unsalted SHA-256. */
const RECOVERY_BYTES = 10;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

export function newSecret(randomBytes: RandomBytes): string {
  return OtpSecret.fromHex(Buffer.from(randomBytes(SECRET_BYTES)).toString('hex')).base32;
}

export function keyUriOf(secret: string, label: string): string {
  return new TOTP({ ...TOTP_PARAMETERS, label, secret: OtpSecret.fromBase32(secret) }).toString();
}

/** The time step that a code belongs to. Null for a wrong code and for one at or before `lastStep`, which was used already. */
export function matchingStep(secret: string, code: string, lastStep: number, nowMs: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const totp = new TOTP({ ...TOTP_PARAMETERS, secret: OtpSecret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW });
  if (delta === null) return null;
  const step = Math.floor(nowMs / 1000 / TOTP_PARAMETERS.period) + delta;
  return step > lastStep ? step : null;
}

/** Additional data of a seal: binds a secret to its account and to its use, so an offered secret is never accepted as active. */
export const sealContext = (userId: string, use: 'offered' | 'in force'): string => `${userId} ${use}`;

export const sealSecret = (keys: Keys, secret: string, bound: string, randomBytes: RandomBytes): string =>
  keys.seal(secret, bound, randomBytes(NONCE_BYTES));

/** Codes of four groups of four characters; no two characters of the alphabet look alike. */
export function newRecoveryCodes(randomBytes: RandomBytes): readonly Secret[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    let bits = BigInt(`0x${Buffer.from(randomBytes(RECOVERY_BYTES)).toString('hex')}`);
    let code = '';
    for (let i = 0; i < 16; i++, bits >>= 5n) code += ALPHABET[Number(bits & 31n)];
    return new Secret(code.replace(/(.{4})(?=.)/g, '$1-'));
  });
}

/** SHA-256 of a recovery code, ignoring case, spaces and hyphens; null for text that cannot be one. */
export function recoveryHash(typed: string): string | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '');
  return /^[a-z2-7]{16}$/.test(code) ? createHash('sha256').update(code).digest('hex') : null;
}

/** The second factor after accepting a one-time or recovery code; null when the code is wrong. */
export function acceptCode(
  keys: Keys,
  userId: string,
  factor: SecondFactor,
  typed: string,
  nowMs: number,
): SecondFactor | null {
  const recovery = recoveryHash(typed);
  if (recovery !== null) {
    const hash = Buffer.from(recovery, 'hex');
    const left = factor.recoveryHashes.filter((one) => !timingSafeEqual(Buffer.from(one, 'hex'), hash));
    return left.length < factor.recoveryHashes.length ? { ...factor, recoveryHashes: left } : null;
  }
  const secret = keys.unseal(factor.sealed, sealContext(userId, 'in force'));
  if (secret === null) return null;
  const lastStep = matchingStep(secret, typed.replace(/\s/g, ''), factor.lastStep, nowMs);
  return lastStep === null ? null : { ...factor, lastStep };
}
