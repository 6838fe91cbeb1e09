import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret as OtpSecret, TOTP } from 'otpauth';
import type { SecondFactor } from '../../engine/account/facts.ts';
import { Secret } from '../identity/secret.ts';
import { type Keys, NONCE_BYTES } from './keys.ts';

type RandomBytes = (size: number) => Uint8Array;

/** What every authenticator app takes for granted. @source RFC 6238; the key URI format of those apps */
const TOTP_PARAMETERS = { issuer: 'Guildhall', algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** @source RFC 4226, section 4, R6: 160 bits */
const SECRET_BYTES = 20;
/** Steps before and after the present one whose codes count: clocks differ. */
const WINDOW = 1;

const RECOVERY_CODES = 8;
/** 80 bits each: an unsalted SHA-256 of that is as good as none to a thief. */
const RECOVERY_BYTES = 10;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

export function newSecret(randomBytes: RandomBytes): string {
  return OtpSecret.fromHex(Buffer.from(randomBytes(SECRET_BYTES)).toString('hex')).base32;
}

export function keyUriOf(secret: string, label: string): string {
  return new TOTP({ ...TOTP_PARAMETERS, label, secret: OtpSecret.fromBase32(secret) }).toString();
}

/** The step of a code that is right now and later than `lastStep`; null for any other text. */
export function matchingStep(secret: string, code: string, lastStep: number, nowMs: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const totp = new TOTP({ ...TOTP_PARAMETERS, secret: OtpSecret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW });
  if (delta === null) return null;
  const step = Math.floor(nowMs / 1000 / TOTP_PARAMETERS.period) + delta;
  return step > lastStep ? step : null;
}

/** Seals bind the secret to its account and to whether it is in force: one cannot stand for the other. */
export const sealContext = (userId: string, use: 'offered' | 'in force'): string => `${userId} ${use}`;

export const sealSecret = (keys: Keys, secret: string, bound: string, randomBytes: RandomBytes): string =>
  keys.seal(secret, bound, randomBytes(NONCE_BYTES));

/** Four groups of four letters, without those that look like others. */
export function newRecoveryCodes(randomBytes: RandomBytes): readonly Secret[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    let bits = BigInt(`0x${Buffer.from(randomBytes(RECOVERY_BYTES)).toString('hex')}`);
    let code = '';
    for (let i = 0; i < 16; i++, bits >>= 5n) code += ALPHABET[Number(bits & 31n)];
    return new Secret(code.replace(/(.{4})(?=.)/g, '$1-'));
  });
}

/** SHA-256 of a recovery code, however it was typed; null for what cannot be one. */
export function recoveryHash(typed: string): string | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '');
  return /^[a-z2-7]{16}$/.test(code) ? createHash('sha256').update(code).digest('hex') : null;
}

/** The second factor after it has taken the code; null when it does not take it. */
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
