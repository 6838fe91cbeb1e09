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
  trim(max: number, settledCommit: number, pinnedCount: number, pinned: (key: K) => boolean): void {
    let excess = this.size - pinnedCount - max;
    let patience = 64;
    if (excess <= 0) return;
    for (const [key, value] of this) {
      if (excess <= 0 || patience <= 0) return;
      if ((this.#stamps.get(key) ?? 0) <= settledCommit && !pinned(key)) {
        this.delete(key);
        excess -= 1;
        continue;
      }
      patience -= 1;
      const stamp = this.#stamps.get(key) ?? 0;
      this.delete(key);
      super.set(key, value);
      this.#stamps.set(key, stamp);
    }
  }
}
