// Goal: subscriptions of a shard's own applications are settled at their times, whatever fails in between, and unpaid orders are deleted.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { type ApplicationId, type SubscriptionId, snowflakeOf } from '../../../protocol/ids.ts';
import type { DueClock } from '../../../services/dueclock.ts';
import { createSubscriptionClock } from '../../../services/premium/clock.ts';

const START_MS = 1_750_000_000_000;
const DAY_MS = 86_400_000;
const [OWN, OTHERS] = [snowflakeOf(1n), snowflakeOf(2n)] as [ApplicationId, ApplicationId];

interface Due {
  readonly applicationId: ApplicationId;
  readonly id: SubscriptionId;
  readonly dueMs: number;
}

let clock: VirtualClock;
let wheel: TimerWheel;
let subscriptions: Due[];
/** Ids of settled subscriptions with the seconds since the start. */
let settled: (readonly [string, number])[];
let forgotten: number[];
let perks: number;
let faults: unknown[];
let failing: string | null;
let moved: () => void;
let running: DueClock;
let scope: Lifetime;

async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 500) {
    clock.advance(Math.min(500, ms - done));
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }
}

beforeEach(() => {
  clock = new VirtualClock(START_MS);
  wheel = new TimerWheel(clock, 10);
  scope = new Lifetime(clock);
  [subscriptions, settled, forgotten, perks, faults, failing] = [[], [], [], 0, [], null];
  running = createSubscriptionClock({
    store: {
      due: async (nowMs) => subscriptions.filter(({ dueMs }) => dueMs <= nowMs),
      nextDueMs: async () =>
        subscriptions.length === 0 ? null : Math.min(...subscriptions.map((one) => one.dueMs)),
      forgetOrders: async (beforeMs) => {
        forgotten.push(beforeMs);
        return 0;
      },
    },
    settle: async (_, id) => {
      if (id === failing) throw new Error('The provider does not answer.');
      settled.push([id, Math.round((clock.now() - START_MS) / 1_000)]);
      subscriptions = subscriptions.filter((one) => one.id !== id);
      return { ok: true, value: { skus: [], entitlements: [], subscriptions: [], orders: [] } };
    },
    applyPerks: async () => {
      perks += 1;
    },
    routing: {
      owns: (id: string) => id === OWN,
      onMoved: (listener: () => void) => {
        moved = listener;
      },
    } as never,
    ...{ wheel, scope },
    nowMs: () => clock.now(),
    onFault: (error) => void faults.push(error),
  });
});
afterEach(async () => {
  await scope.close();
  wheel.stop();
});
const due = (name: string, afterMs: number, applicationId = OWN) =>
  subscriptions.push({ applicationId, id: name as SubscriptionId, dueMs: START_MS + afterMs });

describe('the clock of subscriptions', () => {
  test('settles what became due while no process ran, and the next one at its time', async () => {
    due('late', -DAY_MS);
    due('next', 20_000);
    running.start();
    await pass(30_000);
    expect(settled.map(([id]) => id)).toEqual(['late', 'next']);
    expect(settled[1]?.[1]).toBeGreaterThanOrEqual(20);
    expect(settled[1]?.[1]).toBeLessThanOrEqual(22);
  });

  test('leaves subscriptions of applications alone that another shard owns', async () => {
    due('others', 0, OTHERS);
    due('own', 0);
    running.start();
    await pass(5_000);
    expect(settled.map(([id]) => id)).toEqual(['own']);
  });

  test('settles the others when one fails, and tries that one again', async () => {
    failing = 'broken';
    due('broken', 0);
    due('own', 0);
    running.start();
    await pass(3_000);
    expect(settled.map(([id]) => id)).toEqual(['own']);
    expect(faults.length).toBeGreaterThan(0);
    failing = null;
    await pass(61_000);
    expect(settled.map(([id]) => id)).toEqual(['own', 'broken']);
  });

  test('looks at once when partitions have moved to this shard', async () => {
    running.start();
    await pass(5_000);
    due('adopted', 0);
    moved();
    await pass(2_000);
    expect(settled.map(([id]) => id)).toEqual(['adopted']);
  });

  test('deletes orders of 30 days and applies perks again every hour, and does nothing after its end', async () => {
    running.start();
    await pass(2_000);
    expect([forgotten.length, perks]).toEqual([1, 1]);
    expect(Math.abs((forgotten[0] ?? 0) - (START_MS - 30 * DAY_MS))).toBeLessThan(2_000);
    await pass(3_700_000);
    expect([forgotten.length, perks]).toEqual([2, 2]);
    await scope.close();
    due('never', 0);
    await pass(120_000);
    expect(settled).toEqual([]);
  });
});
