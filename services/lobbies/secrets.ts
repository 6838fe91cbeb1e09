import { createHmac } from 'node:crypto';
import { batchReads } from '../../actors/runtime/cache.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { ApplicationId, ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { present } from '../../protocol/present.ts';
import type { LobbyStore, SecretKey } from '../../storage/lobby/port.ts';
import type { Storage } from '../../storage/ports.ts';

/** Most cached secrets; the oldest is evicted. */
const CACHED_SECRETS_MAX = 100_000;

interface KnownSecret {
  readonly lobbyId: ChannelId;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** The stored fields of a new secret. */
interface StoredSecret {
  readonly hash: string;
  readonly nowMs: number;
  readonly expiresMs: number;
}

/**
 * Maps secrets to lobbies. Concurrent requests for an unused secret create one lobby: they run in order, and a unique
 * key of the database refuses a second lobby.
 */
export class LobbySecrets {
  readonly #stored: (key: string) => Promise<KnownSecret | undefined>;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, KnownSecret>();
  readonly #keyOf = new Map<ChannelId, string>();
  readonly #mutex = keyedMutex<string>();

  constructor(store: Pick<LobbyStore, 'bySecret'>, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#stored = batchReads(async (keys) => {
      const found = await store.bySecret(keys.map(secretKey), nowMs());
      return new Map(
        found.map(({ applicationId, hash, lobbyId, expiresMs }) => [
          keyOf(applicationId, hash),
          { lobbyId, untilMs: expiresMs },
        ]),
      );
    });
  }

  /**
   * The lobby of a secret. If there is none, `create` commits one together with the secret and returns its id, or null
   * when none may be created.
   */
  async lobby(
    applicationId: ApplicationId,
    hash: string,
    create: (secret: StoredSecret) => Promise<ChannelId | null>,
  ): Promise<ChannelId | null> {
    const key = keyOf(applicationId, hash);
    return this.#cachedLobby(key) ?? this.#mutex(key, () => this.#find(key, hash, create));
  }

  /** The lobby has ended or was not found where it was expected. */
  forget(lobbyId: ChannelId): void {
    const key = this.#keyOf.get(lobbyId);
    if (key === undefined) return;
    this.#keyOf.delete(lobbyId);
    this.#known.delete(key);
  }

  #cachedLobby(key: string): ChannelId | null {
    const known = this.#known.get(key);
    return known && known.untilMs > this.#nowMs() ? known.lobbyId : null;
  }

  async #find(
    key: string,
    hash: string,
    create: (secret: StoredSecret) => Promise<ChannelId | null>,
  ): Promise<ChannelId | null> {
    const cached = this.#cachedLobby(key);
    if (cached) return cached;
    const nowMs = this.#nowMs();
    const found = await this.#stored(key);
    if (found) return this.#keep(key, found.lobbyId, found.untilMs);
    const expiresMs = nowMs + LIMITS.lobby_secret_ms;
    try {
      const made = await create({ hash, nowMs, expiresMs });
      return made && this.#keep(key, made, expiresMs);
    } catch (error) {
      // Another shard created the lobby meanwhile.
      const other = await this.#stored(key);
      if (!other) throw error;
      return this.#keep(key, other.lobbyId, other.untilMs);
    }
  }

  #keep(key: string, lobbyId: ChannelId, untilMs: number): ChannelId {
    this.#known.set(key, { lobbyId, untilMs });
    this.#keyOf.set(lobbyId, key);
    if (this.#known.size > CACHED_SECRETS_MAX) {
      const [oldest, { lobbyId: gone }] = present(this.#known.entries().next().value);
      this.#known.delete(oldest);
      this.#keyOf.delete(gone);
    }
    return lobbyId;
  }
}

const keyOf = (applicationId: ApplicationId, hash: string): string => `${applicationId}:${hash}`;

/** Inverse of `keyOf`; neither ids nor hashes contain a colon. */
function secretKey(key: string): SecretKey {
  const [applicationId, hash] = key.split(':') as [ApplicationId, string];
  return { applicationId, hash };
}

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
