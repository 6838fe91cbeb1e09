/** The messages of the run that one connection has seen, and their order. Bounded by the run's number of messages. */
export class Tally {
  duplicated = 0;
  /** Checksum that is equal for connections with the same messages in the same order. */
  order = 0x811c9dc5;
  readonly #seen: Uint8Array;
  readonly #total: number;

  constructor(total: number) {
    this.#total = total;
    this.#seen = new Uint8Array(Math.ceil(total / 8));
  }

  /** Records a message. @returns false for a message of another run, or a duplicate. */
  see(index: number): boolean {
    if (index < 0 || index >= this.#total) return false;
    const bit = 1 << (index & 7);
    const byte = this.#seen[index >> 3] ?? 0;
    if ((byte & bit) !== 0) {
      this.duplicated += 1;
      return false;
    }
    this.#seen[index >> 3] = byte | bit;
    this.order = Math.imul(this.order ^ index, 0x01000193) >>> 0;
    return true;
  }

  has(index: number): boolean {
    return ((this.#seen[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }
}

/** Number of checksums that differ from the most frequent one. */
export function dissenters(orders: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const order of orders) counts.set(order, (counts.get(order) ?? 0) + 1);
  return orders.length - Math.max(0, ...counts.values());
}
