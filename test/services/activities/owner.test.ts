// Goal: an owner of running activities ends those without renewal, keeps those of an earlier owner for a whole lease,
// and continues after a fault of the database.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { ActivityChange, ActivityFact, ActivityInstance } from '../../../engine/activity/instance.ts';
import { ACTIVITY_LEASE_MS } from '../../../protocol/activityinstances.ts';
import { snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import { ActivityOwner } from '../../../services/activities/owner.ts';

const START_MS = 1_750_000_000_000;
const GUILD = snowflakeOf(1n);
const CHANNEL = snowflakeOf(2n);
const APPLICATION = snowflakeOf(3n);
const ADA = snowflakeOf(4n);
const GRACE = snowflakeOf(5n);
const request = (userId: UserId, connectionId: string | null = 'one') => ({
  ...{ ownerId: GUILD, guildId: GUILD, channelId: CHANNEL, applicationId: APPLICATION },
  ...{ userId, connectionId },
});

let clock: VirtualClock;
let wheel: TimerWheel;
/** Rows of the database. */
let stored: Map<string, ActivityInstance>;
let shown: number[];
let faults: unknown[];
let isBroken: boolean;

beforeEach(() => {
  clock = new VirtualClock(START_MS);
  wheel = new TimerWheel(clock, 10);
  [stored, shown, faults, isBroken] = [new Map(), [], [], false];
});
afterEach(() => wheel.stop());

async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 500) {
    clock.advance(Math.min(500, ms - done));
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  }
}

const make = (): ActivityOwner => {
  let id = 100n;
  return new ActivityOwner({
    store: { ofOwner: async () => [...stored.values()] },
    change: async ({ instance, isShown }: ActivityChange, facts: readonly ActivityFact[]) => {
      if (isBroken) throw new Error('The database does not answer.');
      for (const fact of facts)
        if (fact.type === 'activityInstanceWritten') stored.set(fact.instance.channelId, fact.instance);
        else stored.delete(fact.channelId);
      if (isShown) shown.push(instance.connections.length);
    },
    ...{ wheel, scope: new Lifetime(clock) },
    nextId: () => String(++id),
    nowMs: () => clock.now(),
    onFault: (error) => void faults.push(error),
  });
};

describe('an activity', () => {
  test('ends for others when its last participant has not renewed for a lease, and not before', async () => {
    const owner = make();
    await owner.join(request(ADA));
    await owner.join(request(GRACE));
    await pass(ACTIVITY_LEASE_MS / 2);
    await owner.join(request(ADA));
    await pass(ACTIVITY_LEASE_MS / 2 + 100);
    expect([shown, stored.size, owner.running]).toEqual([[1, 2, 1], 1, 1]);
    await pass(ACTIVITY_LEASE_MS);
    expect([shown, stored.size, owner.running, faults]).toEqual([[1, 2, 1, 0], 0, 0, []]);
  });

  test('lasts for a whole lease more when an earlier owner left it', async () => {
    await make().join(request(ADA));
    await pass(ACTIVITY_LEASE_MS - 1_000);
    const next = make();
    await next.adopt(GUILD);
    await pass(ACTIVITY_LEASE_MS - 1_000);
    expect(await next.instances(GUILD)).toHaveLength(1);
    await pass(2_000);
    expect(await next.instances(GUILD)).toEqual([]);
  });

  test('is neither changed nor shown when it cannot be stored, and is what was stored afterwards', async () => {
    const owner = make();
    await owner.join(request(ADA));
    isBroken = true;
    await expect(owner.join(request(GRACE))).rejects.toThrow('The database does not answer.');
    isBroken = false;
    const [instance] = await owner.instances(GUILD);
    expect([instance?.connections.length, shown]).toEqual([1, [1]]);
  });

  test('ends a lease later, once the database answers, when its end could not be stored', async () => {
    const owner = make();
    await owner.join(request(ADA));
    isBroken = true;
    await pass(ACTIVITY_LEASE_MS + 1_000);
    expect([faults.length, stored.size]).toEqual([1, 1]);
    isBroken = false;
    await pass(ACTIVITY_LEASE_MS + 10_000);
    expect([faults.length, stored.size, shown.at(-1)]).toEqual([1, 0, 0]);
  });

  test('is no longer counted here once its owner has moved', async () => {
    const owner = make();
    await owner.join(request(ADA));
    owner.forgetMoved((ownerId) => ownerId === GUILD);
    expect(owner.running).toBe(0);
    await pass(2 * ACTIVITY_LEASE_MS);
    expect([stored.size, shown]).toEqual([1, [1]]);
  });
});
