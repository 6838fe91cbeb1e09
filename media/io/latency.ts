/** Upper bounds of the buckets in microseconds; the last bucket is unbounded. */
export const LATENCY_BOUNDS_US = [25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 51_200] as const;

/** Histogram of the time that packets take through a lane. */
export class LatencyBuckets {
  readonly counts: number[] = [...LATENCY_BOUNDS_US.map(() => 0), 0];
  sumUs = 0;

  record(us: number): void {
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS_US.length && us > (LATENCY_BOUNDS_US[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumUs += us;
  }
}
