import { type Interaction, isExpired } from '../../engine/interaction/interaction.ts';
import { NONCE_MS } from '../../protocol/interactions.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { InteractionStore } from '../../storage/interaction/port.ts';

/** Interactions in memory; others are read from the database. */
const KNOWN_MAX = 50_000;
const NONCES_MAX = 100_000;

const nonceKey = ({ userId, nonce }: Pick<Interaction, 'userId' | 'nonce'>): string => `${userId} ${nonce}`;

/** The interactions that this shard owns, as the latest commit left them. */
export class OpenInteractions {
  readonly #store: Pick<InteractionStore, 'get'>;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Interaction>();
  /** When the nonce of a user was used, oldest first. */
  readonly #nonces = new Map<string, number>();

  constructor(store: Pick<InteractionStore, 'get'>, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Null for an unknown interaction, and for one whose token has ended. */
  async get(ownerId: string, id: string): Promise<Interaction | null> {
    const found = this.#known.get(id) ?? (await this.#store.get(ownerId, id));
    if (found?.ownerId !== ownerId || isExpired(found, this.#nowMs())) return null;
    return found;
  }

  /** The interaction if it is in memory and its token has not ended. */
  known(id: string): Interaction | null {
    const found = this.#known.get(id);
    return found && !isExpired(found, this.#nowMs()) ? found : null;
  }

  put(interaction: Interaction): void {
    this.#known.delete(interaction.id);
    this.#known.set(interaction.id, interaction);
    dropOldest(this.#known, KNOWN_MAX);
    this.note(interaction);
  }

  /** Remembers that its nonce is used. */
  note(interaction: Pick<Interaction, 'userId' | 'nonce' | 'createdMs'>): void {
    if (interaction.nonce === null) return;
    const key = nonceKey(interaction);
    if (this.#nonces.has(key)) return;
    this.#nonces.set(key, interaction.createdMs);
    dropOldest(this.#nonces, NONCES_MAX);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Whether the user sent this nonce a short time ago. */
  isRepeated(asked: Pick<Interaction, 'userId' | 'nonce'>): boolean {
    if (asked.nonce === null) return false;
    const usedMs = this.#nonces.get(nonceKey(asked));
    return usedMs !== undefined && this.#nowMs() - usedMs < NONCE_MS;
  }

  /** Other shards may have changed what this one remembers of these owners. */
  forgetMoved(moved: (ownerId: string) => boolean): void {
    for (const [id, { ownerId }] of this.#known) if (moved(ownerId)) this.#known.delete(id);
  }

  /** Removes what has ended. Cost: O(known). */
  trim(): void {
    const nowMs = this.#nowMs();
    for (const [id, interaction] of this.#known) if (isExpired(interaction, nowMs)) this.#known.delete(id);
    for (const [key, usedMs] of this.#nonces) {
      if (nowMs - usedMs < NONCE_MS) break;
      this.#nonces.delete(key);
    }
  }
}
