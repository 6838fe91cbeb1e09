// Goal: expired messages of lobbies are swept while the server runs, and never after its close has begun.
import { expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { Sweep } from '../../../services/lobbies/sweep.ts';

test('sweeps after the start and hourly when woken, and ends with its scope although a sweep is under way', async () => {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const scope = new Lifetime(clock);
  const faults: unknown[] = [];
  const swept: ((fault: Error | null) => void)[] = [];
  const sweep = new Sweep({
    ...{ clock, wheel, scope, routing: { owns: () => true }, onFault: (error) => faults.push(error) },
    lobbies: {
      sweep: () =>
        new Promise((resolve, reject) => {
          swept.push((fault) => (fault ? reject(fault) : resolve({ after: null, lobbies: 0 } as never)));
        }),
    },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  sweep.start();
  clock.advance(1_000);
  swept[0]?.(null);
  await settle();
  sweep.wake();
  clock.advance(3_601_000);
  expect(swept).toHaveLength(2);
  await scope.close();
  swept[1]?.(new Error('The database is closed.'));
  await settle();
  sweep.wake();
  clock.advance(2 * 3_601_000);
  expect([swept.length, faults, wheel.size]).toEqual([2, [], 0]);
});
