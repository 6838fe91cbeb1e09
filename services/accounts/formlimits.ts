import { WindowTable } from '../../engine/ratelimit/table.ts';

const MINUTE_MS = 60_000;
/** Forms of one address, and codes that one person tries for devices. */
const RULES = {
  form: { limit: 120, windowMs: MINUTE_MS },
  'device code': { limit: 20, windowMs: MINUTE_MS },
} as const;
const ENTRIES_MAX = 50_000;

/** Counts one use of `key`; milliseconds to wait when there were too many. */
export function formLimits(
  rateLimits: boolean,
  monotonic: () => number,
): (what: keyof typeof RULES, key: string) => number {
  const windows = new WindowTable(ENTRIES_MAX);
  return (what, key) => {
    if (what === 'form' && !rateLimits) return 0;
    const taken = windows.take(`${what}\n${key}`, RULES[what], monotonic());
    return taken.allowed ? 0 : taken.resetMs;
  };
}
