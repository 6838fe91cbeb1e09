// Goal: sessions begin at a bounded rate and in order, and no more wait than may.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { Admission } from '../../../actors/session/admission.ts';
import { arrange, FakeSink, identifyWith, settled } from './harness.ts';

function admit(perSec: number, waitingMax: number) {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const admission = new Admission({ ...{ perSec, waitingMax, wheel }, nowMs: () => clock.monotonic() });
  const turns: (number | string)[] = [];
  const ask = (name: number) =>
    void admission.turn().then((may) => turns.push(may ? name : `${name} refused`));
  return { clock, admission, turns, ask };
}

describe('admission', () => {
  it('admits one second’s number at once, and then that number a second, in order', async () => {
    const { clock, admission, turns, ask } = admit(10, 100);
    for (let name = 1; name <= 35; name += 1) ask(name);
    await settled();
    expect([turns.length, admission.waiting]).toEqual([10, 25]);
    for (let second = 1; second <= 2; second += 1) {
      clock.advance(1000);
      await settled();
      expect(Math.abs(turns.length - 10 * (second + 1))).toBeLessThanOrEqual(1);
    }
    clock.advance(1000);
    await settled();
    expect(turns).toEqual(Array.from({ length: 35 }, (_, index) => index + 1));
  });

  it('lets no newcomer overtake a session that waits', async () => {
    const { clock, turns, ask } = admit(200, 10);
    for (let name = 1; name <= 201; name += 1) ask(name);
    clock.advance(5);
    ask(202);
    await settled();
    expect(turns.at(-1)).toBe(200);
    clock.advance(1000);
    await settled();
    expect(turns.slice(-2)).toEqual([201, 202]);
  });

  it('rejects sessions beyond its queue', async () => {
    const { turns, ask } = admit(1, 2);
    for (const name of [1, 2, 3, 4]) ask(name);
    await settled();
    expect(turns.toSorted()).toEqual([1, '4 refused']);
  });

  it('sends op 9 to a client that does not fit into the queue', async () => {
    const clock = new VirtualClock();
    const wheel = new TimerWheel(clock);
    const admission = new Admission({
      ...{ perSec: 1, waitingMax: 0, wheel },
      nowMs: () => clock.monotonic(),
    });
    const { sessions } = arrange({}, { admission }, clock);
    const kinds = [];
    for (let count = 0; count < 2; count += 1)
      kinds.push((await sessions.identify(identifyWith(), new FakeSink())).kind);
    expect(kinds).toEqual(['open', 'invalid']);
  });
});
