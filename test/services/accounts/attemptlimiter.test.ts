// Goal: attempts are delayed and counted per key as their policy says.
import { expect, test } from 'vitest';
import { AttemptLimiter } from '../../../services/accounts/attemptlimiter.ts';

const POLICY = { free: 2, firstWaitMs: 1_000, waitMaxMs: 60_000, memoryMs: 100_000 };

test('an attempt that would not count is counted once the free failures of its key are used up', () => {
  const limiter = new AttemptLimiter(POLICY);
  const begin = (nowMs: number) => limiter.begin('anna', nowMs, false);
  expect([begin(0).counted, limiter.size]).toEqual([false, 0]);
  for (let failure = 0; failure < POLICY.free; failure += 1) limiter.count('anna', 0);
  expect(begin(0)).toMatchObject({ waitMs: 1_000, counted: false });
  expect(begin(1_000)).toMatchObject({ waitMs: 0, counted: true });
  expect(limiter.waitMs('anna', 1_000)).toBe(2_000);
});
