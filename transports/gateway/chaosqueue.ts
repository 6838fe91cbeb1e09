/** Most frames that wait; beyond it they are sent at once. */
const WAITING_MAX = 10_000;

interface Waiting {
  readonly run: () => void;
  readonly dueMs: number;
}

export interface ChaosTimers {
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  setTimer(run: () => void, delayMs: number): { cancel(): void };
}

/** Delays frames and keeps their order: a frame never overtakes one that waits. */
export class ChaosQueue {
  readonly #timers: ChaosTimers;
  readonly #waiting: Waiting[] = [];
  #timer: { cancel(): void } | null = null;

  constructor(timers: ChaosTimers) {
    this.#timers = timers;
  }

  /** Runs now when nothing waits and `delayMs` is 0; else after the delay, behind those that wait. */
  push(run: () => void, delayMs: number): void {
    if (delayMs === 0 && this.#waiting.length === 0) {
      run();
      return;
    }
    this.#waiting.push({ run, dueMs: this.#timers.nowMs() + delayMs });
    if (this.#waiting.length > WAITING_MAX) this.#release(Number.POSITIVE_INFINITY);
    else this.#arm();
  }

  clear(): void {
    this.#waiting.length = 0;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #arm(): void {
    const [head] = this.#waiting;
    if (this.#timer !== null || head === undefined) return;
    this.#timer = this.#timers.setTimer(
      () => {
        this.#timer = null;
        this.#release(this.#timers.nowMs());
        this.#arm();
      },
      Math.max(0, head.dueMs - this.#timers.nowMs()),
    );
  }

  #release(nowMs: number): void {
    while (this.#waiting[0] !== undefined && this.#waiting[0].dueMs <= nowMs) this.#waiting.shift()?.run();
  }
}
