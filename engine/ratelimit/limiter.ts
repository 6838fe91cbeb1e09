import { WindowTable } from './table.ts';
import type { Rule } from './window.ts';

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

/**
 * The limits of the REST interface: a window per (group, principal, major parameter), and one for all calls of a
 * principal. A call refused by one of the two limits does not count in the other.
 */
export function createLimiter(settings: LimiterSettings): (attempt: Attempt, nowMs: number) => Verdict {
  const buckets = new WindowTable(settings.entriesMax);
  const globals = new WindowTable(settings.entriesMax);
  return ({ principal, group, major, rule, globalExempt }, nowMs) => {
    const spent = globalExempt ? undefined : globals.peek(principal, nowMs);
    if (spent && spent.used >= settings.global.limit)
      return {
        allowed: false,
        limit: settings.global.limit,
        remaining: 0,
        resetMs: spent.endMs - nowMs,
        scope: 'global',
      };
    // Ids, addresses and groups have no line feed, so keys cannot collide.
    const taken = buckets.take(`${group}\n${principal}\n${major}`, rule, nowMs);
    if (taken.allowed && !globalExempt) globals.take(principal, settings.global, nowMs);
    const { allowed, remaining, resetMs } = taken;
    return { allowed, limit: rule.limit, remaining, resetMs, scope: 'user' };
  };
}
