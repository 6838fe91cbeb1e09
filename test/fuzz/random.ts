/** A small seeded generator (mulberry32): a run is repeated by its seed alone. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(max: number): number {
    return Math.floor(this.next() * max);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** At most so many. */
  bytes(max: number): Buffer {
    const bytes = Buffer.alloc(this.below(max + 1));
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.below(256);
    return bytes;
  }

  /** A copy with up to three bytes changed, and sometimes cut. */
  mangled(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    for (let flips = this.below(4); flips > 0 && copy.length > 0; flips -= 1)
      copy[this.below(copy.length)] = this.below(256);
    return this.next() < 0.3 ? copy.subarray(0, this.below(copy.length + 1)) : copy;
  }
}
