/** Over this a call is too slow. */
export const SLOW_MS = Number(process.env.FUZZ_SLOW_MS ?? 10);
/** And over this one that cannot be made again: a collection of garbage may have fallen into it. */
export const SLOW_ONCE_MS = 5 * SLOW_MS;
const REPETITIONS = 5;

/** Statistics of a run. */
export class Watch {
  inputs = 0;
  slowestMs = 0;
  /** Calls that were too slow. */
  slow = 0;
  readonly outcomes = new Map<string, number>();
  /** Whether a call is being repeated for its time; its result was counted before. */
  #isAgain = false;

  /** Makes a call and times it. */
  time<T>(call: () => T): T {
    const [answer, tookMs] = timed(call, this.slowestMs);
    this.#note(tookMs, SLOW_ONCE_MS);
    return answer;
  }

  /** As `time`, for a call that leaves nothing behind: a slow one is made again to see whether it was the call. */
  timeAgain<T>(call: () => T): T {
    let [answer, tookMs] = timed(call, this.slowestMs);
    this.#isAgain = true;
    for (let left = REPETITIONS; left > 0 && tookMs > SLOW_MS; left -= 1)
      tookMs = Math.min(tookMs, timed(call, 0)[1]);
    this.#isAgain = false;
    this.#note(tookMs, SLOW_MS);
    return answer;
  }

  count(outcome: string | number, times = 1): void {
    if (this.#isAgain) return;
    const key = String(outcome);
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + times);
  }

  #note(tookMs: number, boundMs: number): void {
    this.inputs += 1;
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    if (tookMs > boundMs) this.slow += 1;
  }
}

/**
 * By the clock, or where that is more than `knownMs`, by what the processor has worked for this process if that is less:
 * a pause of the machine is no work of ours.
 */
function timed<T>(call: () => T, knownMs: number): [answer: T, tookMs: number] {
  const worked = process.cpuUsage();
  const startedMs = performance.now();
  const answer = call();
  const tookMs = performance.now() - startedMs;
  if (tookMs <= knownMs) return [answer, tookMs];
  const { user, system } = process.cpuUsage(worked);
  return [answer, Math.min(tookMs, (user + system) / 1000)];
}

/** Puts so many generated inputs in, or a few more. Throws, or rejects, with what the first bad one provokes. */
export type Target = (inputs: number, seed: number) => Watch | Promise<Watch>;
