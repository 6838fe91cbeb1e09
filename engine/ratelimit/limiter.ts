import { WindowTable } from './table.ts';
import type { Rule } from './window.ts';

/** One call as the limiter sees it. */
export interface Attempt {
  /** Whose budget: a user or bot id, or an address for the unauthenticated. */
  readonly principal: string;
  /** Operations of one group share a bucket. */
  readonly group: string;
  /** Value of the major path parameter; empty when the bucket has none. */
  readonly major: string;
  readonly rule: Rule;
  /** True for operations that do not count against the global limit. */
  readonly globalExempt: boolean;
}

/** What the limiter says; the transport puts it into headers. Times are milliseconds from now. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  /** Which limit refused; `user` also stands for an allowed call. */
  readonly scope: 'user' | 'global';
}

interface LimiterSettings {
  /** Calls a principal may make across all buckets. */
  readonly global: Rule;
  /** Windows kept at most. */
  readonly entriesMax: number;
}

/**
 * The limits of the REST interface: a window per (group, principal, major parameter), and one for everything a
 * principal does. A call the global limit refuses does not count in its bucket, nor the other way round.
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
    // A line feed cannot stand in an id, an address or a group, so no two keys can be confused.
    const taken = buckets.take(`${group}\n${principal}\n${major}`, rule, nowMs);
    if (taken.allowed && !globalExempt) globals.take(principal, settings.global, nowMs);
    const { allowed, remaining, resetMs } = taken;
    return { allowed, limit: rule.limit, remaining, resetMs, scope: 'user' };
  };
}
