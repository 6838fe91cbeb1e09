/** Calls that a window of time admits. */
export interface Rule {
  readonly limit: number;
  readonly windowMs: number;
}

/** A started window. It starts with the first call, not at a fixed clock time, like the platform's windows. */
export interface Window {
  /** Monotonic milliseconds at which the window is over and forgotten. */
  readonly endMs: number;
  readonly used: number;
}

/** Result of one call on its window. */
export interface WindowResult {
  readonly allowed: boolean;
  readonly window: Window;
  /** Calls that the window still admits. */
  readonly remaining: number;
  /** Milliseconds until the window ends; above 0. */
  readonly resetMs: number;
}

/**
 * Counts one call against a fixed window. A refused call is not counted, so waiting `resetMs` always helps.
 *
 * @param window The window after the last call; undefined before the first.
 * @param nowMs Monotonic milliseconds.
 */
export function take(window: Window | undefined, rule: Rule, nowMs: number): WindowResult {
  const current = window && window.endMs > nowMs ? window : { endMs: nowMs + rule.windowMs, used: 0 };
  const allowed = current.used < rule.limit;
  const next = allowed ? { endMs: current.endMs, used: current.used + 1 } : current;
  return {
    allowed,
    window: next,
    remaining: Math.max(0, rule.limit - next.used),
    resetMs: next.endMs - nowMs,
  };
}
