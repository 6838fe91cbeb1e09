// Goal: facts with notifications are written by the owner of their aggregate alone, so that no number is given twice.
import { expect, it } from 'vitest';
import {
  commitNotifierHere,
  createCommitNotifier,
} from '../../../../actors/cluster/delivery/commitandnotify.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { DispatchBody } from '../../../../engine/fanout/body.ts';
import type { UserId } from '../../../../protocol/ids.ts';
import type { Commit } from '../../../../storage/ports.ts';

function arrange(owns: boolean) {
  const commits: Omit<Commit, 'done'>[] = [];
  const origins: DispatchBody['origin'][] = [];
  const faults: Error[] = [];
  const deliver = ({ origin }: DispatchBody) => void origins.push(origin);
  const clock = new VirtualClock();
  const database = { isAway: false, isStored: true };
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) {
      clock.advance(500);
      await new Promise(setImmediate);
    }
  };
  const { commitAndNotify, notifyAgain } = createCommitNotifier({
    writer: {
      depth: 0,
      flush: async () => undefined,
      commit: ({ done, ...commit }) => {
        commits.push(commit);
        done(faults.shift() ?? null);
      },
    },
    ownership: { owns: () => owns, fenceOf: () => ({ partition: 7, epoch: 3 }) } as never,
    notifier: { notifyEach: () => undefined, recipientOf: () => ({ deliver }) as never },
    store: {
      records: async () => {
        if (database.isAway) throw new Error('The database is away.');
        return database.isStored ? commits.flatMap(({ record }) => record ?? []) : [];
      },
    },
    ...{ clock, wheel: new TimerWheel(clock) },
    recordAgeMs: 60_000,
  });
  const filter = { own: true, applications: [] } as const;
  const told = { userIds: ['1' as UserId], filter, t: 'RELATIONSHIP_REMOVE', d: {} } as const;
  const again = () => notifyAgain('1');
  const run = (userIds: readonly UserId[] = told.userIds) => commitAndNotify('1', [], [{ ...told, userIds }]);
  const runInPartition = (ownerId: string) => commitAndNotify(ownerId, [], [told], 'partition');
  return { commits, origins, faults, database, pass, again, run, runInPartition };
}

it('writes nothing under the epoch of another shard, which gives the same numbers', async () => {
  const { commits, run } = arrange(false);
  await expect(run()).rejects.toThrow(/does not own/);
  expect(commits).toEqual([]);
});

it('numbers the notifications of the owner within its epoch', async () => {
  const { commits, run } = arrange(true);
  (await run())();
  (await run())();
  expect(commits.map(({ record }) => record?.n)).toEqual([1, 2].map((at) => 3 * 2 ** 32 + 2 ** 31 + at));
});

it('numbers notifications of several owners in the stream of their partition', async () => {
  const { commits, origins, runInPartition } = arrange(true);
  for (const ownerId of ['1', '2']) (await runInPartition(ownerId))();
  const [first, second] = [1, 2].map((at) => 3 * 2 ** 32 + 2 ** 31 + at);
  expect(commits.map(({ ownerId, record }) => [ownerId, record?.streamOwnerId, record?.n])).toEqual([
    ['1', '7', first],
    ['2', '7', second],
  ]);
  expect(origins.map((origin) => [origin?.ownerId, origin?.n, origin?.after])).toEqual([
    ['@7', first, 0],
    ['@7', second, first],
  ]);
});

it.each(['owner', 'partition'] as const)(
  'names a stored notification of the %s as the previous one although its writer saw the commit fail',
  async (stream) => {
    const { commits, origins, faults, ...by } = arrange(true);
    const run = () => (stream === 'owner' ? by.run() : by.runInPartition('1'));
    (await run())();
    faults.push(new Error('The connection broke.'));
    await expect(run()).rejects.toThrow('broke');
    (await run())();
    const [, unknown] = commits.map(({ record }) => record?.n);
    expect(origins.at(-1)?.after).toBe(unknown);
  },
);

it('names no notification as the previous one that the database does not have', async () => {
  const { origins, faults, database, run } = arrange(true);
  faults.push(new Error('The connection broke.'));
  database.isStored = false;
  await expect(run()).rejects.toThrow('broke');
  (await run())();
  expect(origins.map((origin) => origin?.after)).toEqual([0]);
});

it('sends the notifications of the last commit again under their numbers, and none that a later commit names as previous', async () => {
  const { commits, origins, faults, run, again } = arrange(true);
  faults.push(new Error('The connection broke.'));
  await expect(run()).rejects.toThrow('broke');
  await again();
  expect(origins.map((origin) => origin?.n)).toEqual([commits[0]?.record?.n]);
  (await run())();
  await again();
  expect(origins).toHaveLength(2);
});

it('names the notification that was committed before as the previous one although it is sent later', async () => {
  const { commits, origins, run } = arrange(true);
  // Two services whose owner has one id, as an application and its bot have, do not wait for each other.
  const [first, second] = await Promise.all([run(), run()]);
  second();
  first();
  const [earlier, later] = commits.map(({ record }) => record?.n);
  expect(origins.map((origin) => [origin?.n, origin?.after])).toEqual([
    [later, earlier],
    [earlier, 0],
  ]);
});

it('keeps the last notifications of 4,096 users of one owner, and forgets those of the longest ago', async () => {
  const { origins, run } = arrange(true);
  const people = Array.from({ length: 4_097 }, (_, at) => String(at) as UserId);
  for (const userIds of [people, people.slice(-1), people.slice(0, 1)]) (await run(userIds))();
  const [last, first] = origins.slice(-2).map((origin) => origin?.after);
  expect([last, first]).toEqual([origins[0]?.n, 0]);
});

it('notifies in a standalone process only when the commit is durable, and not when it fails', async () => {
  const dones: ((fault: Error | null) => void)[] = [];
  const notified: unknown[] = [];
  const { commitAndNotify } = commitNotifierHere({
    writer: { commit: ({ done }: { done: (fault: Error | null) => void }) => dones.push(done) },
    notifier: { notifyEach: (...all: unknown[]) => notified.push(all) },
  } as unknown as Parameters<typeof commitNotifierHere>[0]);
  const news = [{ userIds: ['2'], filter: undefined, t: 'USER_UPDATE', d: {} }] as never;
  let isCommitted = false;
  const committing = commitAndNotify('1' as never, [], news).then((notify) => {
    isCommitted = true;
    notify();
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect([isCommitted, notified]).toEqual([false, []]);
  dones[0]?.(null);
  await committing;
  expect(notified).toHaveLength(1);
  const failing = commitAndNotify('1' as never, [], news);
  dones[1]?.(new Error('The database is away.'));
  await expect(failing).rejects.toThrow('The database is away.');
  expect(notified).toHaveLength(1);
});

it('sends notifications whose commit seemed to fail as soon as the database says that they are stored', async () => {
  const { commits, origins, faults, database, pass, run } = arrange(true);
  (await run())();
  faults.push(new Error('The connection broke.'));
  database.isAway = true;
  await expect(run()).rejects.toThrow('broke');
  await pass(5_000);
  expect(origins).toHaveLength(1);
  database.isAway = false;
  await pass(5_000);
  const [first, second] = commits.map(({ record }) => record?.n);
  expect(origins.map((origin) => [origin?.n, origin?.after])).toEqual([
    [first, 0],
    [second, first],
  ]);
});

it('sends nothing of a commit that the database does not have, and asks no longer than records are kept', async () => {
  const { origins, faults, database, pass, run } = arrange(true);
  faults.push(new Error('The connection broke.'), new Error('The connection broke.'));
  database.isStored = false;
  await expect(run()).rejects.toThrow('broke');
  await pass(5_000);
  await expect(run()).rejects.toThrow('broke');
  database.isAway = true;
  await pass(62_000);
  Object.assign(database, { isAway: false, isStored: true });
  await pass(5_000);
  expect(origins).toEqual([]);
});
