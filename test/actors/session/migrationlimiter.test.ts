// Goal: sessions come over a few at a time and in order, and one that is stuck does not hold up those behind it.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { MigrationLimiter } from '../../../actors/session/migrationlimiter.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { settled } from './harness.ts';

function arrange(atOnceMax: number, waitingMax: number) {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const passage = new MigrationLimiter({ atOnceMax, waitingMax, holdMs: 250, wheel });
  const begun: string[] = [];
  const ends = new Map<string, { come(): void; fail(): void }>();
  const outcomes: string[] = [];
  const enter = (name: string): void => {
    const job = () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, { come: () => resolve(name), fail: () => reject(new Error(`not ${name}`)) });
      });
    };
    passage.run(job).then(
      (value) => outcomes.push(value),
      (fault) => outcomes.push(fault instanceof NotServed ? `${name} refused` : fault.message),
    );
  };
  const end = async (name: string, how: 'come' | 'fail' = 'come'): Promise<void> => {
    ends.get(name)?.[how]();
    await settled();
  };
  return { clock, wheel, passage, begun, outcomes, enter, end };
}

describe('the limiter of session migrations', () => {
  it('runs a bounded number at once, the others in order as one succeeds or fails', async () => {
    const { passage, wheel, begun, outcomes, enter, end } = arrange(2, 10);
    for (const name of ['a', 'b', 'c', 'd']) enter(name);
    await settled();
    expect([begun, passage.waiting]).toEqual([['a', 'b'], 2]);
    await end('b', 'fail');
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c', 'd']) await end(name);
    expect(outcomes).toEqual(['not b', 'a', 'c', 'd']);
    expect(wheel.size).toBe(0);
  });

  it('does not wait for a slow migration, which continues', async () => {
    const { clock, begun, outcomes, enter, end } = arrange(1, 10);
    for (const name of ['stuck', 'b', 'c']) enter(name);
    await settled();
    clock.advance(400);
    await settled();
    expect(begun).toEqual(['stuck', 'b']);
    await end('b');
    await end('c');
    await end('stuck');
    expect(outcomes).toEqual(['b', 'c', 'stuck']);
  });

  it('rejects migrations beyond its queue', async () => {
    const { passage, outcomes, enter, end } = arrange(1, 1);
    for (const name of ['a', 'b', 'c']) enter(name);
    await settled();
    expect([outcomes, passage.waiting]).toEqual([['c refused'], 1]);
    await end('a');
    enter('d');
    for (const name of ['b', 'd']) await end(name);
    expect(outcomes).toEqual(['c refused', 'a', 'b', 'd']);
  });
});
