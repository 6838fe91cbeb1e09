// Goal: partitions move one step at a time: what is served is published, what leaves is drained before it is released,
// and one slow or failed step affects only its own partitions.
import { describe, expect, it } from 'vitest';
import { ClusterMap } from '../../../../actors/cluster/membership/clustermap.ts';
import { Holdings } from '../../../../actors/cluster/membership/holdings.ts';
import { PartitionMoves } from '../../../../actors/cluster/membership/partitionmoves.ts';
import type { Owner, ShardInfo } from '../../../../actors/placement/ports.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { partitionOf } from '../../../../engine/placement/partition.ts';

const HANDOVER_MS = 1_000;

const shard = (id: string, change: Partial<ShardInfo> = {}): ShardInfo => ({
  ...{ id, instance: `${id}#1`, address: `${id}:1`, adminUrl: null, host: 'here', pid: 1 },
  ...{ weight: 100, worker: 0, version: '1.0.0', startedMs: 0, draining: false },
  ...change,
});
const OURS: Owner = { shardId: 'a', instance: 'a#1', epoch: 1 };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const settled = () => new Promise(setImmediate);

/** Shard `a` with a directory and a database that do as the test says, and the steps that both were asked for. */
function arrange(partitions = 8) {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const map = new ClusterMap(shard('a'), partitions, clock);
  const holdings = new Holdings(partitions, 'a#1');
  const log: unknown[] = [];
  const state = {
    taken: null as readonly number[] | null,
    takeOver: (_partitions: readonly number[]): Promise<void> | null => null,
    /** Runs before the handover ends. */
    handing: (): void => undefined,
    /** An id of each partition. */
    ids: new Map<number, string>(),
  };
  for (let n = 0; state.ids.size < partitions; n += 1)
    state.ids.set(partitionOf(String(n), partitions), String(n));
  const among = (owned: (id: string) => boolean) =>
    [...state.ids].flatMap(([partition, id]) => (owned(id) ? [partition] : [])).sort((a, b) => a - b);
  const moves = new PartitionMoves({
    ...{ scope, map, holdings, handoverTimeoutMs: HANDOVER_MS },
    directory: {
      partitions,
      async update(change: object) {
        log.push(['update', change]);
      },
      async claim(wanted: readonly number[]) {
        log.push(['claim', wanted]);
        return state.taken ?? wanted;
      },
      async publish(epochs: ReadonlyMap<number, number>) {
        log.push(['publish', ...epochs]);
      },
      async release(released: readonly number[]) {
        log.push(['release', released]);
      },
    },
    store: {
      async takeOver(step: readonly number[], shardId: string) {
        log.push(['take over', step.length > 8 ? step.length : step, shardId]);
        await state.takeOver(step);
        return new Map(step.map((partition) => [partition, 7]));
      },
    },
    handover: {
      async handOver(owned: (id: string) => boolean, deadlineMs: number) {
        log.push(['hand over', among(owned), deadlineMs]);
        state.handing();
      },
      abandon: (owned: (id: string) => boolean) => void log.push(['abandon', among(owned)]),
    },
  } as unknown as ConstructorParameters<typeof PartitionMoves>[0]);
  const adopt = (shards: readonly ShardInfo[], owners: readonly (Owner | null)[]) => {
    map.adopt({
      ...{ revision: 1, shards },
      owners: range(0, partitions).map((partition) => owners[partition] ?? null),
    });
    map.reckon(holdings);
  };
  const step = async () => [await moves.step(), ...log.splice(0)];
  return { clock, scope, map, holdings, moves, state, log, adopt, step };
}

/** Shard `a` owns and serves all partitions. */
function serving(partitions = 8) {
  const instance = arrange(partitions);
  for (const partition of range(0, partitions)) instance.holdings.serve(partition, 1);
  instance.adopt(
    [shard('a')],
    range(0, partitions)
      .fill(0)
      .map(() => OURS),
  );
  return instance;
}

describe('a shard without partitions', () => {
  it('claims those that are free, then serves and publishes them, then has nothing to do', async () => {
    const { adopt, step, map } = arrange(2);
    adopt([shard('a')], []);
    expect(await step()).toEqual([true, ['claim', [0, 1]]]);
    expect(await step()).toEqual([true, ['take over', [0, 1], 'a'], ['publish', [0, 7], [1, 7]]]);
    expect([map.owner(0), map.view.owners[1]]).toEqual([
      { ...OURS, epoch: 7 },
      { ...OURS, epoch: 7 },
    ]);
    expect(await step()).toEqual([false]);
  });

  it('has nothing more to do when another shard was faster with its claim', async () => {
    const { adopt, step, state } = arrange(2);
    adopt([shard('a')], []);
    state.taken = [];
    expect(await step()).toEqual([false, ['claim', [0, 1]]]);
    state.taken = [1];
    expect(await step()).toEqual([true, ['claim', [0, 1]]]);
    expect(await step()).toMatchObject([true, ['take over', [1], 'a'], ['publish', [1, 7]]]);
  });

  it.each([
    [300, [128, 128, 44]],
    [256, [128, 128]],
  ])(
    'takes over %i partitions in transactions of at most 128, and publishes each by itself',
    async (count, sizes) => {
      const { adopt, step, holdings } = arrange(count);
      adopt(
        [shard('a')],
        range(0, count).map(() => ({ ...OURS, epoch: 0 })),
      );
      const [done, ...log] = (await step()) as [boolean, ...[string, ...unknown[]][]];
      expect([done, log.slice(0, sizes.length)]).toEqual([
        true,
        sizes.map((size) => ['take over', size, 'a']),
      ]);
      expect(log.slice(sizes.length).map(([what, ...epochs]) => [what, epochs.length])).toEqual(
        sizes.map((size) => ['publish', size]),
      );
      expect(range(0, count).every((partition) => holdings.serves(partition))).toBe(true);
    },
  );

  it('serves the other partitions when one transaction fails or hangs, and reports the fault', async () => {
    for (const [fails, message] of [
      [() => Promise.reject(new Error('The database is away.')), 'The database is away.'],
      [() => new Promise<void>(() => undefined), `Not done within ${HANDOVER_MS} ms.`],
    ] as const) {
      const { clock, adopt, moves, state, holdings } = arrange(200);
      adopt(
        [shard('a')],
        range(0, 200).map(() => ({ ...OURS, epoch: 0 })),
      );
      state.takeOver = ([first]) => (first === 0 ? fails() : null);
      const stepping = expect(moves.step()).rejects.toThrow(message);
      await settled();
      clock.advance(HANDOVER_MS);
      await stepping;
      expect([holdings.serves(127), holdings.serves(128)]).toEqual([false, true]);
    }
  });

  it('serves nothing that it takes over after its membership has ended', async () => {
    const { scope, adopt, moves, state, holdings } = arrange(2);
    adopt([shard('a')], [{ ...OURS, epoch: 0 }]);
    state.takeOver = () => {
      void scope.close();
      return null;
    };
    await expect(moves.step()).rejects.toThrow('The lifetime is closed.');
    expect([holdings.serves(0), holdings.fence(0)]).toEqual([false, null]);
  });
});

describe('a shard that serves', () => {
  it('has nothing to do while the directory shows its partitions with their epochs', async () => {
    expect(await serving().step()).toEqual([false]);
  });

  it('publishes epochs again that the directory does not show', async () => {
    const { adopt, step } = serving(3);
    adopt([shard('a')], [OURS, { ...OURS, epoch: 0 }, OURS]);
    expect(await step()).toEqual([true, ['publish', [1, 1]]]);
    expect(await step()).toEqual([false]);
  });

  it('drains partitions of another shard before it releases them, and rejects work meanwhile', async () => {
    const { adopt, step, map, holdings, state } = serving();
    adopt(
      [shard('a', { weight: 1 }), shard('b', { weight: 1_000_000 })],
      range(0, 8).map(() => OURS),
    );
    const leaving = range(0, 8);
    let seen: unknown;
    state.handing = () => {
      seen = leaving.map((at) => [holdings.serves(at), holdings.fence(at)?.epoch, map.owner(at)]);
    };
    expect(await step()).toEqual([true, ['hand over', leaving, HANDOVER_MS], ['release', leaving]]);
    expect(seen).toEqual(leaving.map(() => [false, 1, null]));
    expect(leaving.map((at) => [holdings.fence(at), map.view.owners[at]])).toEqual(
      leaving.map(() => [null, null]),
    );
    expect(await step()).toEqual([false]);
  });

  it('hands over at most 128 partitions in one step', async () => {
    const { adopt, step, holdings } = serving(200);
    adopt(
      [shard('a', { draining: true }), shard('b')],
      range(0, 200).map(() => OURS),
    );
    expect(await step()).toEqual([
      true,
      ['hand over', range(0, 128), HANDOVER_MS],
      ['release', range(0, 128)],
    ]);
    expect([holdings.serves(127), holdings.serves(128)]).toEqual([false, true]);
    expect(await step()).toEqual([
      true,
      ['hand over', range(128, 200), HANDOVER_MS],
      ['release', range(128, 200)],
    ]);
  });

  it('claims free partitions before it hands over others, which takes longer', async () => {
    const { adopt, step, map } = serving(16);
    const shards = [shard('a'), shard('b')];
    adopt(shards, []);
    const ours = range(0, 16).filter((partition) => map.wanted[partition] === 'a');
    const theirs = range(0, 16).filter((partition) => map.wanted[partition] === 'b');
    expect(Math.min(ours.length, theirs.length)).toBeGreaterThan(0);
    adopt(
      shards,
      range(0, 16).map((partition) => (theirs.includes(partition) ? OURS : null)),
    );
    expect(await step()).toEqual([true, ['claim', ours]]);
  });

  it('does not take over a partition that it owns and is to release', async () => {
    const { adopt, step } = arrange();
    adopt([shard('a', { draining: true }), shard('b')], [{ ...OURS, epoch: 0 }]);
    expect(await step()).toEqual([true, ['hand over', [0], HANDOVER_MS], ['release', [0]]]);
  });

  it('first tells the directory that it drains', async () => {
    const { adopt, step, map } = serving(2);
    adopt([shard('a'), shard('b')], [OURS, OURS]);
    map.changeSelf({ draining: true });
    expect(await step()).toEqual([true, ['update', { draining: true }]]);
    expect(map.view.shards[0]?.draining).toBe(true);
    expect(await step()).toEqual([true, ['hand over', [0, 1], HANDOVER_MS], ['release', [0, 1]]]);
  });

  it('releases partitions whose epoch the database rejected before anything else, to claim them again', async () => {
    const { moves, step, holdings, map, log } = serving(3);
    holdings.rejected.add(1);
    moves.letGo([1]);
    expect(log.splice(0)).toEqual([['abandon', [1]]]);
    expect(await step()).toEqual([true, ['release', [1]]]);
    expect([holdings.rejected.size, map.view.owners[1], map.owner(0)]).toEqual([0, null, OURS]);
    expect(await step()).toEqual([true, ['claim', [1]]]);
  });

  it('ends the actors of lost partitions without draining, and does not own them at that moment', () => {
    const { moves, holdings, map, log } = serving(4);
    moves.letGo([0, 2]);
    expect(log).toEqual([['abandon', [0, 2]]]);
    expect(range(0, 4).map((at) => [holdings.fence(at) === null, map.owner(at) === null])).toEqual(
      [true, false, true, false].map((lost) => [lost, lost]),
    );
  });
});
