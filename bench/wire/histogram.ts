import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';

const MICROS_MAX = 300e6;

/** A histogram of microseconds up to five minutes, with three significant digits. Longer values count as the longest. */
export class Latencies {
  readonly #histogram: Histogram;

  constructor() {
    this.#histogram = build({
      lowestDiscernibleValue: 1,
      highestTrackableValue: MICROS_MAX,
      numberOfSignificantValueDigits: 3,
    });
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  record(micros: number): void {
    this.#histogram.recordValue(Math.min(MICROS_MAX, Math.max(0, Math.round(micros))));
  }

  /** Adds an encoded histogram of another thread or process. */
  merge(encoded: string): void {
    const other = decodeFromCompressedBase64(encoded);
    this.#histogram.add(other);
    other.destroy();
  }

  /** Encodes it for `merge` of another histogram. */
  encode(): string {
    return encodeIntoCompressedBase64(this.#histogram);
  }

  /** @param percentile 0 to 100. */
  millisAt(percentile: number): number {
    return this.count === 0 ? 0 : this.#histogram.getValueAtPercentile(percentile) / 1000;
  }

  get meanMillis(): number {
    return this.count === 0 ? 0 : this.#histogram.mean / 1000;
  }

  get maxMillis(): number {
    return this.count === 0 ? 0 : this.#histogram.maxValue / 1000;
  }
}
