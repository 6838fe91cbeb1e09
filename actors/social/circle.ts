import { RELATION, type StoredRelation } from '../../engine/social/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { RelationshipStore } from '../../storage/ports.relationships.ts';

/** Users whose relations are kept at hand; one has a few thousand at most, most have few. */
const USERS_MAX = 5_000;

/** Everyone's relations as they were last read; dropped when they change, oldest first when there are many. */
export class Circle {
  readonly #store: Pick<RelationshipStore, 'of'>;
  readonly #known = new Map<UserId, Promise<readonly StoredRelation[]>>();

  constructor(store: Pick<RelationshipStore, 'of'>) {
    this.#store = store;
  }

  /** What the user is to others, of all kinds. */
  of(userId: UserId): Promise<readonly StoredRelation[]> {
    const known = this.#known.get(userId);
    if (known) return known;
    const read = this.#store.of(userId);
    this.#known.set(userId, read);
    read.catch(() => this.#known.delete(userId));
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= USERS_MAX) break;
      this.#known.delete(oldest);
    }
    return read;
  }

  /** To be called when a change is durable; what was read before it no longer counts. */
  forget(userId: UserId): void {
    this.#known.delete(userId);
  }

  forgetAll(): void {
    this.#known.clear();
  }

  async blocks(userId: UserId, other: UserId): Promise<boolean> {
    return (await this.of(userId)).some(
      ({ peerId, type, applicationId }) =>
        peerId === other && type === RELATION.BLOCKED && applicationId === null,
    );
  }

  /** Friends of the platform, or of one game too. */
  async friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean> {
    return (await this.of(userId)).some((one) => one.peerId === other && isFriend(one, applicationId));
  }
}

/** Whether a relation makes friends as this application sees it; null: the platform. */
export const isFriend = (relation: StoredRelation, applicationId: ApplicationId | null): boolean =>
  relation.type === RELATION.FRIEND &&
  (relation.applicationId === null || relation.applicationId === applicationId);
