// Goal: whatever callers withhold, each stays within its share, the sum stays within its bound, and the next caller finds room.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { type BodyAccount, BodyMemory, STALLED_MS } from '../../../transports/http/body.ts';

const BOUNDS = { bytesMax: 1_000, reservedBytes: 800, addressBytesMax: 60, userBytesMax: 300 };

function memoryOf(bounds = BOUNDS) {
  const clock = new VirtualClock();
  const memory = new BodyMemory(bounds, () => clock.monotonic());
  const evicted: string[] = [];
  const open = (network: string, userId?: string): BodyAccount => {
    const account = memory.open(network);
    if (userId !== undefined) account.signIn(userId);
    account.reading((why) => evicted.push(`${userId ?? network} ${why}`));
    return account;
  };
  /** Takes ten bytes at a time until the memory refuses more. */
  const hoard = (account: BodyAccount): string => {
    for (;;) {
      const taken = account.take(10);
      if (taken !== 'taken') return taken;
    }
  };
  return { clock, memory, evicted, open, hoard };
}

test('an address shares one memory limit between all its bodies', () => {
  const { memory, open, hoard } = memoryOf();
  expect(hoard(open('192.0.2.1'))).toBe('share');
  expect(open('192.0.2.1').take(10)).toBe('share');
  expect(memory.bytes).toBe(60);
  expect(open('192.0.2.2').take(10)).toBe('taken');
});

test('a user shares one memory limit between all addresses', () => {
  const { memory, open, hoard } = memoryOf();
  expect(hoard(open('192.0.2.1', 'a'))).toBe('share');
  expect(open('192.0.2.2', 'a').take(10)).toBe('share');
  expect(memory.bytes).toBe(300);
});

test('a body moves from the share of its address to the share of its user at sign-in', () => {
  const { open, hoard, memory } = memoryOf();
  const account = open('192.0.2.1');
  hoard(account);
  account.signIn('a');
  expect(memory.bytes).toBe(60);
  expect(open('192.0.2.1').take(60)).toBe('taken');
  account.release();
  expect(memory.bytes).toBe(60);
});

test('anonymous bodies of any number of addresses leave the reserve to signed-in users', () => {
  const { memory, open, hoard } = memoryOf();
  for (let n = 0; n < 100; n += 1) hoard(open(`192.0.2.${n}`));
  expect(memory.bytes).toBeLessThanOrEqual(200);
  expect(open('192.0.2.1', 'a').take(300)).toBe('taken');
});

test('22 users who fill their shares leave room for one more user with the same share', () => {
  const { open, evicted } = memoryOf();
  const hoarders = Array.from({ length: 22 }, (_, n) => open('192.0.2.1', `hoarder ${n}`));
  for (const hoarder of hoarders) expect(hoarder.take(45)).toBe('taken');
  const next = open('192.0.2.1', 'next');
  expect([next.take(22), next.take(22)]).toEqual(['taken', 'taken']);
  expect(evicted).toEqual(['hoarder 0 outweighed']);
  expect(open('192.0.2.1', 'greedy').take(100)).toBe('full');
});

test('anonymous senders evict each other, never a body of a signed-in user', () => {
  const { open, evicted } = memoryOf();
  open('192.0.2.1', 'a').take(300);
  for (let n = 0; n < 4; n += 1) open(`192.0.2.${n}`).take(50);
  expect(open('192.0.2.9').take(30)).toBe('taken');
  expect(evicted).toEqual(['192.0.2.0 outweighed']);
  expect(open('192.0.2.10').take(60)).toBe('full');
});

test('a stalled body is evicted for one that still arrives, whatever their sizes', () => {
  const { clock, open, evicted } = memoryOf();
  const hoarders = Array.from({ length: 10 }, (_, n) => open('192.0.2.1', `hoarder ${n}`));
  for (const hoarder of hoarders) expect(hoarder.take(100)).toBe('taken');
  expect(open('192.0.2.1', 'early').take(200)).toBe('full');
  clock.advance(STALLED_MS - 1);
  for (const hoarder of hoarders.slice(0, 5)) hoarder.take(0);
  clock.advance(1);
  expect(open('192.0.2.1', 'late').take(200)).toBe('taken');
  expect(evicted).toEqual(['hoarder 5 stalled', 'hoarder 6 stalled']);
});

test('a complete body is not evicted, however long its answer takes', () => {
  const { clock, open, hoard, evicted } = memoryOf();
  const done = open('192.0.2.1', 'a');
  done.take(300);
  done.settled();
  clock.advance(STALLED_MS * 10);
  for (let n = 0; n < 30; n += 1) hoard(open('192.0.2.1', `other ${n}`));
  expect(evicted.filter((who) => who.startsWith('a '))).toEqual([]);
});

test('no share, sum or reserve is exceeded in any order of bodies, and all bytes are released', () => {
  const step = fc.record({
    who: fc.nat(9),
    user: fc.option(fc.nat(5), { nil: undefined }),
    bytes: fc.integer({ min: 1, max: 200 }),
    what: fc.constantFrom('take', 'take', 'take', 'open', 'release', 'settle', 'wait'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const clock = new VirtualClock();
      const memory = new BodyMemory(BOUNDS, () => clock.monotonic());
      const bodies = new Map<number, { account: BodyAccount; caller: string; bytes: number }>();
      const shut = (who: number) => {
        bodies.get(who)?.account.release();
        bodies.delete(who);
      };
      for (const { who, user, bytes, what } of steps) {
        if (what === 'wait') clock.advance(bytes * 20);
        if (what === 'release') shut(who);
        if (what === 'settle') bodies.get(who)?.account.settled();
        if (what === 'open') {
          shut(who);
          const account = memory.open(`${who % 3}`);
          if (user !== undefined) account.signIn(`${user}`);
          const body = {
            account,
            caller: user === undefined ? `address ${who % 3}` : `user ${user}`,
            bytes: 0,
          };
          account.reading(() => {
            if (bodies.get(who) === body) bodies.delete(who);
          });
          bodies.set(who, body);
        }
        const body = bodies.get(who);
        if (what === 'take' && body?.account.take(bytes) === 'taken') body.bytes += bytes;
        const held = (only: (caller: string) => boolean) =>
          [...bodies.values()].reduce((sum, each) => sum + (only(each.caller) ? each.bytes : 0), 0);
        expect(memory.bytes).toBe(held(() => true));
        expect(memory.bytes).toBeLessThanOrEqual(BOUNDS.bytesMax);
        expect(held((caller) => caller.startsWith('address'))).toBeLessThanOrEqual(200);
        for (const { caller } of bodies.values())
          expect(held((other) => other === caller)).toBeLessThanOrEqual(caller.startsWith('user') ? 300 : 60);
      }
      for (const who of [...bodies.keys()]) shut(who);
      expect(memory.bytes).toBe(0);
    }),
  );
});
