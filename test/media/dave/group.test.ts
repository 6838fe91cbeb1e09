// Goal: for any order of joins and leaves, all members share one group, and only they decrypt its audio.
import { describe, expect, test, vi } from 'vitest';
import { DaveyCall, type DaveyClient, FRAME, seeded, user } from './daveycall.ts';
import { expectWhole } from './wholeness.ts';

const run = (count: number, seed: number, changes: number): DaveyCall => {
  const call = new DaveyCall(seed);
  const next = seeded(seed * 7919);
  let joined = 0;
  for (; joined < count; joined++) call.join(user(joined));
  call.rest();
  expectWhole(call, 3);
  for (let change = 0; change < changes; change++) {
    const gone: DaveyClient[] = [];
    // One to three members join or leave before the others are notified.
    for (let times = 1 + next(3); times > 0; times--) {
      const present = [...call.clients.keys()];
      if (present.length > 2 && next(2) === 0) gone.push(call.leave(present[next(present.length)]!));
      else call.join(user(joined++));
      for (let steps = next(12); steps > 0; steps--) call.step();
    }
    call.rest();
    expectWhole(call, 3);
    expectDeaf(call, gone);
  }
  expect(call.closes()).toEqual([]);
  expect(call.counted('transition', 'timeout')).toBe(0);
  expect(call.counted('commit', 'timeout')).toBe(0);
  return call;
};

/** Clients that left cannot decrypt frames that are sent now. */
function expectDeaf(call: DaveyCall, gone: readonly DaveyClient[]): void {
  const [speaker] = call.clients.values();
  if (speaker === undefined || call.clients.size < 2) return;
  const sealed = speaker.seal(FRAME);
  for (const client of gone) {
    if (client.session?.ready === true) expect(() => client.open(speaker.userId, sealed)).toThrow();
  }
}

// The reference implementation is fast, but a test runs up to fifty of its clients, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

describe('a call', () => {
  test('forms a group of two and executes the transition when both members are ready', () => {
    const call = new DaveyCall();
    const a = call.join(user(1));
    const b = call.join(user(2));
    call.rest();
    expect(call.delivery.epoch).toBe(1n);
    expectWhole(call);
    expect(a.executed).toHaveLength(1);
    expect(b.executed).toEqual(a.executed);
    expect(call.counted('transition', 'ready')).toBe(1);
  });

  test('ignores the leave of a user who is not a member', () => {
    const call = new DaveyCall();
    call.join(user(1));
    call.join(user(2));
    call.rest();
    expect(call.delivery.leave(user(3), call.nowMs)).toEqual([]);
    expect(call.delivery.epoch).toBe(1n);
    expectWhole(call);
  });

  test.each([1, 2, 3, 4])(
    'keeps one group through joins and leaves, starting with 2 members (seed %i)',
    (seed) => {
      run(2, seed, 8);
    },
  );

  test.each([11, 12])(
    'keeps one group through joins and leaves, starting with 3 members (seed %i)',
    (seed) => {
      run(3, seed, 8);
    },
  );

  test.each([21, 22])(
    'keeps one group through joins and leaves, starting with 10 members (seed %i)',
    (seed) => {
      run(10, seed, 5);
    },
  );

  test('keeps one group through joins and leaves, starting with 50 members', () => {
    run(50, 31, 3);
  });

  test('tracks the leaf index of every member', () => {
    const call = new DaveyCall(5);
    for (let index = 0; index < 9; index++) call.join(user(index));
    call.rest();
    for (const index of [1, 4, 8, 7]) call.leave(user(index));
    call.rest();
    for (let index = 20; index < 23; index++) call.join(user(index));
    call.rest();
    expectWhole(call, 2);
    // Only correct leaf indices let a member commit the removal of the right one: each member leaves alone.
    for (const userId of [...call.clients.keys()].slice(0, 6)) {
      const leaver = call.leave(userId);
      call.rest();
      expectWhole(call, 1);
      expectDeaf(call, [leaver]);
    }
    for (const result of ['timeout', 'refused']) expect(call.counted('commit', result)).toBe(0);
  });
});
