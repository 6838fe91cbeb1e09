import { gathering } from '../../actors/runtime/gather.ts';
import { inTurns } from '../../actors/runtime/turns.ts';
import type { ApplicationId, ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyStore, SecretKey } from '../../storage/ports.lobbies.ts';

/** Secrets kept at hand. */
const CACHED_SECRETS_MAX = 100_000;

interface KnownSecret {
  readonly lobbyId: ChannelId;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** What is to be kept of a new secret. */
export interface StoredSecret {
  readonly hash: string;
  readonly nowMs: number;
  readonly expiresMs: number;
}

/**
 * Which lobby a secret names. However many ask at once for one that names none, one lobby is made: they take turns,
 * and the database refuses a second.
 */
export class LobbySecrets {
  readonly #stored: (key: string) => Promise<KnownSecret | undefined>;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, KnownSecret>();
  readonly #keyOf = new Map<ChannelId, string>();
  readonly #inTurn = inTurns<string>();

  constructor(store: Pick<LobbyStore, 'bySecret'>, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#stored = gathering(async (keys) => {
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
   * The lobby, made by `create` when there is none. `create` answers the id once it is durable, with the secret; null
   * when there shall be none.
   */
  async lobby(
    applicationId: ApplicationId,
    hash: string,
    create: (secret: StoredSecret) => Promise<ChannelId | null>,
  ): Promise<ChannelId | null> {
    const key = keyOf(applicationId, hash);
    return this.#atHand(key) ?? this.#inTurn(key, () => this.#find(key, hash, create));
  }

  /** The lobby is gone, or was not where it was thought to be. */
  forget(lobbyId: ChannelId): void {
    const key = this.#keyOf.get(lobbyId);
    if (key === undefined) return;
    this.#keyOf.delete(lobbyId);
    this.#known.delete(key);
  }

  #atHand(key: string): ChannelId | null {
    const known = this.#known.get(key);
    return known && known.untilMs > this.#nowMs() ? known.lobbyId : null;
  }

  async #find(
    key: string,
    hash: string,
    create: (secret: StoredSecret) => Promise<ChannelId | null>,
  ): Promise<ChannelId | null> {
    const atHand = this.#atHand(key);
    if (atHand) return atHand;
    const nowMs = this.#nowMs();
    const found = await this.#stored(key);
    if (found) return this.#keep(key, found.lobbyId, found.untilMs);
    const expiresMs = nowMs + LIMITS.lobby_secret_ms;
    try {
      const made = await create({ hash, nowMs, expiresMs });
      return made && this.#keep(key, made, expiresMs);
    } catch (error) {
      // Made elsewhere in the meantime.
      const other = await this.#stored(key);
      if (!other) throw error;
      return this.#keep(key, other.lobbyId, other.untilMs);
    }
  }

  #keep(key: string, lobbyId: ChannelId, untilMs: number): ChannelId {
    this.#known.set(key, { lobbyId, untilMs });
    this.#keyOf.set(lobbyId, key);
    if (this.#known.size > CACHED_SECRETS_MAX) {
      const [oldest, { lobbyId: gone }] = this.#known.entries().next().value as [string, KnownSecret];
      this.#known.delete(oldest);
      this.#keyOf.delete(gone);
    }
    return lobbyId;
  }
}

const keyOf = (applicationId: ApplicationId, hash: string): string => `${applicationId}:${hash}`;

/** The same the other way; neither an id nor a hash has a colon. */
function secretKey(key: string): SecretKey {
  const [applicationId, hash] = key.split(':') as [ApplicationId, string];
  return { applicationId, hash };
}
