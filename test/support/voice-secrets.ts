import { createDecipheriv, createHash, createHmac } from 'node:crypto';
import { snowflakeBytes, vector } from '../../media/dave/mls.ts';

/** The wire's literal label of the media keys' base secret. */
const EXPORT_LABEL = Buffer.from('446973636f726420536563757265204672616d6573207630', 'hex').toString();
const NOTHING = new Uint8Array(0);

/** @source RFC 9420 §8 */
function expand(secret: Uint8Array, label: string, context: Uint8Array, size: number): Buffer {
  const info = Buffer.concat([
    Uint8Array.of(size >> 8, size & 0xff),
    vector(Buffer.from(`MLS 1.0 ${label}`)),
    vector(context),
    Uint8Array.of(1),
  ]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, size);
}

/** The exporter secret of an epoch, of its epoch secret. */
export const exporterOf = (epochSecret: Uint8Array): Buffer => expand(epochSecret, 'exporter', NOTHING, 32);

/** The base secret of a sender's media keys, of the exporter secret. */
export function exported(secret: Uint8Array, senderId: string): Buffer {
  const context = createHash('sha256')
    .update(Buffer.from(snowflakeBytes(senderId)).reverse())
    .digest();
  return expand(expand(secret, EXPORT_LABEL, NOTHING, 32), 'exported', context, 16);
}

/** The first media key, of the base secret. */
export const ratchet = (base: Uint8Array): Buffer => expand(base, 'key', Buffer.alloc(4), 16);

/** Opens an encrypted frame of Opus, one of the first 127 of its sender, with a media key; null when it is another's. */
export function opened(frame: Buffer, key: Uint8Array): Buffer | null {
  const size = frame.at(-3) ?? 0;
  const trailer = frame.subarray(frame.length - size);
  const nonce = Buffer.alloc(12);
  nonce[8] = trailer[8] ?? 0;
  const cipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: 8 });
  cipher.setAuthTag(trailer.subarray(0, 8));
  try {
    return Buffer.concat([cipher.update(frame.subarray(0, frame.length - size)), cipher.final()]);
  } catch {
    return null;
  }
}
