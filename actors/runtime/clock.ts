/** Time as the engine uses it. Tests hand in a virtual one. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number;
  setTimer(run: () => void, delayMs: number): Timer;
  /** Runs after the current tick's work: the flush of gathered writes. */
  defer(run: () => void): void;
}

export interface Timer {
  cancel(): void;
}

/** The machine's own time. Its timers do not keep a process alive. */
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
