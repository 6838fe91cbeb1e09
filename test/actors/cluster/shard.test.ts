// Goal: a shard connects to the shards that join, says why it serves nothing, and releases what others took over before it
// joins again.
import { expect, test } from 'vitest';
import type { Links } from '../../../actors/cluster/ports.ts';
import { createShard } from '../../../actors/cluster/shard.ts';
import type { ShardInfo } from '../../../actors/placement/ports.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { MemoryAuthority, memoryDirectory } from '../../support/memorydirectory.ts';

const PARTITIONS = 4;

function cluster() {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const authority = new MemoryAuthority(clock, { partitions: PARTITIONS, ttlMs: 10_000 });
  const epochs = new Map<number, number>();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed <= ms; passed += 50) {
      for (let turn = 0; turn < 60; turn += 1) await Promise.resolve();
      clock.advance(50);
    }
  };
  const open = (id: string) => {
    const followed: string[][] = [];
    const links: Links = {
      ask: () => Promise.reject(new Error('There is no link.')),
      tell: () => undefined,
      onBroken: () => undefined,
      follow: (shards: readonly ShardInfo[]) => void followed.push(shards.map((shard) => shard.id)),
      close: async () => undefined,
    };
    const shard = createShard({
      self: {
        ...{ id, instance: `${id}#1`, address: `${id}:1`, adminUrl: null, host: 'here', pid: 1 },
        ...{ weight: 100, version: '1.0.0', startedMs: 0 },
      },
      ...{ links, clock, wheel, lifetime: new Lifetime(clock), directory: memoryDirectory(authority) },
      store: {
        async takeOver(partitions) {
          for (const each of partitions) epochs.set(each, (epochs.get(each) ?? 0) + 1);
          return new Map(partitions.map((each) => [each, epochs.get(each) as number]));
        },
        isLast: async ({ partition, epoch }) => epochs.get(partition) === epoch,
      },
      randomBytes: (size) => new Uint8Array(size),
      random: () => 0.5,
      numbered: () => undefined,
      handoverTimeoutMs: 1_000,
      deadlineMs: 1_000,
      onFault: () => undefined,
    });
    return { ...shard, followed };
  };
  return { authority, open, pass };
}

test('a shard follows who joins and leaves, counts what it owns, and says why it serves nothing', async () => {
  const { open, pass } = cluster();
  const [a, b] = [open('a'), open('b')];
  expect(a.unready()).toEqual({ cluster: 'This shard is not in the cluster yet.' });
  await Promise.all([a.ownership.start(), pass(500)]);
  expect([a.unready(), a.partitionsOwned(), a.admits('1')]).toEqual([{}, PARTITIONS, true]);
  await Promise.all([b.ownership.start(), pass(3_000)]);
  expect(a.partitionsOwned() + b.partitionsOwned()).toBe(PARTITIONS);
  expect(a.followed.at(-1)).toEqual(['a', 'b']);
  const calls = a.followed.length;
  await Promise.all([b.ownership.close(), pass(3_000)]);
  expect(a.followed.slice(calls)).toEqual([['a']]);
  expect(b.unready()).toEqual({ cluster: 'This shard has left the cluster.' });
});

test('a shard runs what releases its sessions before it joins again', async () => {
  const { authority, open, pass } = cluster();
  const shard = open('a');
  const log: string[] = [];
  shard.beforeRejoin.add(async () => void log.push('released'));
  shard.participants.set('guild', {
    size: 1,
    handOver: async () => undefined,
    abandon: () => void log.push('abandoned'),
  });
  await Promise.all([shard.ownership.start(), pass(500)]);
  expect(log).toEqual([]);
  authority.end('a#1', 'The lease has expired.');
  await pass(5_000);
  expect(log).toEqual(['abandoned', 'released']);
  expect(shard.partitionsOwned()).toBe(PARTITIONS);
});
