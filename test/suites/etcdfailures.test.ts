// Goal: whatever happens to etcd, no partition is owned twice; a shard without a safe lease is suspended before another
// shard can own its partitions, and all are served again when etcd is back.
import { setTimeout as delay } from 'node:timers/promises';
import { Etcd3 } from 'etcd3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createOwnership, type ShardOwnership } from '../../actors/cluster/membership/ownership.ts';
import type { Directory } from '../../actors/cluster/ports.ts';
import { Lifetime, systemClock } from '../../actors/runtime/clock.ts';
import * as lease from '../../engine/placement/lease.ts';
import { etcdDirectory } from '../../transports/cluster/directory.etcd.ts';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';

const PARTITIONS = 64;
const TTL_MS = 3_000;
const IDS = Array.from({ length: 400 }, (_, n) => String(1_000_000 + n * 7));

interface Shard {
  readonly ownership: ShardOwnership;
  readonly directory: Directory;
  readonly faults: string[];
  /** How often partitions were abandoned without a handover. */
  abandoned: number;
  /** The ids that it owns now. */
  owned(): string[];
}

let etcd: TestEtcd;
const shards: Shard[] = [];
const epochs = new Map<number, number>();
const lifetime = new Lifetime(systemClock);

const takeOver = async (partitions: readonly number[]) => {
  await delay(1);
  for (const partition of partitions) epochs.set(partition, (epochs.get(partition) ?? 0) + 1);
  return new Map(partitions.map((partition) => [partition, epochs.get(partition) as number]));
};

async function shardOf(clusterId: string, id: string, partitions = PARTITIONS): Promise<Shard> {
  const faults: string[] = [];
  const onFault = (error: unknown, what: string) => void faults.push(`${what}: ${(error as Error).message}`);
  const settings = { urls: [etcd.url], username: null, password: null, ca: null, clusterId, partitions };
  const directory = etcdDirectory(
    { ...settings, leaseTtlMs: TTL_MS },
    { clock: systemClock, lease, random: Math.random, onFault },
  );
  const ownership = createOwnership({
    self: {
      ...{ id, instance: `${id}.${shards.length}`, address: '127.0.0.1:1', adminUrl: null, host: 'here' },
      ...{ pid: 1, weight: 100, version: '1.0.0', startedMs: 0 },
    },
    ...{ directory, lifetime, random: Math.random, onFault, numbered: () => undefined },
    store: { takeOver },
    handover: {
      handOver: async () => undefined,
      abandon: () => {
        shard.abandoned += 1;
      },
    },
    handoverTimeoutMs: 1_000,
  });
  const owned = () => IDS.filter((each) => ownership.owns(each));
  const shard: Shard = { ownership, directory, faults, abandoned: 0, owned };
  shards.push(shard);
  await ownership.start();
  return shard;
}

async function until(what: string, done: () => boolean, timeoutMs = 30_000): Promise<void> {
  for (const giveUpMs = Date.now() + timeoutMs; !done(); await delay(5)) {
    expect(twice()).toEqual([]);
    if (Date.now() > giveUpMs)
      throw new Error(`${what} did not happen: ${shards.map((s) => s.faults.join(' | '))}`);
  }
}

/** The ids that two shards own at this moment. */
const twice = () => IDS.filter((id) => shards.filter(({ ownership }) => ownership.owns(id)).length > 1);
const allServed = (among: readonly Shard[]) => () =>
  among.reduce((sum, { owned }) => sum + owned().length, 0) === IDS.length;

beforeAll(async () => {
  if (etcdBinary) etcd = await startEtcd(etcdBinary);
});
afterEach(async () => {
  for (const { ownership, directory } of shards.splice(0)) {
    await ownership.close();
    await directory.close();
  }
});
afterAll(async () => {
  await lifetime.close();
  await etcd?.stop();
});

describe.skipIf(etcdBinary === null)('shards in etcd', () => {
  test('share all partitions between them', async () => {
    const [a, b] = [await shardOf('share', 'a'), await shardOf('share', 'b')];
    await until('all is served', allServed([a, b]));
    await until('both have some', () => a.owned().length > 0 && b.owned().length > 0);
    await until('each knows the other', () =>
      a.owned().every((id) => b.ownership.ownerOf(id)?.shardId === 'a'),
    );
  });

  test('are suspended while etcd is silent, and serve all partitions again when it returns', async () => {
    const [a, b] = [await shardOf('pause', 'a'), await shardOf('pause', 'b')];
    await until('all is served', allServed([a, b]));
    const safeMs = Math.max(a.directory.safeUntilMs(), b.directory.safeUntilMs());
    etcd.pause();
    try {
      await until('they are suspended', () =>
        [a, b].every(({ ownership }) => ownership.state === 'suspended'),
      );
      // Renewals that were answered before the pause may have extended the lease a little.
      expect(systemClock.monotonic()).toBeLessThan(safeMs + TTL_MS);
      expect([a, b].flatMap(({ owned }) => owned())).toEqual([]);
      expect(IDS.every((id) => a.ownership.fenceOf(id) === null)).toBe(true);
      const sinceMs = Date.now();
      await until('time passes', () => Date.now() > sinceMs + TTL_MS);
    } finally {
      etcd.resume();
    }
    await until('all is served again', allServed([a, b]));
    await until('both say so', () => [a, b].every(({ ownership }) => ownership.state === 'serving'));
  });

  test('keep their partitions and epochs over a restart of etcd', async () => {
    const [a, b] = [await shardOf('restart', 'a'), await shardOf('restart', 'b')];
    await until('all is served', allServed([a, b]));
    // Epochs are written after owners, and reach the other shards later.
    await until('all epochs are known', () =>
      a.ownership.view.owners.every((owner) => owner !== null && owner.epoch > 0),
    );
    const before = a.ownership.view.owners;
    await etcd.restart();
    await until('leases are renewed', () =>
      [a, b].every(({ directory }) => directory.safeUntilMs() > systemClock.monotonic() + TTL_MS / 2),
    );
    await until('all is served', allServed([a, b]));
    expect(a.ownership.view.owners).toEqual(before);
    expect([a.abandoned, b.abandoned]).toEqual([0, 0]);
    // Changes are received again.
    const c = await shardOf('restart', 'c');
    await until('three share', () => c.owned().length > 0 && allServed([a, b, c])());
  });

  test('enter again when their membership was deleted', async () => {
    const a = await shardOf('removed', 'a');
    const client = new Etcd3({ hosts: etcd.url });
    await client.delete().key('/guildhall/removed/members/a');
    client.close();
    await until('it is lost', () => a.abandoned > 0);
    await until('all is served', allServed([a]));
  });

  test('ignore foreign and malformed keys under their prefix', async () => {
    const a = await shardOf('strange', 'a');
    const client = new Etcd3({ hosts: etcd.url });
    await client.put('/guildhall/strange/members/x').value('{"id":"y"}');
    await client.put('/guildhall/strange/members/z').value('not JSON');
    await client.put('/guildhall/strange/partitions/99999').value('{}');
    await client.put('/guildhall/strange/partitions/many').value('{}');
    await client.put('/guildhall/strange/other').value('');
    client.close();
    const b = await shardOf('strange', 'b');
    await until('two share', () => b.owned().length > 0 && allServed([a, b])());
    expect(a.ownership.view.shards.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('reject another number of partitions', async () => {
    await shardOf('count', 'a');
    await expect(shardOf('count', 'b', PARTITIONS * 2)).rejects.toThrow(
      'The cluster "count" has 64 partitions, and this shard is set to 128.',
    );
  });

  test('are separate from another cluster in the same etcd', async () => {
    const a = await shardOf('one', 'a');
    const b = await shardOf('one-b', 'a');
    expect([a, b].map(({ owned }) => owned().length)).toEqual([IDS.length, IDS.length]);
    expect([a, b].map(({ ownership }) => ownership.view.shards.length)).toEqual([1, 1]);
  });
});
