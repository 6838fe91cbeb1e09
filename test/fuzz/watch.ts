/** Over this a call is too slow. */
export const SLOW_MS = Number(process.env.FUZZ_SLOW_MS ?? 10);

/** What came of a run. */
export class Watch {
  inputs = 0;
  slowestMs = 0;
  /** Calls over `SLOW_MS`. */
  slow = 0;
  readonly outcomes = new Map<string, number>();

  /**
   * Makes a call and times it: by the clock, or where that is less by what the processor has worked for this process. A
   * pause of the machine, which is not told apart by the clock, is no work of ours.
   */
  time<T>(call: () => T): T {
    const worked = process.cpuUsage();
    const startedMs = performance.now();
    const answer = call();
    let tookMs = performance.now() - startedMs;
    if (tookMs > this.slowestMs) {
      const { user, system } = process.cpuUsage(worked);
      tookMs = Math.min(tookMs, (user + system) / 1000);
      this.slowestMs = Math.max(this.slowestMs, tookMs);
      if (tookMs > SLOW_MS) this.slow += 1;
    }
    this.inputs += 1;
    return answer;
  }

  count(outcome: string | number, times = 1): void {
    const key = String(outcome);
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + times);
  }
}

/** Puts so many generated inputs in, or a few more. Throws, or rejects, with what the first bad one provokes. */
export type Target = (inputs: number, seed: number) => Watch | Promise<Watch>;
