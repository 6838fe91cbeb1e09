// Goal: ids ascend above those in the database even when the clock lags, and a large lag is reported.
import { expect, test } from 'vitest';
import { clockBehind, raisedByStores, snowflakeSource } from '../../../actors/runtime/snowflakes.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';

test('a raise above the clock is followed, and reported once when the lag is more than five seconds', () => {
  const clock = new VirtualClock();
  const worker = { number: 3 };
  const ids = snowflakeSource(clock, worker);
  const behind: number[] = [];
  const source = raisedByStores(ids, clock, worker, (ms) => behind.push(ms));
  const nowMs = clock.now();
  source.raise(nowMs + 5_000);
  expect(behind).toEqual([]);
  source.raise(nowMs + 5_001);
  source.raise(nowMs + 5_001);
  expect(behind).toEqual([5_001]);
  ids();
  expect([source.lastMs(), source.worker()]).toEqual([nowMs + 5_002, 3]);
});

test('the report of a lag names it in whole seconds and says what to do', () => {
  expect(clockBehind(5_001)).toBe(
    'The clock is 6 s behind the newest ids. New ids continue after them, so ids and their times run ahead of the ' +
      'clock until it has caught up. Correct the clock.',
  );
});
