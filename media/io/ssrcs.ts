const SPACE = 2 ** 32;

/**
 * Allots SSRCs in runs, each run at a place of its own that chance picks: nobody can guess whose is next and speak in
 * its name before its owner does. 0 means "no stream" on the wire and is never allotted.
 */
export class SsrcPool {
  readonly #taken = new Set<number>();
  readonly #random: () => number;

  /** @param random A random unsigned 32-bit number. */
  constructor(random: () => number) {
    this.#random = random;
  }

  get size(): number {
    return this.#taken.size;
  }

  /** Takes `count` numbers in a row. */
  take(count: number): number {
    for (;;) {
      const first = this.#random();
      const isFree = first > 0 && first + count <= SPACE && this.#isFree(first, count);
      if (!isFree) continue;
      for (let offset = 0; offset < count; offset += 1) this.#taken.add(first + offset);
      return first;
    }
  }

  #isFree(first: number, count: number): boolean {
    for (let offset = 0; offset < count; offset += 1) if (this.#taken.has(first + offset)) return false;
    return true;
  }

  release(first: number, count: number): void {
    for (let offset = 0; offset < count; offset += 1) this.#taken.delete(first + offset);
  }
}
