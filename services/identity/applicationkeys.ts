import { createPrivateKey, createPublicKey } from 'node:crypto';
import { Secret } from '../../protocol/secret.ts';
import { hashOf } from './identity.ts';

/** Keys and secret of a new application. */
interface ApplicationKeys {
  /** Ed25519 public key, hexadecimal: `verify_key` of the application. */
  readonly verifyKey: string;
  /** Ed25519 private key, PKCS#8 DER in base64; stored, never shown. */
  readonly signingKey: string;
  /** Shown once. */
  readonly clientSecret: Secret;
  /** SHA-256 of the client secret, hexadecimal. */
  readonly clientSecretHash: string;
}

/** DER of a PKCS#8 Ed25519 key up to its 32-byte seed. @source RFC 8410, section 7 */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;
const CLIENT_SECRET_BYTES = 24;

/** Generates the key pair and client secret of a new application. `randomBytes` must be cryptographic. */
export function makeApplicationKeys(randomBytes: (size: number) => Uint8Array): ApplicationKeys {
  const der = Buffer.concat([PKCS8_PREFIX, randomBytes(SEED_BYTES)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicDer = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const clientSecret = new Secret(Buffer.from(randomBytes(CLIENT_SECRET_BYTES)).toString('base64url'));
  return {
    verifyKey: publicDer.subarray(-32).toString('hex'),
    signingKey: der.toString('base64'),
    clientSecret,
    clientSecretHash: hashOf(clientSecret.reveal()),
  };
}
