// Goal: in each kind of directory a partition has one owner at most, all shards come to see the same view, and
// a change that was answered to a shard is in every later view of that shard.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Directory } from '../../actors/cluster/ports.ts';
import type { ClusterView, ShardInfo } from '../../actors/placement/ports.ts';
import { systemClock } from '../../actors/runtime/clock.ts';
import * as lease from '../../engine/placement/lease.ts';
import { etcdDirectory } from '../../transports/cluster/directory.etcd.ts';
import { supervisedDirectory } from '../../transports/cluster/directory.supervised.ts';
import { runSupervisorDirectory } from '../../transports/cluster/supervisordirectory.ts';
import { channelPair } from '../support/channel.ts';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';
import { MemoryAuthority, memoryDirectory } from '../support/memorydirectory.ts';

const PARTITIONS = 300;
const TTL_MS = 3_000;

interface Kind {
  /** Directories of one cluster each. */
  cluster(): { open(): Directory };
}

let etcd: TestEtcd | null = null;
let clusters = 0;

const etcdOf = (clusterId: string, partitions = PARTITIONS): Directory =>
  etcdDirectory(
    {
      ...{ urls: [etcd?.url ?? ''], username: null, password: null, ca: null },
      ...{ clusterId, partitions, leaseTtlMs: TTL_MS },
    },
    { clock: systemClock, lease, random: Math.random, onFault: () => undefined },
  );

const KINDS: Record<string, Kind> = {
  'in memory': {
    cluster() {
      const authority = new MemoryAuthority(systemClock, { partitions: PARTITIONS, ttlMs: TTL_MS });
      return { open: () => memoryDirectory(authority) };
    },
  },
  'under a supervisor': {
    cluster() {
      const settings = { partitions: PARTITIONS, leaseTtlMs: TTL_MS };
      const supervisorDirectory = runSupervisorDirectory(settings, systemClock);
      const open = () => {
        const { one, other } = channelPair();
        supervisorDirectory.attach(one);
        return supervisedDirectory(other, settings, systemClock);
      };
      return { open };
    },
  },
  ...(etcdBinary && {
    'in etcd': {
      cluster() {
        clusters += 1;
        const name = `test-${clusters}`;
        return { open: () => etcdOf(name) };
      },
    },
  }),
};

beforeAll(async () => {
  if (etcdBinary) etcd = await startEtcd(etcdBinary);
});
afterAll(() => etcd?.stop());

const opened: Directory[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((directory) => directory.close()));
});

interface Member {
  readonly directory: Directory;
  readonly info: ShardInfo;
  readonly views: ClusterView[];
  readonly lost: string[];
  /** The safe time with each notification of a renewal. */
  readonly renewals: number[];
  /** The last view. */
  view(): ClusterView;
  /** The partitions that it owns in the last view. */
  owned(): number[];
}

let runs = 0;
async function enter(directory: Directory, id: string): Promise<Member> {
  opened.push(directory);
  runs += 1;
  const worker = await directory.worker();
  const info: ShardInfo = {
    ...{ id, instance: `${id}#${runs}`, address: '127.0.0.1:1', adminUrl: null, host: 'here', pid: 1 },
    ...{ weight: 100, worker, version: '1.0.0', startedMs: 1, draining: false },
  };
  const [views, lost, renewals]: [ClusterView[], string[], number[]] = [[], [], []];
  await directory.enter(info, {
    changed: (view) => void views.push(view),
    renewed: () => void renewals.push(directory.safeUntilMs()),
    lost: (reason) => void lost.push(reason),
  });
  const view = () => views.at(-1) as ClusterView;
  const owned = () =>
    view().owners.flatMap((owner, partition) => (owner?.instance === info.instance ? [partition] : []));
  return { directory, info, views, lost, renewals, view, owned };
}

async function until(what: string, done: () => boolean, timeoutMs = 10_000): Promise<void> {
  for (const giveUpMs = Date.now() + timeoutMs; !done(); await delay(10))
    if (Date.now() > giveUpMs) throw new Error(`${what} did not happen`);
}

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

describe.each(Object.entries(KINDS))('a directory %s', (_name, kind) => {
  test('gives every shard its own worker number, and lists the shards that have entered', async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    expect(a.info.worker).not.toBe(b.info.worker);
    expect(a.directory.partitions).toBe(PARTITIONS);
    await until('both are seen', () => a.view().shards.length === 2);
    expect(a.view().shards).toEqual([a.info, b.info]);
    expect(b.views[0]?.shards).toEqual([a.info, b.info]);
    expect(a.view().owners).toEqual(ALL.map(() => null));
  });

  test('gives each partition to one of several shards that claim it', async () => {
    const { open } = kind.cluster();
    const all = [await enter(open(), 'a'), await enter(open(), 'b'), await enter(open(), 'c')];
    const taken = await Promise.all(all.map(({ directory }) => directory.claim(ALL)));
    expect(taken.flat().sort((a, b) => a - b)).toEqual(ALL);
    // The view contains the answered claim already.
    for (const [index, member] of all.entries())
      expect(member.owned()).toEqual([...(taken[index] as readonly number[])]);
    await until('all see the same', () =>
      all.every(({ view }) => JSON.stringify(view().owners) === JSON.stringify(all[0]?.view().owners)),
    );
    expect(all[0]?.view().owners.every((owner) => owner?.epoch === 0)).toBe(true);
  });

  test('publishes epochs, and gives released partitions to the next claimant', async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    await a.directory.claim([1, 2, 3]);
    await a.directory.publish(new Map([1, 2, 3].map((partition) => [partition, partition + 10])));
    expect(a.view().owners[2]).toEqual({ shardId: 'a', instance: a.info.instance, epoch: 12 });
    await until('it is seen', () => b.view().owners[2]?.epoch === 12);
    expect(await b.directory.claim([2])).toEqual([]);
    await a.directory.release([2]);
    expect(a.view().owners[2]).toBeNull();
    expect(await b.directory.claim([2, 3])).toEqual([2]);
    // The earlier owner cannot release a partition of another shard.
    await a.directory.release([2]);
    expect(b.owned()).toEqual([2]);
    await until('it is seen', () => a.view().owners[2]?.instance === b.info.instance);
    expect(a.owned()).toEqual([1, 3]);
  });

  test('publishes changes of a shard', async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    await a.directory.update({ draining: true });
    await until('it is seen', () => b.view().shards[0]?.draining === true);
    expect(b.view().shards[0]).toEqual({ ...a.info, draining: true });
  });

  test('shows views with ascending revisions', async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    for (const partition of [1, 2, 3]) await a.directory.claim([partition]);
    await until('all is seen', () => b.view().owners[3] !== null);
    for (const { views } of [a, b]) {
      const revisions = views.map(({ revision }) => revision);
      expect(revisions).toEqual([...revisions].sort((x, y) => x - y));
    }
  });

  test('frees the partitions of a shard that leaves', async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    await a.directory.claim(ALL);
    await until('it is seen', () => b.view().owners[0] !== null);
    await a.directory.leave();
    await until('it is gone', () => b.view().shards.length === 1 && b.view().owners[0] === null);
    expect(a.lost).toEqual([]);
    expect(a.directory.safeUntilMs()).toBeLessThanOrEqual(systemClock.monotonic());
    expect(await b.directory.claim(ALL)).toEqual(ALL);
  });

  test('frees the partitions of an expired lease, whose shard stops before any other may claim them', {
    timeout: 30_000,
  }, async () => {
    const { open } = kind.cluster();
    const [a, b] = [await enter(open(), 'a'), await enter(open(), 'b')];
    await a.directory.claim(ALL);
    await delay(TTL_MS * 1.5);
    // The lease is renewed all the time.
    expect(a.directory.safeUntilMs()).toBeGreaterThan(systemClock.monotonic());
    expect(a.renewals.length).toBeGreaterThan(0);
    expect(a.renewals).toEqual([...a.renewals].sort((x, y) => x - y));
    const untilMs = a.directory.safeUntilMs();
    expect(a.renewals.at(-1)).toBe(untilMs);
    await a.directory.close();
    await until('it is gone', () => b.view().shards.length === 1, TTL_MS * 4);
    expect(systemClock.monotonic()).toBeGreaterThan(untilMs);
    expect(b.view().owners[0]).toBeNull();
    expect(b.lost).toEqual([]);
  });

  test('rejects a second run of a shard until the first one has left', { timeout: 30_000 }, async () => {
    const { open } = kind.cluster();
    const a = await enter(open(), 'a');
    const second = open();
    await expect(enter(second, 'a')).rejects.toThrow();
    await a.directory.leave();
    const again = await enter(second, 'a');
    expect(again.view().shards).toEqual([again.info]);
  });

  test('can be entered again after leaving', async () => {
    const { open } = kind.cluster();
    const directory = open();
    const a = await enter(directory, 'a');
    await directory.claim([5]);
    await directory.leave();
    const again = await enter(directory, 'a');
    expect(again.info.worker).toBe(a.info.worker);
    expect(again.view().owners[5]).toBeNull();
    expect(await directory.claim([5])).toEqual([5]);
    expect(again.owned()).toEqual([5]);
  });
});
