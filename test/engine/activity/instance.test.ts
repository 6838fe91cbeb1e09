// Goal: an activity runs while somebody takes part, within its bounds, and what is shown is what is stored.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ActivityInstance,
  instanceAt,
  instanceObject,
  joinActivity,
  lapseActivity,
  leaveActivity,
  nextLapseMs,
  withFreshLeases,
} from '../../../engine/activity/instance.ts';
import {
  ACTIVITIES_PER_LOCATION_MAX,
  ACTIVITY_CONNECTIONS_MAX,
  ACTIVITY_CONNECTIONS_PER_USER_MAX,
  ACTIVITY_LEASE_MS,
  instanceIdOf,
  readInstanceId,
} from '../../../protocol/activityinstances.ts';
import { type ApplicationId, snowflakeOf, type UserId } from '../../../protocol/ids.ts';

const id = (n: number) => snowflakeOf(BigInt(n));
const [GUILD, CHANNEL, APP] = [id(1), id(10), id(5)];
const place = { ownerId: GUILD, guildId: GUILD, channelId: CHANNEL, applicationId: APP as ApplicationId };
let launches = 100;
const env = (nowMs = 0) => ({ nowMs, nextId: () => id(launches++) });
const joining = (userId: number, connectionId: string | null = 'a', more: object = {}) => ({
  ...{ ...place, userId: id(userId) as UserId, connectionId },
  ...more,
});

function joined(all: readonly ActivityInstance[], ...request: Parameters<typeof joining>): ActivityInstance {
  const decided = joinActivity(all, joining(...request), env());
  if (!decided.ok) throw new Error(decided.refusal.message);
  return decided.value.instance;
}

const usersOf = ({ connections }: ActivityInstance) => [...new Set(connections.map(({ userId }) => userId))];

describe('a running activity', () => {
  test('is launched by the first who joins and shared by the next', () => {
    const first = joined([], 2);
    const second = joined([first], 3);
    expect(second.launchId).toBe(first.launchId);
    expect(usersOf(second)).toEqual(['2', '3']);
    expect(instanceObject(second)).toEqual({
      ...{ application_id: '5', instance_id: `i-${first.launchId}-gc-1-10`, launch_id: first.launchId },
      location: { id: 'gc-1-10', kind: 'gc', channel_id: '10', guild_id: '1' },
      users: ['2', '3'],
    });
  });

  test('takes the window that opens in place of the one that was to be opened', () => {
    const launched = joined([], 2, null);
    const opened = joined([launched], 2, 'a');
    expect(opened.connections).toHaveLength(1);
    expect(opened.connections[0]).toMatchObject({ connectionId: 'a' });
    expect(joined([opened], 2, null)).toEqual(opened);
  });

  test('is stored when a window comes and not when it renews', () => {
    const first = joined([], 2);
    const again = joinActivity([first], joining(2), env(50));
    expect(again).toMatchObject({ ok: true, facts: [], value: { isShown: false } });
    const other = joinActivity([first], joining(2, 'b'), env(50));
    expect(other).toMatchObject({ facts: [{ type: 'activityInstanceWritten' }], value: { isShown: false } });
  });

  test('ends with its last window, and not before', () => {
    const two = joined([joined([], 2)], 2, 'b');
    const one = leaveActivity(two, joining(2, 'a'));
    expect(one).toMatchObject({ ok: true, value: { isShown: false } });
    expect(leaveActivity(two, joining(2, null))).toMatchObject({
      facts: [{ type: 'activityInstanceEnded', channelId: CHANNEL, applicationId: APP }],
      value: { isShown: true, instance: { connections: [] } },
    });
    expect(leaveActivity(two, joining(3))).toEqual({ ok: true, value: null, facts: [] });
  });

  test('loses windows that are not renewed at the end of their lease', () => {
    const one = joined([], 2);
    expect(nextLapseMs([one])).toBe(ACTIVITY_LEASE_MS);
    expect(lapseActivity(one, ACTIVITY_LEASE_MS - 1)).toMatchObject({ value: null });
    expect(lapseActivity(one, ACTIVITY_LEASE_MS)).toMatchObject({ value: { instance: { connections: [] } } });
  });

  test('ends when no user has opened it by the end of the lease of its launch', () => {
    const launched = joined([], 2, null);
    expect(lapseActivity(launched, ACTIVITY_LEASE_MS - 1)).toMatchObject({ value: null });
    expect(lapseActivity(launched, ACTIVITY_LEASE_MS)).toMatchObject({
      ...{ value: { isShown: true, instance: { connections: [] } } },
      facts: [{ type: 'activityInstanceEnded' }],
    });
  });

  test('gives every window a whole lease at its next owner', () => {
    const two = joined([joined([], 2)], 3, null);
    const { connections } = withFreshLeases(two, 500_000);
    expect(connections.map(({ untilMs }) => untilMs)).toEqual(Array(2).fill(500_000 + ACTIVITY_LEASE_MS));
    expect(connections.map(({ userId, connectionId }) => [userId, connectionId])).toEqual([
      ['2', 'a'],
      ['3', null],
    ]);
  });

  test('is rendered again when another person joins and when one of two people leaves', () => {
    const first = joined([], 2);
    expect(joinActivity([first], joining(3), env())).toMatchObject({ value: { isShown: true } });
    expect(leaveActivity(joined([first], 3), joining(3))).toMatchObject({ value: { isShown: true } });
  });

  test('has at most five windows of a user', () => {
    let instance = joined([], 2, '0');
    for (let n = 1; n < ACTIVITY_CONNECTIONS_PER_USER_MAX; n++) instance = joined([instance], 2, String(n));
    expect(joinActivity([instance], joining(2, 'more'), env())).toMatchObject({
      refusal: { status: 409 },
    });
    expect(joinActivity([instance], joining(3), env())).toMatchObject({ ok: true });
  });

  test('has at most 500 windows of all its participants, and another one once one has left', () => {
    let instance = joined([], 0, 'a');
    for (let n = 1; n < ACTIVITY_CONNECTIONS_MAX; n++) instance = joined([instance], n, 'a');
    expect(joinActivity([instance], joining(10_000), env())).toMatchObject({ refusal: { status: 409 } });
    // A window that is there renews.
    expect(joinActivity([instance], joining(7), env())).toMatchObject({ ok: true });
    const left = leaveActivity(instance, joining(7));
    if (!left.ok || left.value === null) expect.unreachable();
    expect(joinActivity([left.value.instance], joining(10_000), env())).toMatchObject({ ok: true });
  });

  test('is one of at most ten at a location', () => {
    const all = Array.from({ length: ACTIVITIES_PER_LOCATION_MAX }, (_, n) =>
      joined([], 2, 'a', { applicationId: id(50 + n) }),
    );
    expect(joinActivity(all, joining(2), env())).toMatchObject({ refusal: { status: 409 } });
    expect(joinActivity(all, joining(2, 'a', { channelId: id(11) }), env())).toMatchObject({ ok: true });
  });

  test('is in storage exactly while it has participants, whatever happens', () => {
    const step = fc.record({
      kind: fc.constantFrom('join', 'leave', 'lapse'),
      user: fc.integer({ min: 1, max: 4 }),
      connection: fc.constantFrom('a', 'b', null),
      afterMs: fc.integer({ min: 0, max: ACTIVITY_LEASE_MS }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let instance: ActivityInstance | null = null;
        let row: ActivityInstance | null = null;
        let nowMs = 0;
        for (const { kind, user, connection, afterMs } of steps) {
          nowMs += afterMs;
          const request = joining(user, connection);
          const all: ActivityInstance[] = instance ? [instance] : [];
          const decided =
            kind === 'join'
              ? joinActivity(all, request, env(nowMs))
              : instance === null
                ? null
                : kind === 'leave'
                  ? leaveActivity(instance, request)
                  : lapseActivity(instance, nowMs);
          if (!decided?.ok || decided.value === null) continue;
          const next: ActivityInstance = decided.value.instance;
          for (const fact of decided.facts)
            row = fact.type === 'activityInstanceWritten' ? fact.instance : null;
          instance = next.connections.length === 0 ? null : next;
          expect(row === null).toBe(instance === null);
          expect(row && usersOf(row)).toEqual(instance && usersOf(instance));
          expect(row?.launchId).toBe(instance?.launchId);
          expect(instance ? instanceAt([instance], request) : null).toBe(instance);
        }
      }),
    );
  });
});

describe('the id of an instance', () => {
  test('names its launch and its location, and no other text is one', () => {
    const [guildId, channelId] = [id(7), id(8)];
    for (const location of [
      { guildId, channelId },
      { guildId: null, channelId },
    ])
      expect(readInstanceId(instanceIdOf('9', location))).toEqual({ launchId: '9', location });
    expect(instanceIdOf('9', { guildId: null, channelId })).toBe('i-9-pc-8');
    for (const text of ['', 'i-9-gc-7', 'i-9-gc-7-8-9', 'i-9-pc-8-', 'i-09-pc-8', 'x-9-pc-8', 'i-9-xx-8'])
      expect(readInstanceId(text)).toBeNull();
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readInstanceId(text)).toBeNull();
      }),
    );
  });
});
