import { LinkFault } from '../../../protocol/faults.ts';
import type { Ownership, Router } from '../../placement/ports.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';

/** What the owner of `ownerId` is told about some things, the latest of each. */
type Letter<Item> = readonly [ownerId: string, items: readonly (readonly [about: string, item: Item])[]];

interface PostPorts<Item> {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard' | 'serve'>;
  readonly clock: Pick<Clock, 'defer'>;
  readonly wheel: Wheel;
  readonly method: 'guilds.setPresences' | 'users.setMemberships' | 'users.repeatPresences';
  /** Called where the id is owned. What it does with it must stay true when it is told the same twice. */
  readonly take: (ownerId: string, about: string, item: Item) => void;
  /** Whether it is still this shard's to tell; absent: always. */
  readonly isDue?: (about: string) => boolean;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Items that wait at one time, and that go in one question. */
const DUE_MAX = 500_000;
const BATCH_MAX = 2_000;
const DEADLINE_MS = 5_000;
const RETRY_MS = { first: 100, most: 2_000 };

/** Where ids stand that nobody owns now. */
const NOBODY = '';

/**
 * States that the owners of ids are to know, each told until whoever owns the id has taken it; of what is told anew
 * meanwhile only the latest goes. One question at a time is under way to each shard, so nothing overtakes. What an owner
 * has taken is not told to the next one: that is for whoever knows the states, when an id changes hands.
 */
export class OwnerPost<Item> {
  readonly #ports: PostPorts<Item>;
  readonly #due = new Map<string, Map<string, Item>>();
  /** Ids of which something is due, by the shard that owns them. */
  #byShard = new Map<string, Set<string>>();
  /** Shards that are being asked, or have just refused something. */
  readonly #busy = new Set<string>();
  readonly #resting = new Set<string>();
  #size = 0;
  #timer: Timer | null = null;
  #retryMs: number = RETRY_MS.first;
  #flushing = false;

  constructor(ports: PostPorts<Item>) {
    this.#ports = ports;
    const { ownership, router, method, take } = ports;
    router.serve(method, ([letters]: [readonly Letter<Item>[]]): string[] => {
      const refused: string[] = [];
      for (const [ownerId, items] of letters)
        if (!ownership.owns(ownerId)) refused.push(ownerId);
        else for (const [about, item] of items) take(ownerId, about, item);
      return refused;
    });
    ownership.onChange(({ moved }) => {
      if (moved.length > 0) this.#regroup();
      this.#again();
    });
  }

  /** Items that wait to be taken. */
  get size(): number {
    return this.#size;
  }

  put(ownerId: string, about: string, item: Item): void {
    const known = this.#due.get(ownerId);
    if (this.#ports.ownership.owns(ownerId)) {
      if (known) this.#forget(ownerId, known, about);
      this.#ports.take(ownerId, about, item);
      return;
    }
    if (!known?.has(about)) {
      if (this.#size >= DUE_MAX) {
        this.#ports.onFault(new LinkFault('overloaded', 'Too much waits for its owners.'), ownerId);
        return;
      }
      this.#size += 1;
    }
    if (known) known.set(about, item);
    else {
      this.#due.set(ownerId, new Map([[about, item]]));
      this.#group(ownerId);
    }
    this.#flushLater();
  }

  #forget(ownerId: string, items: Map<string, Item>, about: string): void {
    if (!items.delete(about)) return;
    this.#size -= 1;
    if (items.size > 0) return;
    this.#due.delete(ownerId);
    for (const ids of this.#byShard.values()) ids.delete(ownerId);
  }

  #group(ownerId: string): void {
    const shardId = this.#ports.ownership.ownerOf(ownerId)?.shardId ?? NOBODY;
    const ids = this.#byShard.get(shardId);
    if (ids) ids.add(ownerId);
    else this.#byShard.set(shardId, new Set([ownerId]));
  }

  #regroup(): void {
    this.#byShard = new Map();
    for (const ownerId of this.#due.keys()) this.#group(ownerId);
  }

  #again(): void {
    this.#resting.clear();
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
    const { self } = this.#ports.ownership;
    for (const [shardId, ids] of this.#byShard) {
      if (ids.size === 0 || shardId === NOBODY || this.#busy.has(shardId) || this.#resting.has(shardId))
        continue;
      if (shardId === self?.id) this.#takeHere(ids);
      else void this.#ask(shardId, ids);
    }
  }

  /** What has come to be this shard's, or is its own again. */
  #takeHere(ids: ReadonlySet<string>): void {
    const { ownership, take } = this.#ports;
    for (const ownerId of [...ids]) {
      const items = this.#due.get(ownerId);
      if (!items || !ownership.owns(ownerId)) continue;
      for (const [about, item] of [...items]) {
        this.#forget(ownerId, items, about);
        take(ownerId, about, item);
      }
    }
    if (ids.size > 0) this.#rest(ownership.self?.id ?? NOBODY);
  }

  async #ask(shardId: string, ids: Set<string>): Promise<void> {
    const { router, method } = this.#ports;
    const letters = this.#letters(ids);
    if (letters.length === 0) return;
    this.#busy.add(shardId);
    let refused: ReadonlySet<string>;
    try {
      refused = new Set(await router.askShard(shardId, method, [letters], DEADLINE_MS));
    } catch {
      // Whether it was taken is not known, so it is told again.
      refused = new Set(letters.map(([ownerId]) => ownerId));
    }
    this.#busy.delete(shardId);
    for (const [ownerId, sent] of letters) {
      const items = this.#due.get(ownerId);
      if (!items) continue;
      if (refused.has(ownerId)) {
        // Behind the others, which it is not to hold up.
        if (ids.delete(ownerId)) ids.add(ownerId);
      } else
        for (const [about, item] of sent) if (items.get(about) === item) this.#forget(ownerId, items, about);
    }
    if (refused.size > 0) this.#rest(shardId);
    else this.#retryMs = RETRY_MS.first;
    if (this.#size > 0) this.#flushLater();
  }

  #letters(ids: Iterable<string>): Letter<Item>[] {
    const letters: Letter<Item>[] = [];
    let room = BATCH_MAX;
    for (const ownerId of [...ids]) {
      const items = this.#dueTo(ownerId).slice(0, room);
      if (items.length === 0) continue;
      letters.push([ownerId, items]);
      room -= items.length;
      if (room <= 0) break;
    }
    return letters;
  }

  /** What is this shard's to tell no more is let go of. */
  #dueTo(ownerId: string): (readonly [about: string, item: Item])[] {
    const { isDue } = this.#ports;
    const items = this.#due.get(ownerId);
    if (!items) return [];
    if (isDue) for (const about of [...items.keys()]) if (!isDue(about)) this.#forget(ownerId, items, about);
    return [...items];
  }

  #rest(shardId: string): void {
    this.#resting.add(shardId);
    this.#timer ??= this.#ports.wheel.add(() => {
      this.#timer = null;
      this.#resting.clear();
      if (this.#size > 0) this.#flushLater();
    }, this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }
}
