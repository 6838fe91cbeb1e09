import { WindowTable } from './table.ts';
import type { Rule, Window } from './window.ts';

/** One call as the limiter sees it. */
export interface Attempt {
  /** Owner of the budget: a user or bot id, or an address for unauthenticated calls. */
  readonly principal: string;
  /** Operations of one group share a bucket. */
  readonly group: string;
  /** Value of the major path parameter; empty for a bucket without one. */
  readonly major: string;
  readonly rule: Rule;
  /** True for operations that do not count against the global limit. */
  readonly globalExempt: boolean;
}

/** Result of a check; the transport writes it into headers. Times are milliseconds from now. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  /** The limit that refused the call; `user` also for an allowed call. */
  readonly scope: 'user' | 'global';
}

interface LimiterSettings {
  /** Bound of a principal's calls across all buckets. */
  readonly global: Rule;
  /** Windows kept at most. */
  readonly entriesMax: number;
}

/** Counts of calls in memory. Times are monotonic milliseconds. */
export interface Limiter {
  /** Counts one call. */
  take(attempt: Attempt, nowMs: number): Verdict;
  /** The refusal of a call that would be refused now; null for one that may be admitted. Counts nothing. */
  refusal(attempt: Attempt, nowMs: number): Verdict | null;
  /** Applies a refusal by another limiter until its window ends. */
  refuse(attempt: Attempt, refusal: Verdict, nowMs: number): void;
}

/**
 * The limits of the REST interface: a window per (group, principal, major parameter), and one for all calls of a
 * principal. A call refused by one of the two limits does not count in the other.
 */
export function createLimiter({ global, entriesMax }: LimiterSettings): Limiter {
  const buckets = new WindowTable(entriesMax);
  const globals = new WindowTable(entriesMax);
  const spentGlobally = ({ principal, globalExempt }: Attempt, nowMs: number): Verdict | null =>
    globalExempt ? null : spent(globals.peek(principal, nowMs), global, 'global', nowMs);
  return {
    take(attempt, nowMs) {
      const { principal, rule, globalExempt } = attempt;
      const no = spentGlobally(attempt, nowMs);
      if (no) return no;
      const { allowed, remaining, resetMs } = buckets.take(keyOf(attempt), rule, nowMs);
      if (allowed && !globalExempt) globals.take(principal, global, nowMs);
      return { allowed, limit: rule.limit, remaining, resetMs, scope: 'user' };
    },
    refusal: (attempt, nowMs) =>
      spentGlobally(attempt, nowMs) ??
      spent(buckets.peek(keyOf(attempt), nowMs), attempt.rule, 'user', nowMs),
    refuse(attempt, { resetMs, scope }, nowMs) {
      const endMs = nowMs + resetMs;
      if (scope === 'global') globals.fill(attempt.principal, global, endMs, nowMs);
      else buckets.fill(keyOf(attempt), attempt.rule, endMs, nowMs);
    },
  };
}

const spent = (
  window: Window | undefined,
  { limit }: Rule,
  scope: Verdict['scope'],
  nowMs: number,
): Verdict | null =>
  window && window.used >= limit
    ? { allowed: false, limit, remaining: 0, resetMs: window.endMs - nowMs, scope }
    : null;

/** Ids, addresses and groups have no line feed, so keys cannot collide. */
const keyOf = ({ group, principal, major }: Attempt): string => `${group}\n${principal}\n${major}`;
