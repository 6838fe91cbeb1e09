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
