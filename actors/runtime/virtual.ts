import type { Clock, Timer } from './clock.ts';

/** Deferred work of one `settle`; more than that never ends. */
const DEFERRED_MAX = 100_000;

/** A clock that moves only by `advance`. Deferred work runs at the next `settle` or `advance`. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #order = 0;
  #timers: { atMs: number; order: number; run: () => void }[] = [];
  #deferred: (() => void)[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  /** Number of timers that have neither run nor been cancelled. */
  get timers(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  setTimer(run: () => void, delayMs: number): Timer {
    const timer = { atMs: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  defer(run: () => void): void {
    this.#deferred.push(run);
  }

  /** Runs deferred work until none is left. */
  settle(): void {
    let left = DEFERRED_MAX;
    for (let run = this.#deferred.shift(); run; run = this.#deferred.shift()) {
      if (left-- === 0) throw new RangeError('Work defers itself without end.');
      run();
    }
  }

  /** Moves time without running anything, like a suspended process: timers due meanwhile run late. */
  standStill(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
  }

  /** Moves time and runs each timer when it is due, in order. */
  advance(ms: number): void {
    const untilMs = this.#monotonicMs + ms;
    this.settle();
    for (;;) {
      const [next] = this.#timers
        .filter((timer) => timer.atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#move(Math.max(next.atMs, this.#monotonicMs));
      next.run();
      this.settle();
    }
    this.#move(untilMs);
  }

  #move(monotonicMs: number): void {
    this.#nowMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}
