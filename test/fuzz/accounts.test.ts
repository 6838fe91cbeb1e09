// Goal: the fuzzers of accounts run, and reach both the answers they are there to provoke and what lies behind them.
import { describe, expect, it } from 'vitest';
import { fuzzAuthorize, fuzzIdToken, fuzzPages, fuzzPresence } from './accounts.ts';
import type { Target } from './watch.ts';

const TARGETS: [string, Target, string[]][] = [
  ['authorize', fuzzAuthorize, ['request', 'refused', 'redirect', 'registered']],
  ['pages', fuzzPages, ['somewhere', 'nowhere', 'a cookie', 'no cookie', 'a token']],
  ['idtoken', fuzzIdToken, ['taken', '530001', '530002', '530003', '530020', 'discovered', 'no discovery']],
  ['presence', fuzzPresence, ['0 shown', '1 shown', 'hidden', 'fits', 'does not fit']],
];

describe('the fuzzer', () => {
  it.each(TARGETS)(
    'reaches every expected outcome of %s',
    async (_, target, expected) => {
      const { outcomes } = await target(10_000, 7);
      for (const outcome of expected) expect(outcomes.get(outcome), outcome).toBeGreaterThan(0);
    },
    30_000,
  );
});
