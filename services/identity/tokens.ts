import { hash } from 'node:crypto';
import { isUserId, type UserId } from '../../protocol/ids.ts';
import { Secret } from './secret.ts';

/**
 * A token has three base64url segments: the user's id, the time of issue, and 256 random bits. Two client libraries read
 * the id from the first segment; only the last one is secret.
 *
 * @source https://docs.discord.com/developers/reference#authentication; the lengths of the segments as clients check
 * them
 */
const TOKEN = /^([\w-]{2,28})\.[\w-]{6}\.[\w-]{43}$/;
const TOKEN_CHARACTERS_MAX = 80;
const SECRET_BYTES = 32;

/** Generates a token. `nowMs` is Unix milliseconds; `randomBytes` must be cryptographic. */
export function makeToken(userId: UserId, nowMs: number, randomBytes: (size: number) => Uint8Array): Secret {
  const time = Buffer.alloc(4);
  time.writeUInt32BE(Math.floor(nowMs / 1000) >>> 0);
  const parts = [Buffer.from(userId, 'latin1'), time, Buffer.from(randomBytes(SECRET_BYTES))];
  return new Secret(parts.map((part) => part.toString('base64url')).join('.'));
}

/** The user id in a token, not authenticated; null for a malformed token. */
export function claimedUser(token: string): UserId | null {
  if (token.length > TOKEN_CHARACTERS_MAX) return null;
  const segment = TOKEN.exec(token)?.[1];
  if (segment === undefined) return null;
  const id = Buffer.from(segment, 'base64url').toString('latin1');
  return isUserId(id) ? id : null;
}

/** Hexadecimal SHA-256, the stored form of secrets with full entropy. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}
