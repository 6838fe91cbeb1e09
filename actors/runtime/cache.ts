export interface CacheBounds {
  /** Most keys in the cache. */
  readonly kept_max: number;
  /** Reads at one time; beyond it a look-up faults. */
  readonly reads_max: number;
}

/** Reads in a row that changes may overtake before the caller is asked to retry. */
const ATTEMPTS_MAX = 8;

interface PendingRead<Value> {
  readonly value: Promise<Value>;
  /** A change came after the read began: what it read may no longer hold. */
  overtaken: boolean;
}

/** Keys whose values are in memory, and how many may be. */
export interface CacheUsage {
  readonly count: number;
  readonly max: number;
}

/**
 * What was read of recently seen keys, the least recently seen going first. Keys that have nothing are kept too, so
 * that guessing costs one read a key.
 */
export interface Cache<Key, Value> {
  readonly usage: CacheUsage;
  /** @throws Error when the read fails or too many are under way. */
  lookUp(key: Key): Promise<Value>;
  /** The same, read again unless that happened a moment ago: for values that another shard may have changed. */
  refresh(key: Key): Promise<Value>;
  /** Drops what is known of a key, and what is being read. To be called after each change. */
  forget(key: Key): void;
  /** The same for all of these. */
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

  /** One read for all who ask at the same time. */
  function read(key: Key): PendingRead<Value> {
    const pending = readings.get(key);
    if (pending !== undefined) return pending;
    if (readings.size >= bounds.reads_max) throw new Error('Too many reads are in progress.');
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
    if (atHand.size > bounds.kept_max) atHand.delete(atHand.keys().next().value!);
    return value;
  }

  async function lookUp(key: Key): Promise<Value> {
    const known = atHand.get(key);
    if (known !== undefined) return keep(key, known.value, known.readMs);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const beganMs = nowMs();
      const reading = read(key);
      const fresh = await reading.value;
      if (!reading.overtaken) return keep(key, fresh, beganMs);
    }
    throw new Error('The value changes faster than it can be read.');
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

    lookUp,

    refresh(key) {
      const known = atHand.get(key);
      if (known !== undefined && nowMs() - known.readMs >= REFRESH_AFTER_MS) atHand.delete(key);
      return lookUp(key);
    },

    forget,
    forgetAll(which) {
      for (const key of new Set([...atHand.keys(), ...readings.keys()])) if (which(key)) forget(key);
    },
  };
}
