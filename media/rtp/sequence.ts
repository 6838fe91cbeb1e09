/** How far `to` is ahead of `from` on the circle of 16-bit numbers: -32768 to 32767. */
export const sequenceDelta = (from: number, to: number): number => ((to - from) << 16) >> 16;

/** Beyond such a jump the sender has most likely started anew. */
const DROPOUT_MAX = 3000;

/**
 * Reception of one stream: what was lost, and how unevenly the rest came.
 *
 * @source RFC 3550, A.1, A.3 and A.8
 */
export class Reception {
  readonly #clockHz: number;
  #first = -1;
  #highest = 0;
  #cycles = 0;
  #expectedBefore = 0;
  #received = 0;
  #transit = 0;
  #jitter = 0;

  constructor(clockHz: number) {
    this.#clockHz = clockHz;
  }

  /** @param nowMs when the packet arrived; fractions count */
  received(sequence: number, timestamp: number, nowMs: number): void {
    this.#received += 1;
    // The difference of two transit times stays small though both clocks wrap: it is taken on the circle of 32 bits.
    const transit = (Math.round((nowMs * this.#clockHz) / 1000) - timestamp) | 0;
    const delta = sequenceDelta(this.#highest, sequence);
    if (this.#first < 0 || Math.abs(delta) > DROPOUT_MAX) {
      this.#expectedBefore = this.expected;
      this.#first = sequence;
      this.#highest = sequence;
      this.#cycles = 0;
    } else {
      if (delta > 0) {
        if (sequence < this.#highest) this.#cycles += 0x1_0000;
        this.#highest = sequence;
      }
      this.#jitter += (Math.abs((transit - this.#transit) | 0) - this.#jitter) / 16;
    }
    this.#transit = transit;
  }

  get expected(): number {
    if (this.#first < 0) return 0;
    return this.#expectedBefore + this.#cycles + this.#highest - this.#first + 1;
  }

  get count(): number {
    return this.#received;
  }

  get jitterMs(): number {
    return (this.#jitter * 1000) / this.#clockHz;
  }
}
