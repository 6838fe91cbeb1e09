// Goal: a failed call about a lobby is repeated until it succeeds: with longer and longer pauses.
import { expect, it } from 'vitest';
import { Lifetime } from '../../actors/runtime/clock.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import { createRepeating } from '../../services/repeating.ts';

function arrange(failures: number) {
  const clock = new VirtualClock();
  const startsMs: number[] = [];
  const { repeat } = createRepeating({
    ...{ wheel: new TimerWheel(clock, 1), scope: new Lifetime(clock) },
    onFault: () => undefined,
  });
  repeat('50', async () => {
    startsMs.push(clock.monotonic());
    if (startsMs.length <= failures) throw new Error('The database is gone.');
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      await new Promise(setImmediate);
      clock.advance(100);
    }
    await new Promise(setImmediate);
  };
  return { startsMs, pass };
}

it('pauses twice as long after each call that failed', async () => {
  const { startsMs, pass } = arrange(3);
  await pass(10_000);
  expect(startsMs.map((ms) => ms - (startsMs[0] ?? 0))).toEqual([0, 500, 1_500, 3_500]);
});
