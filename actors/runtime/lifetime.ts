import type { Clock, Timer } from './clock.ts';

type End = () => void | Promise<void>;

/** What a lifetime that is over answers: it never runs. */
const NEVER: Timer = { cancel: () => undefined };
/** How long `close` waits for jobs that do not end: one that hangs must not keep a process from ending in good order. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * A scope for whatever goes on by itself: timers, watches, loops, listeners and promises that nobody awaits. It is handed
 * down like the clock, and is one: what is begun with it ends with it, and `close` resolves when all of that has ended.
 * After that nothing of it runs.
 *
 * Ends are called in reverse order, each when the one before it is done, so that what was opened first (a database) is
 * closed last. A child is one more end: it closes before what its parent owned before it.
 */
export class Lifetime implements Clock {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  readonly #ends: End[] = [];
  readonly #pauses = new Set<() => void>();
  readonly #running = new Set<Promise<unknown>>();
  /** What waits for the end of this tick. */
  #deferred = 0;
  /** `close` was called. */
  #isOver = false;
  /** All ends were called: no timer runs any more. */
  #isStill = false;
  #closing: Promise<void> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True from the moment its end begins: what takes several steps begins no further one. */
  get over(): boolean {
    return this.#isOver;
  }

  /** Timers that have neither run nor been cancelled, promises under way, and ends that wait to be called. */
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

  /** Resolves after `delayMs`, or when the lifetime ends: true while it goes on. For loops. */
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
   * Has `close` wait for a job that ends by itself, by one of the ends, or because a pause does. What it rejects with is
   * its caller's.
   */
  run<T>(job: Promise<T>): Promise<T> {
    this.#running.add(job);
    const done = (): void => void this.#running.delete(job);
    job.then(done, done);
    return job;
  }

  /**
   * What is opened in several steps, while it may close between two of them.
   *
   * @throws Error when it is open only after the end has begun: it is closed again then, as nobody else knows of it.
   */
  async opening<T extends { close(): void | Promise<void> }>(promise: Promise<T>): Promise<T> {
    const opened = await promise;
    if (this.#isOver) await opened.close();
    this.check();
    return opened;
  }

  /** Between two steps of something longer. @throws Error when the end has begun. */
  check(): void {
    if (this.#isOver) throw new Error('The lifetime has ended: nothing can be started in it.');
  }

  /** Has `end` called when it closes; at once when all ends were called already. */
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
   * Calls the ends in reverse order, cancels the timers and waits for the jobs. Whoever asks again gets the same promise.
   *
   * @throws what the first end that failed has thrown, the others being called all the same; or an Error when jobs do
   *   not end.
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
    // Timers go on meanwhile: an end may have to give up waiting for somebody.
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
    // What was deferred runs as nothing; it is let pass, so that nothing comes after the end.
    if (this.#deferred > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    if (failures.length > 0) throw failures[0];
  }

  /** False when there are jobs that do not end. */
  async #settled(): Promise<boolean> {
    if (this.#running.size === 0) return true;
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), CLOSE_TIMEOUT_MS);
    });
    const settled = async (): Promise<boolean> => {
      while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
      return true;
    };
    const isSettled = await Promise.race([settled(), patience]);
    clearTimeout(late);
    return isSettled;
  }
}
