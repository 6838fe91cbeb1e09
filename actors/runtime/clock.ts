/** The time source of the engine. Tests pass a virtual clock. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds of a monotonic clock. */
  monotonic(): number;
  setTimer(run: () => void, delayMs: number): Timer;
  /** Runs after the work of the current tick: used to flush gathered writes. */
  defer(run: () => void): void;
}

export interface Timer {
  cancel(): void;
}

/** The system's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(run, delayMs) {
    const timeout = setTimeout(run, delayMs);
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
  defer: (run) => {
    setImmediate(run);
  },
};

/** The system's clock, whose time of day can be moved forward, so that a renewal due in a month can be tested today. */
interface MovableClock extends Clock {
  move(byMs: number): void;
}

/** Timers and monotonic time are not moved: a new date must not time out connections. */
export function movableClock(): MovableClock {
  let aheadMs = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    move(byMs) {
      aheadMs += byMs;
    },
  };
}

export const isMovable = (clock: Clock): clock is MovableClock => 'move' in clock;

type End = () => void | Promise<void>;

/** The timer returned after the end: it never runs. */
const NEVER: Timer = { cancel: () => undefined };
/** How long `close` waits for jobs that do not end, so that a hanging job cannot block a graceful shutdown. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * A scope for background work: timers, watches, loops, listeners and promises that no caller awaits. It is passed down
 * like the clock, and is one: everything begun with it ends with it, `close` resolves when all of it has ended, and
 * nothing of it runs after that.
 *
 * Ends are called in reverse order, each after the previous one has finished, so that a resource opened first (a
 * database) is closed last. A child is one more end: it closes before everything that its parent owned earlier.
 */
export class Lifetime implements Clock {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  readonly #ends: End[] = [];
  readonly #pauses = new Set<() => void>();
  readonly #running = new Set<Promise<unknown>>();
  /** Number of jobs deferred to the end of this tick. */
  #deferred = 0;
  /** `close` was called. */
  #isOver = false;
  /** All ends were called: no timer runs any more. */
  #isStill = false;
  #closing: Promise<void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True once `close` was called: an operation in several steps must not begin another step. */
  get over(): boolean {
    return this.#isOver;
  }

  /** Timers that have neither run nor been cancelled, promises under way, and ends that are still to be called. */
  get size(): number {
    return this.#timers.size + this.#running.size + this.#ends.length;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Runs once, `delayMs` from now, unless the lifetime ends before. */
  setTimer(run: () => void, delayMs: number): Timer {
    if (this.#isStill) return NEVER;
    const inner = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    const timer = {
      cancel: () => {
        this.#timers.delete(timer);
        inner.cancel();
      },
    };
    this.#timers.add(timer);
    return timer;
  }

  /** Runs after the work of this tick, unless the lifetime ends before. */
  defer(run: () => void): void {
    if (this.#isStill) return;
    this.#deferred += 1;
    this.#clock.defer(() => {
      this.#deferred -= 1;
      if (!this.#isStill) run();
    });
  }

  /** Resolves with true after `delayMs`, or with false when the lifetime ends. For loops. */
  pause(delayMs: number): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#pauses.delete(wake);
        resolve(!this.#isOver);
      };
      const timer = this.setTimer(wake, delayMs);
      this.#pauses.add(wake);
    });
  }

  /**
   * Makes `close` wait for a job that ends by itself, by one of the ends, or because its pause ends. The caller handles
   * rejections.
   */
  run<T>(job: Promise<T>): Promise<T> {
    this.#running.add(job);
    const done = (): void => void this.#running.delete(job);
    job.then(done, done);
    return job;
  }

  /**
   * Awaits a resource that takes several steps to open, during which the lifetime may end.
   *
   * @throws Error when the end began before the resource was open; the resource is then closed.
   */
  async opening<T extends { close(): void | Promise<void> }>(promise: Promise<T>): Promise<T> {
    const opened = await promise;
    if (this.#isOver) await opened.close();
    this.check();
    return opened;
  }

  /**
   * Awaits one step of a longer operation.
   *
   * @throws Error when the lifetime has ended meanwhile, instead of the step's result.
   */
  async during<T>(step: Promise<T>): Promise<T> {
    const result = await step;
    this.check();
    return result;
  }

  /**
   * Runs the steps that open what this lifetime owns.
   *
   * @throws the error of a step, after everything that was already open is closed.
   */
  async openAll<T>(open: () => Promise<T>): Promise<T> {
    try {
      return await open();
    } catch (error) {
      // The failed step says what is wrong; an end that fails as well is most likely its consequence.
      await this.close().catch(() => undefined);
      throw error;
    }
  }

  /** For use between two steps of a longer operation. @throws Error when the end has begun. */
  check(): void {
    if (this.#isOver) throw new Error('The lifetime is closed.');
  }

  /** Calls `end` on close, or at once when all ends were already called. */
  own(end: End): void {
    if (this.#isStill) void this.run(Promise.resolve().then(end));
    else this.#ends.push(end);
  }

  /** A scope within this one. It may close earlier. */
  child(): Lifetime {
    const child = new Lifetime(this.#clock);
    const end = () => child.close();
    this.own(end);
    child.#ends.unshift(() => this.#forget(end));
    return child;
  }

  /**
   * Calls the ends in reverse order, cancels the timers and waits for the jobs. Repeated calls return the same promise.
   *
   * @throws the error of the first end that failed, after all others were called; or an Error when jobs do not end.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #forget(end: End): void {
    const at = this.#ends.indexOf(end);
    if (at >= 0) this.#ends.splice(at, 1);
  }

  async #close(): Promise<void> {
    this.#isOver = true;
    for (const wake of [...this.#pauses]) wake();
    const failures: unknown[] = [];
    // Timers still run here: an end may need a timeout.
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#isStill = true;
    for (const timer of [...this.#timers]) timer.cancel();
    if (!(await this.#settled())) failures.push(new Error(`${this.#running.size} jobs did not end.`));
    // Deferred jobs do nothing now; this waits for their tick, so that nothing runs after the end.
    if (this.#deferred > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    if (failures.length > 0) throw failures[0];
  }

  /** False when some jobs do not end. */
  async #settled(): Promise<boolean> {
    if (this.#running.size === 0) return true;
    let late: NodeJS.Timeout | undefined;
    const closeTimeout = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), CLOSE_TIMEOUT_MS);
    });
    const settled = async (): Promise<boolean> => {
      while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
      return true;
    };
    const isSettled = await Promise.race([settled(), closeTimeout]);
    clearTimeout(late);
    return isSettled;
  }
}
