import {
  type Failures,
  failed,
  isForgotten,
  type LockoutPolicy,
  waitMs,
} from '../../engine/account/lockout.ts';

/** Keys remembered at most; beyond it those go whose last failure is oldest. */
const KEYS_MAX = 100_000;

/** How an attempt begins. */
export interface AttemptStart {
  /** Milliseconds; 0: it may go on. */
  readonly waitMs: number;
  /** Whether this is the first attempt that hears of this wait. */
  readonly first: boolean;
  /** Whether its failure is one of those that cost nothing. */
  readonly free: boolean;
  readonly counted: boolean;
}

/**
 * Failures by key, in memory: a restart forgives. An attempt counts as failed before its password is hashed, so that a
 * thousand at the same time are a thousand failures, and is taken back when it was right.
 */
export class AttemptLimiter {
  /** Oldest last failure first. */
  readonly #failures = new Map<string, Failures & { readonly reported?: true }>();
  readonly #policy: LockoutPolicy;

  constructor(policy: LockoutPolicy) {
    this.#policy = policy;
  }

  /** Milliseconds until the key is listened to again. `nowMs` is monotonic. */
  waitMs(key: string, nowMs: number): number {
    return waitMs(this.#failures.get(key), this.#policy, nowMs);
  }

  /**
   * Begins an attempt, which counts as failed from now on; when it must wait it counts for nothing. With `counts` false
   * it counts only where the free failures are used up.
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

  /** One attempt was no failure after all. */
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
