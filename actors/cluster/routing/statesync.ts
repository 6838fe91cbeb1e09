import { LinkFault } from '../../../protocol/faults.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';

/** The latest state of several items for the owner of `ownerId`. */
type Update<Item, OwnerId, About> = readonly [
  ownerId: OwnerId,
  items: readonly (readonly [about: About, item: Item])[],
];

interface StateSyncPorts<Item, OwnerId, About> {
  readonly ownership: Ownership;
  /** The method that carries the updates; the receiver returns the ids that it does not own. */
  readonly link: {
    serve(receive: (updates: readonly Update<Item, OwnerId, About>[]) => string[]): void;
    send(
      shardId: string,
      updates: readonly Update<Item, OwnerId, About>[],
      deadlineMs: number,
    ): Promise<readonly string[]>;
  };
  readonly clock: Pick<Clock, 'defer'>;
  readonly wheel: Wheel;
  /** Applies an item on the owner of the id. It must be idempotent: an item may arrive twice. */
  readonly apply: (ownerId: OwnerId, about: About, item: Item) => void;
  /** Whether this shard is still the source of the item; absent: always. */
  readonly isOurs?: (about: About) => boolean;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Upper bounds on the waiting items, and on the items of one request. */
const PENDING_MAX = 500_000;
const BATCH_MAX = 2_000;
const DEADLINE_MS = 5_000;
const RETRY_MS = { first: 100, most: 2_000 };

/** The group of ids without an owner. */
const UNOWNED = '';

/**
 * Sends states to the owners of ids, with retries until the owner acknowledges; of several states of one item only the
 * latest is sent. Each shard has at most one request in flight, so states cannot overtake each other. Acknowledged
 * states are not repeated to the next owner of the id: the source of the states sends them again after an ownership
 * change.
 */
export class StateSync<Item, OwnerId extends string, About extends string> {
  readonly #ports: StateSyncPorts<Item, OwnerId, About>;
  readonly #pending = new Map<OwnerId, Map<About, Item>>();
  /** Ids with pending items, by owner shard. */
  #byShard = new Map<string, Set<OwnerId>>();
  /** Shards with a request in flight, and shards that recently refused an item. */
  readonly #inFlight = new Set<string>();
  readonly #backingOff = new Set<string>();
  #size = 0;
  #timer: Timer | null = null;
  #retryMs: number = RETRY_MS.first;
  #flushing = false;

  constructor(ports: StateSyncPorts<Item, OwnerId, About>) {
    this.#ports = ports;
    const { ownership, link, apply } = ports;
    link.serve((updates) => {
      const refused: string[] = [];
      for (const [ownerId, items] of updates)
        if (!ownership.owns(ownerId)) refused.push(ownerId);
        else for (const [about, item] of items) apply(ownerId, about, item);
      return refused;
    });
    ownership.onChange(({ moved }) => {
      if (moved.length > 0) this.#regroup();
      this.#retryNow();
    });
  }

  /** Number of items that are not acknowledged yet. */
  get size(): number {
    return this.#size;
  }

  put(ownerId: OwnerId, about: About, item: Item): void {
    const known = this.#pending.get(ownerId);
    if (this.#ports.ownership.owns(ownerId)) {
      if (known) this.#forget(ownerId, known, about);
      this.#ports.apply(ownerId, about, item);
      return;
    }
    if (!known?.has(about)) {
      if (this.#size >= PENDING_MAX) {
        this.#ports.onFault(new LinkFault('overloaded', 'Too many updates wait for their owners.'), ownerId);
        return;
      }
      this.#size += 1;
    }
    if (known) known.set(about, item);
    else {
      this.#pending.set(ownerId, new Map([[about, item]]));
      this.#group(ownerId);
    }
    this.#flushLater();
  }

  #forget(ownerId: OwnerId, items: Map<About, Item>, about: About): void {
    if (!items.delete(about)) return;
    this.#size -= 1;
    if (items.size > 0) return;
    this.#pending.delete(ownerId);
    for (const ids of this.#byShard.values()) ids.delete(ownerId);
  }

  #group(ownerId: OwnerId): void {
    const shardId = this.#ports.ownership.ownerOf(ownerId)?.shardId ?? UNOWNED;
    const ids = this.#byShard.get(shardId);
    if (ids) ids.add(ownerId);
    else this.#byShard.set(shardId, new Set([ownerId]));
  }

  #regroup(): void {
    this.#byShard = new Map();
    for (const ownerId of this.#pending.keys()) this.#group(ownerId);
  }

  /** An owner may be known again without a change: that of ids of this shard whose lease was not safe for a moment. */
  #regroupUnowned(): void {
    const ids = this.#byShard.get(UNOWNED);
    if (!ids || ids.size === 0 || this.#backingOff.has(UNOWNED)) return;
    this.#byShard.delete(UNOWNED);
    for (const id of ids) this.#group(id);
    if (this.#byShard.has(UNOWNED)) this.#backOff(UNOWNED);
  }

  #retryNow(): void {
    this.#backingOff.clear();
    this.#retryMs = RETRY_MS.first;
    if (this.#size > 0) this.#flushLater();
  }

  #flushLater(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#ports.clock.defer(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    this.#regroupUnowned();
    const { self } = this.#ports.ownership;
    for (const [shardId, ids] of this.#byShard) {
      if (
        ids.size === 0 ||
        shardId === UNOWNED ||
        this.#inFlight.has(shardId) ||
        this.#backingOff.has(shardId)
      )
        continue;
      if (shardId === self?.id) this.#applyHere(ids);
      else void this.#send(shardId, ids);
    }
  }

  /** Applies the items of ids that this shard now owns. */
  #applyHere(ids: ReadonlySet<OwnerId>): void {
    const { ownership, apply } = this.#ports;
    for (const ownerId of [...ids]) {
      const items = this.#pending.get(ownerId);
      if (!items || !ownership.owns(ownerId)) continue;
      for (const [about, item] of [...items]) {
        this.#forget(ownerId, items, about);
        apply(ownerId, about, item);
      }
    }
    if (ids.size > 0) this.#backOff(ownership.self?.id ?? UNOWNED);
  }

  async #send(shardId: string, ids: Set<OwnerId>): Promise<void> {
    const updates = this.#nextUpdates(ids);
    if (updates.length === 0) return;
    this.#inFlight.add(shardId);
    let refused: ReadonlySet<string>;
    try {
      refused = new Set(await this.#ports.link.send(shardId, updates, DEADLINE_MS));
    } catch {
      // The outcome is unknown, so the items are sent again.
      refused = new Set(updates.map(([ownerId]) => ownerId));
    }
    this.#inFlight.delete(shardId);
    for (const [ownerId, sent] of updates) {
      const items = this.#pending.get(ownerId);
      if (!items) continue;
      if (refused.has(ownerId)) {
        // Moves the id to the end, so that it does not delay the others.
        if (ids.delete(ownerId)) ids.add(ownerId);
      } else
        for (const [about, item] of sent) if (items.get(about) === item) this.#forget(ownerId, items, about);
    }
    if (refused.size > 0) this.#backOff(shardId);
    else this.#retryMs = RETRY_MS.first;
    if (this.#size > 0) this.#flushLater();
  }

  #nextUpdates(ids: Iterable<OwnerId>): Update<Item, OwnerId, About>[] {
    const updates: Update<Item, OwnerId, About>[] = [];
    let room = BATCH_MAX;
    for (const ownerId of [...ids]) {
      const items = this.#pendingOf(ownerId).slice(0, room);
      if (items.length === 0) continue;
      updates.push([ownerId, items]);
      room -= items.length;
      if (room <= 0) break;
    }
    return updates;
  }

  /** Drops items of which this shard is no longer the source. */
  #pendingOf(ownerId: OwnerId): (readonly [about: About, item: Item])[] {
    const { isOurs } = this.#ports;
    const items = this.#pending.get(ownerId);
    if (!items) return [];
    if (isOurs)
      for (const about of [...items.keys()]) if (!isOurs(about)) this.#forget(ownerId, items, about);
    return [...items];
  }

  #backOff(shardId: string): void {
    this.#backingOff.add(shardId);
    this.#timer ??= this.#ports.wheel.add(() => {
      this.#timer = null;
      this.#backingOff.clear();
      if (this.#size > 0) this.#flushLater();
    }, this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }
}
