import type { Routing } from '../../actors/cluster/routing.ts';
import { RELATION, type StoredRelation } from '../../engine/social/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { RelationshipStore } from '../../storage/ports.relationships.ts';

/** Relations kept at hand, about 150 bytes each. One user has a few thousand at most, most have few. */
const RELATIONS_KEPT_MAX = 200_000;
/** What a user counts for besides: whoever has no friends takes room too. */
const USER_WEIGHT = 4;

/** What users are to others, as it was last read. Each user's is kept by who owns the user, and by nobody else. */
export interface FriendCache {
  /** What the user is to others, of all kinds. */
  of(userId: UserId): Promise<readonly StoredRelation[]>;
  blocks(userId: UserId, other: UserId): Promise<boolean>;
  /** Friends of the platform, or of one game too. */
  friends(userId: UserId, other: UserId, applicationId: ApplicationId | null): Promise<boolean>;
  /** To be called when a change is durable; when it resolves, what was read before no longer counts. */
  forget(userId: UserId): Promise<void>;
  /** The same for everyone; on other shards a moment later. */
  forgetAll(): void;
}

export function createFriendCache(store: Pick<RelationshipStore, 'of'>, routing: Routing): FriendCache {
  const cache = new RelationCache(store);
  routing.onMoved((moved) => cache.forgetAll(moved));
  const queries = routing.asks(
    'circle',
    {
      of: (userId: UserId) => cache.of(userId),
      blocks: (userId: UserId, other: UserId) => cache.blocks(userId, other),
      friends: (userId: UserId, other: UserId, applicationId: ApplicationId | null) =>
        cache.friends(userId, other, applicationId),
      forget: async (userId: UserId) => cache.forget(userId),
    },
    { again: true },
  );
  return { ...queries, forgetAll: routing.everywhere('circle.forgetAll', () => cache.forgetAll()) };
}

/** Everyone's relations as they were last read; dropped when they change, oldest first when there are many. */
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

/** Whether a relation makes friends as this application sees it; null: the platform. */
export const isFriend = (relation: StoredRelation, applicationId: ApplicationId | null): boolean =>
  relation.type === RELATION.FRIEND &&
  (relation.applicationId === null || relation.applicationId === applicationId);
