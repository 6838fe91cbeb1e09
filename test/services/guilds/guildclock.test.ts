// Goal: guilds with events that are due are asked at the right time, once per look, by the shard that owns them.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import { createGuildClock } from '../../../services/guilds/guildclock.ts';

const START_MS = 1_750_000_000_000;
let clock: VirtualClock;
let wheel: TimerWheel;
let scope: Lifetime;
/** When the next event of each guild is due. A guild that is asked has none then. */
let dueMs: Map<string, number>;
let asked: string[];
let faults: number;
let owns: (id: string) => boolean;
let fails: (id: string) => boolean;
let moved: () => void;
let looks: number;
let isStoreGone: boolean;

beforeEach(() => {
  clock = new VirtualClock(START_MS);
  wheel = new TimerWheel(clock, 10);
  scope = new Lifetime(clock);
  [dueMs, asked, faults, looks] = [new Map(), [], 0, 0];
  [owns, fails, moved, isStoreGone] = [() => true, () => false, () => undefined, false];
});
afterEach(() => wheel.stop());

const make = () =>
  createGuildClock({
    store: {
      due: async (nowMs, after, limit) => {
        looks += 1;
        if (isStoreGone) throw new Error('The database is gone.');
        const ids = [...dueMs].filter(([, at]) => at <= nowMs).map(([id]) => id as GuildId);
        return ids
          .sort()
          .filter((id) => after === null || id > after)
          .slice(0, limit);
      },
      nextDueMs: async () => (dueMs.size === 0 ? null : Math.min(...dueMs.values())),
    },
    settle: async (id) => {
      if (fails(id)) throw new Error('The database is gone.');
      asked.push(id);
      dueMs.delete(id);
    },
    routing: {
      owns: (id) => owns(id),
      onMoved: (run) => {
        moved = () => run(() => true);
      },
    },
    ...{ wheel, scope },
    nowMs: () => clock.now(),
    onFault: () => {
      faults += 1;
    },
  });

async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 500) {
    clock.advance(Math.min(500, ms - done));
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  }
}

test('events due before the start are settled at once, later ones at their time', async () => {
  dueMs.set('1', START_MS - 5).set('2', START_MS + 20_000);
  make().start();
  await pass(500);
  expect(asked).toEqual(['1']);
  await pass(19_000);
  expect(asked).toEqual(['1']);
  await pass(1_000);
  expect(asked).toEqual(['1', '2']);
});

test('an event that is scheduled meanwhile is not waited for in vain', async () => {
  const events = make();
  events.start();
  await pass(500);
  dueMs.set('3', clock.now() + 5_000);
  events.schedule(clock.now() + 5_000);
  await pass(4_500);
  expect(asked).toEqual([]);
  await pass(1_000);
  expect(asked).toEqual(['3']);
});

test('a guild of another shard is skipped until this shard owns it', async () => {
  owns = () => false;
  dueMs.set('1', START_MS - 5);
  make().start();
  await pass(10_000);
  expect(asked).toEqual([]);
  owns = () => true;
  moved();
  await pass(500);
  expect(asked).toEqual(['1']);
});

test('a guild that fails is asked again, and holds up no other', async () => {
  fails = (id) => id === '1';
  dueMs.set('1', START_MS - 5).set('2', START_MS - 5);
  make().start();
  await pass(500);
  expect([asked, faults]).toEqual([['2'], 1]);
  fails = () => false;
  await pass(1_500);
  expect(asked).toEqual(['2', '1']);
});

test('a store that fails is asked again, with a pause', async () => {
  isStoreGone = true;
  dueMs.set('1', START_MS - 5);
  make().start();
  await pass(3_000);
  expect(asked).toEqual([]);
  expect([3, 4]).toContain(faults);
  isStoreGone = false;
  await pass(1_500);
  expect(asked).toEqual(['1']);
});

test('all guilds are settled page by page; lookups are at least a second and at most a minute apart', async () => {
  for (let id = 1_000; id < 1_250; id += 1) dueMs.set(String(id), START_MS);
  make().start();
  await pass(500);
  expect(asked).toHaveLength(250);
  looks = 0;
  await pass(300_000);
  // Each minute and at most a tick of the wheel.
  expect([4, 5]).toContain(looks);
  dueMs.set('1', clock.now());
  owns = () => false;
  looks = 0;
  moved();
  await pass(10_000);
  expect(looks).toBeLessThanOrEqual(11);
});

test('a stopped clock settles nothing', async () => {
  dueMs.set('1', START_MS + 1_000);
  const events = make();
  events.start();
  await pass(500);
  await scope.close();
  moved();
  await pass(120_000);
  expect(asked).toEqual([]);
});
