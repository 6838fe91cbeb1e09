import type { Routing } from '../../actors/placement/routing.ts';
import { RELATION, type StoredRelation } from '../../engine/social/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';

/** Most cached relations, about 150 bytes each. A user has a few thousand at most. */
const RELATIONS_KEPT_MAX = 200_000;
/** Weight of a cached user in addition to the relations, so that users without any are bounded too. */
const USER_WEIGHT = 4;

/** Caches the relations of users. Each user's relations are cached only on the owner shard of the user. */
export interface FriendCache {
  /** Relations of all kinds from the user to others. */
  of(userId: UserId): Promise<readonly StoredRelation[]>;
  blocks(userId: UserId, other: UserId): Promise<boolean>;
  /** Whether they are friends on the platform or in this application. */
  friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean>;
  /** Invalidates a user's relations after a change is durable; the cache is current when it resolves. */
  forget(userId: UserId): Promise<void>;
  /** Invalidates all users, here at once and on other shards a moment later. */
  forgetAll(): void;
}

export function createFriendCache(store: Pick<RelationshipStore, 'of'>, routing: Routing): FriendCache {
  const cache = new RelationCache(store);
  routing.onMoved((moved) => cache.forgetAll(moved));
  return {
    of: routing.ask('friends.of', (userId: UserId) => cache.of(userId)),
    blocks: routing.ask('friends.blocks', (userId: UserId, other: UserId) => cache.blocks(userId, other)),
    friends: routing.ask(
      'friends.friends',
      (userId: UserId, other: UserId, applicationId: ApplicationId | null) =>
        cache.friends(userId, other, applicationId),
    ),
    forget: routing.ask('friends.forget', async (userId: UserId) => cache.forget(userId)),
    forgetAll: routing.tellAll('friends.forgetAll', () => cache.forgetAll()),
  };
}

/**
 * Relations by user as last read. Invalidated on changes; the oldest entry is evicted when the cache is full.
 */
export class RelationCache {
  readonly #store: Pick<RelationshipStore, 'of'>;
  readonly #known = new Map<UserId, Promise<readonly StoredRelation[]>>();
  readonly #weights = new Map<UserId, number>();
  #weight = 0;

  constructor(store: Pick<RelationshipStore, 'of'>) {
    this.#store = store;
  }

  of(userId: UserId): Promise<readonly StoredRelation[]> {
    const known = this.#known.get(userId);
    if (known) return known;
    const read = this.#store.of(userId);
    this.#known.set(userId, read);
    const recordWeight = ({ length }: readonly StoredRelation[]) => {
      if (this.#known.get(userId) !== read) return;
      this.#weights.set(userId, USER_WEIGHT + length);
      this.#weight += USER_WEIGHT + length;
      for (const oldest of this.#weights.keys()) {
        if (this.#weight <= RELATIONS_KEPT_MAX) break;
        this.forget(oldest);
      }
    };
    read.then(recordWeight, () => this.#known.get(userId) === read && this.forget(userId));
    return read;
  }

  forget(userId: UserId): void {
    this.#known.delete(userId);
    this.#weight -= this.#weights.get(userId) ?? 0;
    this.#weights.delete(userId);
  }

  forgetAll(which: (userId: UserId) => boolean = () => true): void {
    for (const userId of [...this.#known.keys()]) if (which(userId)) this.forget(userId);
  }

  async blocks(userId: UserId, other: UserId): Promise<boolean> {
    return (await this.of(userId)).some(
      ({ peerId, type, applicationId }) =>
        peerId === other && type === RELATION.BLOCKED && applicationId === null,
    );
  }

  async friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean> {
    return (await this.of(userId)).some((one) => one.peerId === other && isFriend(one, applicationId));
  }
}

/** Whether a relation is a friendship as this application sees it; null means the platform. */
export const isFriend = (relation: StoredRelation, applicationId: ApplicationId | null): boolean =>
  relation.type === RELATION.FRIEND &&
  (relation.applicationId === null || relation.applicationId === applicationId);
