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

export function createCache<Key, Value>(
  load: (key: Key) => Promise<Value>,
  bounds: CacheBounds,
  nowMs: () => number = () => 0,
): Cache<Key, Value> {
  /** Least recently used first. */
  const atHand = new Map<Key, { readonly value: Value; readonly readMs: number }>();
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

  function keep(key: Key, value: Value, readMs: number): Value {
    atHand.delete(key);
    atHand.set(key, { value, readMs });
    dropOldest(atHand, bounds.kept_max);
    return value;
  }

  const peek = (key: Key): Value | undefined => {
    const known = atHand.get(key);
    return known && keep(key, known.value, known.readMs);
  };

  async function lookUp(key: Key): Promise<Value> {
    const known = peek(key);
    if (known !== undefined) return known;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const beganMs = nowMs();
      const reading = read(key);
      const fresh = await reading.value;
      if (!reading.overtaken) return keep(key, fresh, beganMs);
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
