/** How far the 16-bit number `to` is ahead of `from`, modulo 2^16: -32768 to 32767. */
export const sequenceDelta = (from: number, to: number): number => ((to - from) << 16) >> 16;

/** After a larger jump the sender has most likely restarted its sequence. */
const DROPOUT_MAX = 3000;

/**
 * Reception statistics of one stream: packet loss and jitter.
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

  /** @param nowMs arrival time in milliseconds, with fractions */
  received(sequence: number, timestamp: number, nowMs: number): void {
    this.#received += 1;
    // The difference of two transit times is taken modulo 2^32, so it stays small although both clocks wrap.
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
