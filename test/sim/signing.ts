import { generateKeyPairSync, type webcrypto } from 'node:crypto';
import { KEY_PERIOD_MS } from '../../services/oauth/idtokens.ts';
import type { Database } from './database.ts';

const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const { subtle } = globalThis.crypto;

let made: Promise<string> | null = null;

/**
 * WebCrypto works on other threads in real time, for which simulated time does not wait. So one key is made beforehand, and
 * signatures are empty.
 */
async function makeKey(): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const der = privateKey.export({ type: 'pkcs8', format: 'der' });
  const key = await subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
  const instead: Partial<webcrypto.SubtleCrypto> = {
    importKey: async () => key,
    sign: async () => new ArrayBuffer(0),
  };
  Object.assign(subtle, instead);
  // To load a module takes real time too.
  await import('jose');
  return pem;
}

/** Gives the database the key that signs ID tokens at that time, Unix milliseconds. */
export async function foundSigningKey({ settings }: Database, nowMs: number): Promise<void> {
  made ??= makeKey();
  settings.set(`oauth_signing_key_${Math.floor(nowMs / KEY_PERIOD_MS)}`, await made);
}
