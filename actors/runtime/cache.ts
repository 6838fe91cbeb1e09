/** Copies in memory of rows of the database, each bounded, and the reads that fill them. */

import { dropOldest } from '../../protocol/oldest.ts';

export interface CacheBounds {
  /** Most keys in the cache. */
  readonly kept_max: number;
  /** Most concurrent reads; further look-ups fault. */
  readonly reads_max: number;
}

/** Reads in a row that changes may overtake before the caller is asked to retry. */
const ATTEMPTS_MAX = 8;

interface PendingRead<Value> {
  readonly value: Promise<Value>;
  /** The key changed after the read began, so the result may be stale. */
  overtaken: boolean;
}

/** Number of cached keys, and its bound. */
export interface CacheUsage {
  readonly count: number;
  readonly max: number;
}

/**
 * Caches values by key and evicts the least recently used first. Keys without a value are cached too, so that guessing
 * costs one read per key.
 */
export interface Cache<Key, Value> {
  readonly usage: CacheUsage;
  /** The value if it is cached, which counts as a use; else undefined. */
  peek(key: Key): Value | undefined;
  /** @throws Error when the read fails or too many are under way. */
  lookUp(key: Key): Promise<Value>;
  /**
   * Like `lookUp`, but reads again unless the value was read a moment ago: for values that another shard may have
   * changed.
   */
  refresh(key: Key): Promise<Value>;
  /** Evicts a key and discards a read of it that is under way. Call it after each change. */
  forget(key: Key): void;
  /** `forget` for all keys that match. */
  forgetAll(which: (key: Key) => boolean): void;
}

/** Minimum age of a value before it is read again: guesses at tokens must not cost a read each. */
const REFRESH_AFTER_MS = 250;

/** A value, and when its read began. */
interface CachedValue<Value> {
  readonly value: Value;
  readonly readMs: number;
}

export function createCache<Key, Value>(
  load: (key: Key) => Promise<Value>,
  bounds: CacheBounds,
  nowMs: () => number = () => 0,
): Cache<Key, Value> {
  /** Least recently used first. */
  const atHand = new Map<Key, CachedValue<Value>>();
  const readings = new Map<Key, PendingRead<Value>>();

  /** Concurrent requests for one key share one read. */
  function read(key: Key): PendingRead<Value> {
    const pending = readings.get(key);
    if (pending !== undefined) return pending;
    if (readings.size >= bounds.reads_max) throw new Error('Too many look-ups are under way.');
    const value = load(key).finally(() => {
      if (readings.get(key) === reading) readings.delete(key);
    });
    const reading: PendingRead<Value> = { value, overtaken: false };
    readings.set(key, reading);
    return reading;
  }

  function peek(key: Key): Value | undefined {
    const known = atHand.get(key);
    if (known) setLast(atHand, key, known);
    return known?.value;
  }

  async function lookUp(key: Key): Promise<Value> {
    const known = peek(key);
    if (known !== undefined) return known;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const beganMs = nowMs();
      const reading = read(key);
      const fresh = await reading.value;
      if (reading.overtaken) continue;
      setLast(atHand, key, { value: fresh, readMs: beganMs });
      dropOldest(atHand, bounds.kept_max);
      return fresh;
    }
    throw new Error(`Value changed during ${ATTEMPTS_MAX} reads in a row; try again.`);
  }

  function forget(key: Key): void {
    atHand.delete(key);
    const reading = readings.get(key);
    if (reading !== undefined) reading.overtaken = true;
    readings.delete(key);
  }

  return {
    get usage() {
      return { count: atHand.size, max: bounds.kept_max };
    },
    ...{ peek, lookUp, forget },

    refresh(key) {
      const known = atHand.get(key);
      if (known !== undefined && nowMs() - known.readMs >= REFRESH_AFTER_MS) atHand.delete(key);
      return lookUp(key);
    },

    forgetAll(which) {
      for (const key of new Set([...atHand.keys(), ...readings.keys()])) if (which(key)) forget(key);
    },
  };
}

/** Sets an entry as the last one of the map's order. */
function setLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

/** Most keys in one read. */
const KEYS_MAX = 500;

/**
 * Reads by key, many keys with one query: keys requested in one turn, or while a read is under way, share the next
 * read. A burst of callers costs a few queries, and a result is never older than its request.
 *
 * @returns Answers undefined for a key that `read` does not answer; rejects with what `read` rejects with.
 */
export function batchReads<Value, Key extends string = string>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let waiting = new Map<Key, PromiseWithResolvers<Value | undefined>>();
  let running = false;

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      const all = [...waiting];
      const now = all.slice(0, KEYS_MAX);
      waiting = new Map(all.slice(KEYS_MAX));
      try {
        const found = await read(now.map(([key]) => key));
        for (const [key, { resolve }] of now) resolve(found.get(key));
      } catch (error) {
        for (const [, { reject }] of now) reject(error);
      }
    }
    running = false;
  }

  return (key) => {
    const known = waiting.get(key);
    if (known) return known.promise;
    const asked = withResolvers<Value | undefined>();
    waiting.set(key, asked);
    if (!running) {
      running = true;
      queueMicrotask(() => void run());
    }
    return asked.promise;
  };
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** `Promise.withResolvers` of later Node versions. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/**
 * A bounded window on rows of the database, kept as a Map so that pure rules can read and write it.
 *
 * An entry may be evicted only when no commit that depends on it is under way: each `set` is stamped with the number of
 * the commit that it becomes part of, and `trim` evicts only entries whose stamp is settled. `pinned` entries stay.
 */
export class Window<K, V> extends Map<K, V> {
  /** Number of the commit that the next `set` is part of; 0 for rows that were read. Written by the owner. */
  nextCommit = 0;
  readonly #stamps = new Map<K, number>();

  override set(key: K, value: V): this {
    this.#stamps?.set(key, this.nextCommit);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    this.#stamps.delete(key);
    return super.delete(key);
  }

  override clear(): void {
    this.#stamps.clear();
    super.clear();
  }

  /**
   * Evicts the oldest entries until `max` are left, but none that is younger than an entry whose commit is under way:
   * for a window in which an entry describes the entries after it.
   */
  trimInOrder(max: number, settledCommit: number): void {
    for (const key of this.keys()) {
      if (this.size <= max || (this.#stamps.get(key) ?? 0) > settledCommit) return;
      this.delete(key);
    }
  }

  /**
   * Evicts the oldest entries until `max` unpinned ones are left. Looks at no more than 64 entries beyond those it
   * evicts, so a call is cheap however many are pinned; pinned entries that it meets move to the young end.
   */
  trim(max: number, settledCommit: number, pinnedCount = 0, pinned: (key: K) => boolean = NONE): void {
    let excess = this.size - pinnedCount - max;
    let checksLeft = 64;
    if (excess <= 0) return;
    for (const [key, value] of this) {
      if (excess <= 0 || checksLeft <= 0) return;
      if ((this.#stamps.get(key) ?? 0) <= settledCommit && !pinned(key)) {
        this.delete(key);
        excess -= 1;
        continue;
      }
      checksLeft -= 1;
      // Moves the row to the end of the map; its stamp stays.
      super.delete(key);
      super.set(key, value);
    }
  }
}

const NONE = (): boolean => false;

/** A window in which the value decides whether its row is pinned. It counts the pinned rows, so that `trimUnpinned` is cheap. */
export class PinningWindow<K, V> extends Window<K, V> {
  readonly #isPinned: (value: V) => boolean;
  #pinned = 0;

  constructor(isPinned: (value: V) => boolean) {
    super();
    this.#isPinned = isPinned;
  }

  override set(key: K, value: V): this {
    this.#pinned += Number(this.#isPinned(value)) - Number(this.#isPinnedAt(key));
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    this.#pinned -= Number(this.#isPinnedAt(key));
    return super.delete(key);
  }

  override clear(): void {
    this.#pinned = 0;
    super.clear();
  }

  /** Evicts the oldest rows until `max` unpinned ones are left. */
  trimUnpinned(max: number, settledCommit: number): void {
    this.trim(max, settledCommit, this.#pinned, (key) => this.#isPinnedAt(key));
  }

  /** Whether the row of the key is pinned; false for an absent row. */
  #isPinnedAt(key: K): boolean {
    const value = this.get(key);
    return value !== undefined && this.#isPinned(value);
  }
}

/** A read of one window: the absent keys, and how to fetch and keep their rows. */
export interface WindowRead<K extends string = string> {
  /** Names one of the aggregate's windows. */
  readonly kind: string;
  readonly keys: readonly K[];
  fetch(keys: readonly K[]): Promise<void>;
}

/** Evicts what is too much in one window. Commits up to `settledCommit` are settled. */
type Trim<K, V> = (window: Window<K, V>, settledCommit: number) => void;

/** Keeps the youngest `max` entries. */
export const oldestFirst =
  <K, V>(max: number): Trim<K, V> =>
  (window, settledCommit) =>
    window.trim(max, settledCommit);

/** Keeps the youngest `max` entries, where an entry describes the entries after it. */
export const strictlyOldestFirst =
  <K, V>(max: number): Trim<K, V> =>
  (window, settledCommit) =>
    window.trimInOrder(max, settledCommit);

/**
 * The windows of one aggregate, which are stamped, trimmed and read together. Concurrent reads of one row share one query. A result never
 * takes the place of what a command has written since the read began: no such entry is evicted before the read ends.
 */
export class Windows {
  readonly #stamped: { nextCommit: number }[] = [];
  readonly #trims: ((settledCommit: number) => void)[] = [];
  readonly #underWay = new Map<string, Promise<void>>();
  /** The last commit that was known to be settled when each read began; the oldest first, so in ascending order. */
  readonly #reads = new Set<{ readonly settledCommit: number }>();
  #settledCommit = 0;

  /** Adds a window, with what bounds it. Called once for each; a plain Map is not bounded. */
  add<K, V>(rows: Map<K, V>, trim: Trim<K, V>): void {
    if (!(rows instanceof Window)) return;
    const window: Window<K, V> = rows;
    this.#stamped.push(window);
    this.#trims.push((settledCommit) => trim(window, settledCommit));
  }

  /** Entries that are set from now on are part of this commit; 0 for rows that are read. */
  number(commit: number): void {
    for (const window of this.#stamped) window.nextCommit = commit;
  }

  trim(settledCommit: number): void {
    this.#settledCommit = settledCommit;
    const [oldest] = this.#reads;
    for (const trim of this.#trims) trim(oldest?.settledCommit ?? settledCommit);
  }

  /** Null when nothing must be read; otherwise resolves when all rows are in the windows. */
  read(reads: Iterable<WindowRead>): Promise<void> | null {
    const waits: Promise<void>[] = [];
    for (const read of reads) {
      const fresh: string[] = [];
      for (const key of new Set(read.keys)) {
        const running = this.#underWay.get(read.kind + key);
        if (running) waits.push(running);
        else fresh.push(key);
      }
      if (fresh.length > 0) waits.push(this.#start(read, fresh));
    }
    return waits.length > 0 ? Promise.all(waits).then(() => undefined) : null;
  }

  #start(read: WindowRead, keys: readonly string[]): Promise<void> {
    const reading = { settledCommit: this.#settledCommit };
    this.#reads.add(reading);
    const running = read.fetch(keys).finally(() => {
      this.#reads.delete(reading);
      for (const key of keys) this.#underWay.delete(read.kind + key);
    });
    for (const key of keys) this.#underWay.set(read.kind + key, running);
    return running;
  }
}

/** Adds rows, and null for keys without a row, to the window. An entry that a command has written meanwhile stays. */
export function keep<K extends string, Row>(
  window: Map<K, Row | null>,
  keys: readonly K[],
  rows: readonly Row[],
  keyOf: (row: Row) => K,
): void {
  for (const row of rows) if (!window.has(keyOf(row))) window.set(keyOf(row), row);
  for (const key of keys) if (!window.has(key)) window.set(key, null);
}
