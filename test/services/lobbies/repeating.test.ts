// Goal: a failed call about a lobby is repeated until it succeeds: with longer and longer pauses, but at once after it has waited.
import { expect, it } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { createRepeating } from '../../../services/lobbies/repeating.ts';

function arrange(tookMs: readonly number[]) {
  const clock = new VirtualClock();
  const startsMs: number[] = [];
  const { repeat } = createRepeating({
    ...{ clock, wheel: new TimerWheel(clock, 1), scope: new Lifetime(clock) },
    onFault: () => undefined,
  });
  repeat('50', async () => {
    const takesMs = tookMs[startsMs.length];
    startsMs.push(clock.monotonic());
    if (takesMs === undefined) return;
    if (takesMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, takesMs));
    throw new Error('The database is gone.');
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

it('pauses twice as long after each call that failed soon', async () => {
  const { startsMs, pass } = arrange([0, 0, 0]);
  await pass(10_000);
  expect(startsMs.map((ms) => ms - (startsMs[0] ?? 0))).toEqual([0, 500, 1_500, 3_500]);
});

it('does not pause after a call that failed after it waited for the database', async () => {
  const { startsMs, pass } = arrange([5_000, 5_000, 1_000]);
  await pass(20_000);
  expect(startsMs.map((ms) => ms - (startsMs[0] ?? 0))).toEqual([0, 5_000, 10_000, 11_500]);
});
