import { WindowTable } from './table.ts';
import type { Rule } from './window.ts';

/**
 * Calls answered 401, 403, 413 or 429 that an address may make.
 *
 * @source https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
export const INVALID_CALLS: Rule = { limit: 10_000, windowMs: 600_000 };

/** Watches addresses with many invalid calls. Answers of the `shared` scope must not be counted. */
export interface InvalidCalls {
  /** Milliseconds for which the address is still blocked; 0 when it is not. `nowMs` is monotonic. */
  blockedMs(address: string, nowMs: number): number;
  count(address: string, nowMs: number): void;
}

/** @param blocked Called each time an address reaches the limit, with the milliseconds of the block. */
export function watchInvalidCalls(
  entriesMax: number,
  rule: Rule = INVALID_CALLS,
  blocked: (address: string, forMs: number) => void = () => undefined,
): InvalidCalls {
  const table = new WindowTable(entriesMax);
  return {
    blockedMs(address, nowMs) {
      const window = table.peek(address, nowMs);
      return window && window.used >= rule.limit ? window.endMs - nowMs : 0;
    },
    count(address, nowMs) {
      const { allowed, window } = table.take(address, rule, nowMs);
      if (allowed && window.used === rule.limit) blocked(address, window.endMs - nowMs);
    },
  };
}
