import { dropOldest } from '../protocol/oldest.ts';

interface ReadCache<Key, Value> {
  /** @param isGood A remembered value for which this is false is read again. */
  read(key: Key, isGood?: (value: Value) => boolean): Promise<Value>;
  /** A value that may be used without reading; undefined when it has to be read. */
  peek(key: Key): Value | undefined;
  /** Forgets the values whose keys begin with this. */
  forget(first: string): void;
}

interface RecentBounds {
  /** How long a value may be used after it was read. */
  readonly freshMs: number;
  readonly keptMax: number;
}

interface CachedRead<Value> {
  readonly value: Promise<Value>;
  readonly atMs: number;
  /** The value, once it has been read. */
  known?: Value;
}

const BOUNDS: RecentBounds = { freshMs: 1_000, keptMax: 1_000 };

/** Caches reads for a short time: under load a value is read once in `freshMs`, and a change counts within that time. */
export function createReadCache<Key extends readonly string[], Value>(
  read: (...key: Key) => Promise<Value>,
  nowMs: () => number,
  { freshMs, keptMax } = BOUNDS,
): ReadCache<Key, Value> {
  const kept = new Map<string, CachedRead<Value>>();
  async function cachedRead(key: Key, isGood?: (value: Value) => boolean): Promise<Value> {
    const name = key.join(' ');
    const known = kept.get(name);
    if (known && nowMs() - known.atMs < freshMs) {
      const value = await known.value;
      if (!isGood || isGood(value)) return value;
    }
    const value = read(...key);
    kept.delete(name);
    const entry: CachedRead<Value> = { value, atMs: nowMs() };
    kept.set(name, entry);
    dropOldest(kept, keptMax);
    value.then(
      (known) => {
        entry.known = known;
      },
      () => kept.delete(name),
    );
    return value;
  }
  return {
    read: cachedRead,
    peek(key) {
      const known = kept.get(key.length === 1 ? (key[0] ?? '') : key.join(' '));
      return known && nowMs() - known.atMs < freshMs ? known.known : undefined;
    },
    forget(first) {
      for (const name of kept.keys()) if (`${name} `.startsWith(`${first} `)) kept.delete(name);
    },
  };
}
