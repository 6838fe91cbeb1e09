import { createPublicKey } from 'node:crypto';
import type { CryptoKey } from 'jose';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Storage } from '../../storage/ports.ts';
import { hashOf } from '../identity/identity.ts';
import type { PublicKey } from './ports.ts';

interface KeyPorts {
  readonly settings: Storage['settings'];
  readonly clock: Pick<Clock, 'now'>;
}

interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: PublicKey;
}

/** The claims of an ID token. Times are Unix milliseconds. */
interface Claims {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  readonly nonce: string | null;
  readonly authenticatedMs: number;
  readonly lifeSec: number;
}

const ALGORITHM = 'RS256';
/**
 * How long a key signs. It is published for the same time again, many times the life of a token, so that every token can
 * be verified until it expires.
 */
export const KEY_PERIOD_MS = 90 * 86_400_000;

/**
 * Keys that sign ID tokens. Each belongs to a period of time and is stored under the number of the period, so all
 * processes of one database use the same key and rotation is automatic.
 */
export function createIdTokenKeys({ settings, clock }: KeyPorts) {
  const made = new Map<number, Promise<SigningKey>>();
  const periodNow = () => Math.floor(clock.now() / KEY_PERIOD_MS);
  const nameOf = (period: number) => `oauth_signing_key_${period}`;

  function forget(before: number): void {
    for (const period of made.keys()) if (period < before) made.delete(period);
  }

  /** The key of the current period, created by the first process that needs it. */
  function current(): Promise<SigningKey> {
    const period = periodNow();
    let key = made.get(period);
    if (!key) {
      forget(period - 1);
      key = settings.get(nameOf(period)).then(async (kept) => {
        return read(kept ?? (await settings.putIfAbsent(nameOf(period), await newKey())));
      });
      made.set(period, key);
      key.catch(() => made.delete(period));
    }
    return key;
  }

  async function previous(): Promise<SigningKey | null> {
    const period = periodNow() - 1;
    const known = made.get(period);
    if (known) return known;
    const kept = await settings.get(nameOf(period));
    if (kept === null) return null;
    const key = read(kept);
    made.set(period, key);
    key.catch(() => made.delete(period));
    return key;
  }

  return {
    /** All keys that unexpired tokens may be signed with, the current one first. */
    async published(): Promise<readonly PublicKey[]> {
      const keys = await Promise.all([current(), previous()]);
      return keys.flatMap((key) => (key ? [key.publicKey] : []));
    },

    async sign({ issuer, subject, audience, nonce, authenticatedMs, lifeSec }: Claims): Promise<string> {
      const { kid, privateKey } = await current();
      const issuedSec = Math.floor(clock.now() / 1000);
      const times = { auth_time: Math.floor(authenticatedMs / 1000), iat: issuedSec };
      const { SignJWT } = await jose();
      return new SignJWT({ ...(nonce === null ? {} : { nonce }), ...times })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setExpirationTime(issuedSec + lifeSec)
        .sign(privateKey);
    },
  };
}

export type IdTokenKeys = ReturnType<typeof createIdTokenKeys>;

/** Loaded for the first token: most processes sign none. */
const jose = () => import('jose');

async function newKey(): Promise<string> {
  const { exportPKCS8, generateKeyPair } = await jose();
  const { privateKey } = await generateKeyPair(ALGORITHM, { modulusLength: 2048, extractable: true });
  return exportPKCS8(privateKey);
}

async function read(pem: string): Promise<SigningKey> {
  const { exportJWK, importPKCS8 } = await jose();
  const privateKey = await importPKCS8(pem, ALGORITHM);
  const { kty = '', n = '', e = '' } = await exportJWK(createPublicKey(pem));
  // Derived from the key, so every process uses the same key id.
  const kid = hashOf(n).slice(0, 16);
  return { kid, privateKey, publicKey: { kty, use: 'sig', kid, n, e, alg: ALGORITHM } };
}
