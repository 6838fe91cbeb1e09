import {
  type Failures,
  failed,
  isForgotten,
  type LockoutPolicy,
  waitMs,
} from '../../engine/account/lockout.ts';

/** Most keys kept; beyond it the keys with the oldest last failure are evicted. */
const KEYS_MAX = 100_000;

/** The limiter's decision on a new attempt. */
export interface AttemptStart {
  /** Milliseconds to wait; 0 allows the attempt. */
  readonly waitMs: number;
  /** Whether this is the first attempt delayed by this wait. */
  readonly first: boolean;
  /** Whether the failure is within the number that cause no wait. */
  readonly free: boolean;
  readonly counted: boolean;
}

/**
 * Failed attempts by key, in memory only. An attempt counts as failed before its password is hashed and is taken back on
 * success, so a thousand concurrent attempts count as a thousand failures.
 */
export class AttemptLimiter {
  /** Oldest last failure first. */
  readonly #failures = new Map<string, Failures & { readonly reported?: true }>();
  readonly #policy: LockoutPolicy;

  constructor(policy: LockoutPolicy) {
    this.#policy = policy;
  }

  /** Milliseconds until the next attempt of the key is allowed. `nowMs` is monotonic. */
  waitMs(key: string, nowMs: number): number {
    return waitMs(this.#failures.get(key), this.#policy, nowMs);
  }

  /**
   * Begins an attempt and counts it as failed. An attempt that must wait is not counted. With `counts` false it counts
   * only after the free failures are used up.
   */
  begin(key: string, nowMs: number, counts: boolean): AttemptStart {
    const waitMs = this.waitMs(key, nowMs);
    const before = this.#failures.get(key);
    if (waitMs > 0) {
      const first = before !== undefined && before.reported !== true;
      if (first) this.#failures.set(key, { ...before, reported: true });
      return { waitMs, first, free: false, counted: false };
    }
    const counted = counts || (before !== undefined && before.count >= this.#policy.free);
    if (counted) this.count(key, nowMs);
    const { count = 0 } = this.#failures.get(key) ?? {};
    return { waitMs, first: false, free: count <= this.#policy.free, counted };
  }

  count(key: string, nowMs: number): void {
    const next = failed(this.#failures.get(key), this.#policy, nowMs);
    this.#failures.delete(key);
    this.#failures.set(key, next);
    for (const [oldest, failures] of this.#failures) {
      if (this.#failures.size <= KEYS_MAX && !isForgotten(failures, this.#policy, nowMs)) break;
      this.#failures.delete(oldest);
    }
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Subtracts one failure after an attempt succeeded. */
  takeBack(key: string): void {
    const failures = this.#failures.get(key);
    if (failures === undefined) return;
    if (failures.count <= 1) this.#failures.delete(key);
    else this.#failures.set(key, { ...failures, count: failures.count - 1 });
  }

  get size(): number {
    return this.#failures.size;
  }
}
