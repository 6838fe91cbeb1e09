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
 * Hashes the secrets of lobbies under a server key. With `token_secret` the key is outside the database, which then
 * reveals nothing about the secrets; without that setting the key is stored in the database.
 */
export function secretHasher({ tokenSecret, settings, randomBytes }: HasherPorts) {
  let key: Promise<string> | null = null;
  const fresh = (): string => Buffer.from(randomBytes(KEY_BYTES)).toString('hex');
  return async (applicationId: ApplicationId, secret: string): Promise<string> => {
    key ??= tokenSecret ? Promise.resolve(tokenSecret) : settings.putIfAbsent('lobby_secret_key', fresh());
    key.catch(() => {
      key = null;
    });
    // An id contains no line feed, so two different pairs never give the same input.
    return createHmac('sha256', await key)
      .update(`lobby\n${applicationId}\n${secret}`)
      .digest('hex');
  };
}
