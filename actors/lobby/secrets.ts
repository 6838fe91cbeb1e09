import type { ApplicationId, ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyStore } from '../../storage/ports.lobbies.ts';
import { inTurns } from '../runtime/turns.ts';

/** Secrets kept at hand. */
const KNOWN_MAX = 100_000;

interface Known {
  readonly lobbyId: ChannelId;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** What is to be kept of a new secret. */
export interface KeptSecret {
  readonly hash: string;
  readonly nowMs: number;
  readonly expiresMs: number;
}

/**
 * Which lobby a secret names. However many ask at once for one that names none, one lobby is made: they take turns,
 * and the database refuses a second.
 */
export class Secrets {
  readonly #store: Pick<LobbyStore, 'bySecret'>;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();
  readonly #keyOf = new Map<ChannelId, string>();
  readonly #inTurn = inTurns<string>();

  constructor(store: Pick<LobbyStore, 'bySecret'>, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** The lobby, made by `create` when there is none. `create` answers the id once it is durable, with the secret. */
  async lobby(
    applicationId: ApplicationId,
    hash: string,
    create: (secret: KeptSecret) => Promise<ChannelId>,
  ): Promise<ChannelId> {
    const key = `${applicationId}:${hash}`;
    return this.#atHand(key) ?? this.#inTurn(key, () => this.#find(applicationId, hash, key, create));
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
    applicationId: ApplicationId,
    hash: string,
    key: string,
    create: (secret: KeptSecret) => Promise<ChannelId>,
  ): Promise<ChannelId> {
    const atHand = this.#atHand(key);
    if (atHand) return atHand;
    const nowMs = this.#nowMs();
    const stored = () => this.#store.bySecret(applicationId, hash, nowMs);
    const found = await stored();
    if (found) return this.#keep(key, found.lobbyId, found.expiresMs);
    const expiresMs = nowMs + LIMITS.lobby_secret_ms;
    try {
      return this.#keep(key, await create({ hash, nowMs, expiresMs }), expiresMs);
    } catch (error) {
      // Made elsewhere in the meantime.
      const other = await stored();
      if (!other) throw error;
      return this.#keep(key, other.lobbyId, other.expiresMs);
    }
  }

  #keep(key: string, lobbyId: ChannelId, untilMs: number): ChannelId {
    this.#known.set(key, { lobbyId, untilMs });
    this.#keyOf.set(lobbyId, key);
    if (this.#known.size > KNOWN_MAX) {
      const [oldest, { lobbyId: gone }] = this.#known.entries().next().value as [string, Known];
      this.#known.delete(oldest);
      this.#keyOf.delete(gone);
    }
    return lobbyId;
  }
}
