// Goal: calls to an owner are repeated as soon as ownership changes, at growing delays otherwise, and end in time.
import { describe, expect, it } from 'vitest';
import { OwnerRetries } from '../../../../actors/cluster/routing/ownerretries.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { LinkFault, NotServed } from '../../../../protocol/faults.ts';

function arrange({ waitingMax = 10 } = {}) {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const ends: unknown[] = [];
  const retries = new OwnerRetries({
    ...{ clock, wheel: new TimerWheel(clock, 1), scope, random: () => 0.5, waitingMax },
    retryMs: { first: 100, most: 400 },
    refusal(message, kind, last) {
      ends.push([kind, last]);
      return new NotServed(message);
    },
  });
  const pass = async (ms = 0) => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    clock.advance(ms);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  const attempts: number[] = [];
  const noOwner = async () => {
    attempts.push(clock.monotonic());
    return { fault: null };
  };
  return { clock, retries, scope, ends, pass, attempts, noOwner };
}

describe('calls to an owner', () => {
  it('are repeated after 100, 200, 400 and 400 ms, until their deadline', async () => {
    const { retries, pass, attempts, noOwner, ends } = arrange();
    const call = expect(retries.run(1_500, noOwner)).rejects.toBeInstanceOf(NotServed);
    await pass();
    for (let ms = 0; ms < 1_600; ms += 10) await pass(10);
    await call;
    expect(attempts.map((ms) => Math.round(ms / 50) * 50)).toEqual([0, 100, 300, 700, 1100, 1500]);
    expect(ends).toEqual([['timeout', null]]);
  });

  it('are repeated at the next change of ownership, and immediately if ownership changed during the attempt', async () => {
    const { retries, pass, attempts, noOwner } = arrange();
    let isOwned = false;
    const call = retries.run(60_000, async () => {
      if (attempts.length === 0) retries.changed();
      return isOwned ? { value: 'done' } : noOwner();
    });
    await pass();
    expect([attempts.length, retries.waiting]).toEqual([2, 1]);
    isOwned = true;
    retries.changed();
    expect(await call).toBe('done');
    expect(retries.waiting).toBe(0);
  });

  it('keep the fault that leaves their outcome unknown', async () => {
    const { retries, pass, ends } = arrange();
    const faults = [
      new LinkFault('unreachable', 'Gone.'),
      new LinkFault('lost', 'Broken.'),
      new NotServed('No.'),
    ];
    const [, lost] = faults;
    const call = expect(
      retries.run(2_000, async () => ({ fault: faults.shift() ?? null })),
    ).rejects.toBeInstanceOf(NotServed);
    for (let ms = 0; ms < 2_500; ms += 50) await pass(50);
    await call;
    expect(ends).toEqual([['timeout', lost]]);
  });

  it('end at once with what an attempt throws, when too many wait, and when the shard has ended', async () => {
    const { retries, scope, pass, noOwner, ends } = arrange({ waitingMax: 1 });
    await expect(retries.run(1_000, () => Promise.reject(new Error('A bug.')))).rejects.toThrow('A bug.');
    const waiting = expect(retries.run(1_000, noOwner)).rejects.toThrow('This shard has ended.');
    await pass();
    await expect(retries.run(1_000, noOwner)).rejects.toThrow('Too many calls wait for their owner.');
    await scope.close();
    await waiting;
    expect(ends.map((end) => (end as [string])[0])).toEqual(['overloaded', 'unreachable']);
  });
});
