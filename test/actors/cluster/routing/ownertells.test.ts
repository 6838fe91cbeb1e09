// Goal: messages without a reply reach their owners in order as soon as there are owners, within bounds of count and time.
import { describe, expect, it } from 'vitest';
import { OwnerTells, type Tell } from '../../../../actors/cluster/routing/ownertells.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';

const DEADLINE_MS = 1_000;

const tell = (key: string, method = 'm'): Tell => ({ kind: 'tell', method, key, args: [] });

function arrange({ waitingMax = 10, retryMs = { first: 100, most: 400 } } = {}) {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const owned = new Set<string>();
  const sent: string[] = [];
  const attempts: number[] = [];
  const faults: unknown[] = [];
  const tells = new OwnerTells({
    ...{ clock, wheel: new TimerWheel(clock, 1), scope, deadlineMs: DEADLINE_MS, waitingMax, retryMs },
    send({ key }, here) {
      attempts.push(clock.monotonic());
      if (!owned.has(key)) return false;
      sent.push(key);
      here();
      return true;
    },
    onFault: (where, fault) => faults.push([where, (fault as Error).message]),
  });
  const here: string[] = [];
  const send = (key: string, method?: string) => tells.send(tell(key, method), () => here.push(key));
  return { clock, scope, owned, sent, here, attempts, faults, tells, send };
}

describe('a message to an owner', () => {
  it('is sent at once when its key has an owner', () => {
    const { owned, sent, here, tells, send } = arrange();
    owned.add('a');
    send('a');
    expect([sent, here, tells.held, tells.lost]).toEqual([['a'], ['a'], 0, 0]);
  });

  it('is sent when its key gets an owner, in the order of the messages', () => {
    const { owned, sent, tells, send } = arrange();
    for (const key of ['a', 'b', 'a']) send(key);
    expect([sent, tells.held]).toEqual([[], 3]);
    owned.add('a');
    tells.retry();
    expect([sent.splice(0), tells.held]).toEqual([['a', 'a'], 1]);
    // A later message for the same key does not overtake the held one.
    owned.add('b');
    send('b');
    expect([sent, tells.held, tells.lost]).toEqual([['b', 'b'], 0, 0]);
  });

  it('is tried again after the shortest delay near its deadline, and otherwise after the longest', () => {
    for (const [deadlines, first, most] of [
      [[0, 400, 800, 1_000], 100, 400],
      [[0, 600, 1_200], 600, 700],
    ] as const) {
      const { clock, attempts, faults, send } = arrange({
        retryMs: { first, most: most === 700 ? 600 : most },
      });
      send('a');
      clock.advance(5_000);
      expect(attempts).toEqual(deadlines);
      expect(faults).toHaveLength(1);
    }
  });

  it('is dropped and reported at its deadline', () => {
    const { clock, owned, sent, faults, tells, send } = arrange();
    send('a', 'guilds.tell');
    clock.standStill(DEADLINE_MS - 1);
    tells.retry();
    expect([tells.held, tells.lost]).toEqual([1, 0]);
    clock.standStill(1);
    tells.retry();
    expect([tells.held, tells.lost]).toEqual([0, 1]);
    expect(faults).toEqual([['guilds.tell', 'No owner was found in time for guilds.tell.']]);
    owned.add('a');
    tells.retry();
    expect(sent).toEqual([]);
  });

  it('is sent at its deadline when its key has an owner by then', () => {
    const { clock, owned, sent, tells, send } = arrange();
    send('a');
    owned.add('a');
    clock.standStill(DEADLINE_MS * 2);
    tells.retry();
    expect([sent, tells.lost]).toEqual([['a'], 0]);
  });

  it('is dropped and reported when too many wait', () => {
    const { owned, faults, tells, send } = arrange({ waitingMax: 2 });
    for (const key of ['a', 'b', 'c']) send(key);
    expect([tells.held, tells.lost, faults.length]).toEqual([2, 1, 1]);
    owned.add('c');
    send('c');
    expect(tells.lost).toBe(1);
  });

  it('is tried again by itself as long as one waits, and sets one timer', () => {
    const { clock, owned, sent, send } = arrange();
    send('a');
    send('b');
    expect(clock.timers).toBe(1);
    owned.add('a');
    clock.advance(400);
    expect(sent).toEqual(['a']);
    owned.add('b');
    clock.advance(400);
    expect([sent, clock.timers]).toEqual([['a', 'b'], 0]);
  });
});

describe('the end of a shard', () => {
  it('drops the messages that wait, and those that are sent later without an owner', async () => {
    const { clock, scope, attempts, tells, send } = arrange();
    send('a');
    send('b');
    await scope.close();
    const tried = attempts.length;
    expect([tells.held, tells.lost]).toEqual([0, 2]);
    clock.advance(5_000);
    expect(attempts).toHaveLength(tried);
    send('c');
    expect([tells.held, tells.lost]).toEqual([0, 3]);
  });
});
