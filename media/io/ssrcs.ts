const SPACE = 2 ** 32;

/**
 * Allocates consecutive SSRCs at a random place, so that an attacker cannot guess the next SSRC and send with it
 * before its owner does. 0 means "no stream" on the wire and is never allocated.
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

  /** Allocates `count` consecutive numbers. @returns the first. */
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
