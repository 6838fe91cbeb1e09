// Goal: a shard takes over the running activities of the owners that move to it, also when the database does not answer at first.
import { afterEach, expect, test } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { type ActivityInstance, idOf } from '../../../engine/activity/instance.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { P } from '../../../protocol/permissions.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { startRunningActivities } from '../../../services/activities/running.ts';

const clock = new VirtualClock();
const wheel = new TimerWheel(clock, 10);
afterEach(() => wheel.stop());

async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 100) {
    clock.advance(100);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }
}

test('the takeover is repeated until the database answers, later and later', async () => {
  const read: string[] = [];
  const faults: unknown[] = [];
  const moves: ((isMoved: (id: string) => boolean) => void)[] = [];
  let isAway = false;
  const attempts: number[] = [];
  const ports = {
    storage: {
      activities: {
        owners: async () => {
          attempts.push(clock.monotonic());
          if (isAway) throw new Error('The database is away.');
          return ['1', '2'];
        },
        ofOwner: async (id: string) => {
          read.push(id);
          return [];
        },
      },
    },
    routing: {
      owns: () => true,
      ask: () => undefined,
      onMoved: (run: (typeof moves)[number]) => moves.push(run),
    },
    ...{ wheel, scope: new Lifetime(clock) },
    nowMs: () => clock.now(),
    onFault: (error: unknown) => void faults.push(error),
  };
  startRunningActivities(ports as never);
  await pass(100);
  expect(read).toEqual(['1', '2']);
  isAway = true;
  const startedMs = clock.monotonic();
  for (const move of moves) move((id) => id === '2');
  await pass(3_500);
  isAway = false;
  await pass(5_000);
  expect(read).toEqual(['1', '2', '2']);
  expect(faults).toHaveLength(3);
  const gaps = attempts
    .slice(1)
    .map((atMs, index) => atMs - (index === 0 ? startedMs : (attempts[index] ?? 0)));
  expect(gaps.map((ms) => Math.floor(ms / 1_000))).toEqual([0, 1, 2, 4]);
});

test('a shard to which an owner returns serves the activities that another shard stored meanwhile', async () => {
  const at = { ownerId: '2', guildId: '2', channelId: '5', applicationId: '3' } as const;
  const connections = [{ userId: '4', connectionId: 'a', untilMs: 0 }];
  const [before, after] = ['900', '901'].map((launchId) => ({ ...at, launchId, connections })) as never[];
  const moves: ((isMoved: (id: string) => boolean) => void)[] = [];
  const rows: ActivityInstance[] = [before!];
  const ports = {
    storage: { activities: { owners: async () => ['2'], ofOwner: async () => [...rows] } },
    routing: { ...HERE, onMoved: (run: (typeof moves)[number]) => moves.push(run) },
    ...{ wheel, scope: new Lifetime(clock) },
    nowMs: () => clock.now(),
    onFault: () => undefined,
  };
  const { find } = startRunningActivities(ports as never);
  const served = async () =>
    (await Promise.all([before!, after!].map((one) => find('3' as never, idOf(one))))).map(Boolean);
  await pass(100);
  expect(await served()).toEqual([true, false]);
  rows.splice(0, 1, after!);
  for (const move of moves) move((id) => id === '2');
  await pass(100);
  expect(await served()).toEqual([false, true]);
});

test('a change is not stored while the guild is overloaded, and is stored without being shown when the guild was deleted', async () => {
  const stored: string[] = [];
  let answer: object = { ok: false, refusal: refusal('API_OVERLOADED') };
  const ports = {
    storage: {
      activities: { owners: async () => [], ofOwner: async () => [] },
      applications: { get: async () => ({ activity: { urlMappings: [{ prefix: '/' }] } }) },
    },
    commitAsOwner: async (ownerId: string, facts: readonly { type: string }[]) =>
      void stored.push(ownerId, ...facts.map(({ type }) => type)),
    guilds: { call: async () => answer },
    places: {
      describe: async () => ({
        ok: true,
        value: { type: 0, permissions: String(P.USE_EMBEDDED_ACTIVITIES) },
      }),
    },
    ...{ routing: HERE, wheel, scope: new Lifetime(clock), nextId: () => '900' },
    nowMs: () => clock.now(),
    onFault: () => undefined,
  };
  const { join } = startRunningActivities(ports as never);
  const at = { ownerId: '2', guildId: '2', channelId: '5', applicationId: '3' };
  const request = { ...at, userId: '4', connectionId: 'a' } as never;
  await expect(join(request)).rejects.toThrow(NotServed);
  expect(stored).toEqual([]);
  answer = { ok: false, refusal: refusal('UNKNOWN_GUILD') };
  expect(await join(request)).toMatchObject({ ok: true });
  expect(stored).toEqual(['2', 'activityInstanceWritten']);
});

test('a renewal removes the participant when access is refused, and not when the guild is overloaded', async () => {
  const written: number[] = [];
  let described: object = { ok: true, value: { type: 1, permissions: '0' } };
  const ports = {
    storage: {
      activities: { owners: async () => [], ofOwner: async () => [] },
      applications: { get: async () => ({ activity: { urlMappings: [{ prefix: '/' }] } }) },
      privateChannels: { get: async () => null },
    },
    commitAndNotify: async (
      _: string,
      facts: readonly { instance?: { connections: readonly object[] } }[],
    ) => {
      written.push(facts[0]?.instance?.connections.length ?? 0);
      return () => undefined;
    },
    places: { describe: async () => described },
    ...{ routing: HERE, wheel, scope: new Lifetime(clock), nextId: () => '900' },
    nowMs: () => clock.now(),
    onFault: () => undefined,
  };
  const { join } = startRunningActivities(ports as never);
  const request = {
    ownerId: '2',
    guildId: null,
    channelId: '2',
    applicationId: '3',
    userId: '4',
    connectionId: 'a',
  };
  expect(await join(request as never)).toMatchObject({ ok: true });
  described = { ok: false, refusal: refusal('API_OVERLOADED') };
  expect(await join(request as never)).toMatchObject({ refusal: { status: 503 } });
  expect(written).toEqual([1]);
  described = { ok: false, refusal: refusal('MISSING_ACCESS') };
  expect(await join(request as never)).toMatchObject({ refusal: { status: 403 } });
  expect(written).toEqual([1, 0]);
});
