import { dropOldest } from '../../protocol/oldest.ts';

/** How long a value may be used after it was read, and how many are kept. */
const FRESH_MS = 1_000;
const KEPT_MAX = 1_000;

/** Reads through a short memory: a key is read at most once a second, and a change counts within a second. */
export function recently<Key extends string, Value>(
  read: (key: Key) => Promise<Value>,
  nowMs: () => number,
): (key: Key) => Promise<Value> {
  const kept = new Map<Key, { readonly value: Promise<Value>; readonly atMs: number }>();
  return (key) => {
    const known = kept.get(key);
    if (known && nowMs() - known.atMs < FRESH_MS) return known.value;
    const value = read(key);
    kept.delete(key);
    kept.set(key, { value, atMs: nowMs() });
    dropOldest(kept, KEPT_MAX);
    value.catch(() => kept.delete(key));
    return value;
  };
}
