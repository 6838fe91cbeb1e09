/**
 * Bounds a map or set whose entries are in order of use: deletes entries from the front until `max` are left. Cost: O(deleted).
 */
export function dropOldest<Key>(
  kept: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean },
  max: number,
): void {
  if (kept.size <= max) return;
  for (const key of kept.keys()) {
    kept.delete(key);
    if (kept.size <= max) return;
  }
}
