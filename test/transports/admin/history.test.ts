// Goal: the console shows the last hour of the chosen metrics, and a server that has closed takes no further samples.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { keepHistory } from '../../../transports/admin/history.ts';

const EVERY_MS = 10_000;

test('a sample is taken every ten seconds, for an hour back, until the history closes', async () => {
  const clock = new VirtualClock();
  let readings = 0;
  const read = async () => {
    readings += 1;
    // A reading that fails leaves a gap.
    if (readings === 2) throw new Error('The metrics are not available.');
    return 'up 1\n';
  };
  const history = keepHistory({ read, clock });
  const pass = async (samples: number) => {
    for (let taken = 0; taken < samples; taken += 1) {
      clock.advance(EVERY_MS);
      await Promise.resolve();
      await Promise.resolve();
    }
  };
  await pass(2);
  expect([readings, history.samples().length]).toEqual([3, 2]);
  await pass(400);
  expect(history.samples().length).toBe(360);
  history.close();
  await pass(2);
  expect(readings).toBe(403);
});
