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

/** Numbers of calls in the two windows of an attempt. */
export interface Calls {
  readonly bucket: number;
  readonly global: number;
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
  /** Counts calls that another shard has admitted. */
  add(attempt: Attempt, calls: Calls, nowMs: number): void;
  /**
   * The calls that the principal's owner does not know yet, without the last one; for a report to it. Null while neither window
   * is used beyond this share (0 to 1) of its limit.
   */
  report(attempt: Attempt, share: number, nowMs: number): Calls | null;
  /** Applies a verdict of the principal's owner. */
  learn(attempt: Attempt, verdict: Verdict, nowMs: number): void;
}

/**
 * The limits of the REST interface: a window per (group, principal, major parameter), and one for all calls of a
 * principal. A call refused by one of the two limits does not count in the other.
 */
export function createLimiter({ global, entriesMax }: LimiterSettings): Limiter {
  const buckets = new WindowTable(entriesMax);
  const globals = new WindowTable(entriesMax);
  const isWithin = (window: Window | undefined, { limit }: Rule, share: number): boolean =>
    window === undefined || window.used <= Math.floor(limit * share);
  return {
    take(attempt, nowMs) {
      const { principal, rule, globalExempt } = attempt;
      const spent = globalExempt ? undefined : globals.peek(principal, nowMs);
      if (spent && spent.used >= global.limit)
        return {
          ...{ allowed: false, limit: global.limit, remaining: 0 },
          ...{ resetMs: spent.endMs - nowMs, scope: 'global' },
        };
      const taken = buckets.take(keyOf(attempt), rule, nowMs);
      if (taken.allowed && !globalExempt) globals.take(principal, global, nowMs);
      const { allowed, remaining, resetMs } = taken;
      return { allowed, limit: rule.limit, remaining, resetMs, scope: 'user' };
    },
    add(attempt, calls, nowMs) {
      buckets.add(keyOf(attempt), attempt.rule, calls.bucket, nowMs);
      globals.add(attempt.principal, global, calls.global, nowMs);
    },
    report(attempt, share, nowMs) {
      const { principal, rule, globalExempt } = attempt;
      const key = keyOf(attempt);
      const isFree =
        isWithin(buckets.peek(key, nowMs), rule, share) &&
        (globalExempt || isWithin(globals.peek(principal, nowMs), global, share));
      if (isFree) return null;
      const bucket = Math.max(0, buckets.report(key) - 1);
      return { bucket, global: globalExempt ? 0 : Math.max(0, globals.report(principal) - 1) };
    },
    learn(attempt, { limit, remaining, resetMs, scope }, nowMs) {
      const window = { endMs: nowMs + resetMs, used: limit - remaining };
      if (scope === 'global') globals.learn(attempt.principal, global, window, nowMs);
      else buckets.learn(keyOf(attempt), attempt.rule, window, nowMs);
    },
  };
}

/** Ids, addresses and groups have no line feed, so keys cannot collide. */
const keyOf = ({ group, principal, major }: Attempt): string => `${group}\n${principal}\n${major}`;
