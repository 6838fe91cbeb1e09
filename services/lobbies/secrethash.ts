import { createHmac } from 'node:crypto';
import type { ApplicationId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';

const KEY_BYTES = 32;

interface HasherPorts {
  readonly tokenSecret: string | null;
  readonly settings: Storage['settings'];
  readonly randomBytes: (size: number) => Uint8Array;
}

/**
 * Hashes the secrets of lobbies under a key that is not beside them: with `token_secret` the database alone tells
 * nothing of them. Without that setting the key is one of the database's own.
 */
export function secretHasher({ tokenSecret, settings, randomBytes }: HasherPorts) {
  let key: Promise<string> | null = null;
  const fresh = (): string => Buffer.from(randomBytes(KEY_BYTES)).toString('hex');
  return async (applicationId: ApplicationId, secret: string): Promise<string> => {
    key ??= tokenSecret ? Promise.resolve(tokenSecret) : settings.putIfAbsent('lobby_secret_key', fresh());
    key.catch(() => {
      key = null;
    });
    // An id has no line feed, so no two pairs are confused.
    return createHmac('sha256', await key)
      .update(`lobby\n${applicationId}\n${secret}`)
      .digest('hex');
  };
}
