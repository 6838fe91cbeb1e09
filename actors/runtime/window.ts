/**
 * A bounded window on rows of the database, kept as a Map so that pure rules can read and write it.
 *
 * An entry may be dropped only when no commit that depends on it is under way: each `set` is stamped with the
 * number of the commit it will be part of, and `trim` drops entries whose stamp is settled. `pinned` entries stay.
 */
export class Window<K, V> extends Map<K, V> {
  /** Number of the commit that what is set now will be part of; 0 for what was read. Written by the owner. */
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
   * Drops the oldest entries until `max` are left, and none that is younger than one whose commit is under way: for a
   * window in which an entry says something of those that come after it.
   */
  trimInOrder(max: number, settledCommit: number): void {
    for (const key of this.keys()) {
      if (this.size <= max || (this.#stamps.get(key) ?? 0) > settledCommit) return;
      this.delete(key);
    }
  }

  /**
   * Drops the oldest entries until `max` unpinned ones are left. Looks at no more than 64 beyond what it drops,
   * so a call is cheap however many are pinned; those it meets go to the young end.
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
