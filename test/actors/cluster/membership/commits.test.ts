// Goal: nothing is written without the right to it, answers keep their order, and what may be tried again is.
import { describe, expect, it } from 'vitest';
import { createAggregateOwnership } from '../../../../actors/cluster/membership/aggregateownership.ts';
import {
  committing,
  committingAsOwner,
  fencedWriter,
} from '../../../../actors/cluster/membership/commits.ts';
import { standaloneCluster } from '../../../../actors/cluster/shard.ts';
import type { Ownership, OwnershipChange } from '../../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { DEFAULTS } from '../../../../config/config.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import type { ClusterStore, Snapshot } from '../../../../storage/cluster/port.ts';
import type { Fence } from '../../../../storage/database/driver.ts';
import { StaleEpoch, StorageFault } from '../../../../storage/database/driver.ts';
import type { Commit, Writer } from '../../../../storage/ports.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

function arrange() {
  const held: Commit[] = [];
  const flushes: (() => void)[] = [];
  const writer: Writer = {
    get depth() {
      return held.length;
    },
    flush: () => (held.length === 0 ? Promise.resolve() : new Promise((resolve) => flushes.push(resolve))),
    commit: (commit) => void held.push(commit),
  };
  const settle = (fault: Error | null = null) => {
    for (const commit of held.splice(0)) commit.done(fault);
    for (const resolve of flushes.splice(0)) resolve();
  };
  const fences = new Map<string, Fence>();
  const hearers = new Set<(change: OwnershipChange) => void>();
  const stale: (readonly [number, number | undefined])[] = [];
  const ownership: Ownership = {
    ...standaloneCluster().ownership,
    owns: (id) => fences.has(id),
    fenceOf: (id) => fences.get(id) ?? null,
    onChange(run) {
      hearers.add(run);
      return () => void hearers.delete(run);
    },
    stale: (partition, epoch) => void stale.push([partition, epoch]),
  };
  const bugs: unknown[] = [];
  const fenced = fencedWriter(writer, ownership, (error) => bugs.push(error));
  const told: string[] = [];
  const commit = (ownerId: string, name: string, fence?: Fence) =>
    fenced.commit({
      ownerId,
      facts: [],
      ...(fence && { fence }),
      done: (fault) => told.push(`${name} ${fault?.name ?? 'done'}`),
    });
  return { writer, held, settle, fences, hearers, stale, ownership, fenced, told, commit, bugs };
}

const fence = (epoch: number): Fence => ({ partition: 4, epoch });

describe('the writer of a shard', () => {
  it('is, in a standalone process, the writer of the storage', () => {
    const { writer, bugs } = arrange();
    const { ownership, parts } = standaloneCluster();
    expect(parts.writer(writer, ownership, (error) => bugs.push(error))).toBe(writer);
  });

  it('adds to each commit the epoch under which it was decided', () => {
    const { commit, fences, held } = arrange();
    fences.set('1', fence(3));
    commit('1', 'a');
    commit('1', 'b', fence(3));
    expect(held.map((each) => each.fence)).toEqual([fence(3), fence(3)]);
  });

  it('rejects commits without ownership, and decisions on state of another epoch', async () => {
    const { commit, fences, held, told } = arrange();
    commit('1', 'no right');
    fences.set('2', fence(3));
    commit('2', 'read before', fence(2));
    await settled();
    expect([held, told]).toEqual([[], ['no right NotServed', 'read before NotServed']]);
  });

  it('answers in the order of the commits, and rejects decisions that follow a rejected one', async () => {
    const { commit, fences, held, told, settle } = arrange();
    fences.set('1', fence(3));
    commit('1', 'first');
    fences.delete('1');
    commit('1', 'second');
    fences.set('1', fence(3));
    commit('1', 'third');
    await settled();
    expect([told, held.length]).toEqual([[], 1]);
    settle();
    await settled();
    expect(told).toEqual(['first done', 'second NotServed', 'third NotServed']);
    commit('1', 'fourth');
    expect(held).toHaveLength(1);
  });

  it('rejects decisions until the last rejected commit before them was answered', async () => {
    const { fenced, fences, commit, told, held } = arrange();
    fenced.commit({ ownerId: '1', facts: [], done: () => commit('1', 'between') });
    commit('1', 'second');
    fences.set('1', fence(3));
    await settled();
    expect([held, told]).toEqual([[], ['second NotServed', 'between NotServed']]);
    commit('1', 'after all');
    expect(held).toHaveLength(1);
  });

  it('gives the partition back when a commit of an actor met an unsafe lease, and not for commits of services', async () => {
    const { commit, fences, told, stale, ownership } = arrange();
    const order: string[] = [];
    ownership.stale = (partition, epoch) => {
      order.push(...told.splice(0), 'stale');
      stale.push([partition, epoch]);
    };
    commit('1', 'decided under the lease', fence(3));
    commit('1', 'of a service');
    fences.set('1', fence(3));
    await settled();
    expect([order, told, stale]).toEqual([
      ['decided under the lease NotServed', 'stale'],
      ['of a service NotServed'],
      [[4, 3]],
    ]);
  });

  it('continues when a listener of refused commits throws', async () => {
    const { fenced, fences, commit, told, held, bugs } = arrange();
    const bug = new Error('planted');
    const done = () => {
      throw bug;
    };
    fenced.commit({ ownerId: '1', facts: [], done });
    commit('1', 'second');
    await settled();
    fences.set('1', fence(3));
    commit('1', 'third');
    expect([bugs, told, held.length]).toEqual([[bug], ['second NotServed'], 1]);
  });

  it('rejects the waiting commits, then notifies the ownership, when the database refuses an epoch', async () => {
    const { commit, fences, told, settle, stale, ownership } = arrange();
    fences.set('1', fence(3));
    const order: string[] = [];
    ownership.stale = (partition, epoch) => {
      order.push(...told, 'stale');
      stale.push([partition, epoch]);
    };
    commit('1', 'late');
    settle(new StaleEpoch(fence(3)));
    expect([order, stale]).toEqual([['late NotServed', 'stale'], [[4, 3]]]);
    commit('1', 'other');
    settle(new StorageFault('gone'));
    expect([told.at(-1), stale.length]).toEqual(['other StorageFault', 1]);
  });
});

describe('a commit for any id', () => {
  it('is retried when its partition has another owner', async () => {
    const { fenced, ownership, fences, hearers, held, settle } = arrange();
    const commit = committing(fenced, ownership, new VirtualClock());
    const done = commit('1', []);
    await settled();
    fences.set('1', fence(5));
    for (const hear of [...hearers]) hear({ moved: [4], gone: [], came: [] });
    await settled();
    expect(held.map((each) => each.fence)).toEqual([fence(5)]);
    settle();
    await done;
    expect(hearers.size).toBe(0);
  });

  it('is given up after three retries, and at once for any other fault', async () => {
    const { fenced, ownership, fences, settle } = arrange();
    const clock = new VirtualClock();
    let tries = 0;
    const counting: Writer = {
      ...{ depth: 0, flush: () => Promise.resolve() },
      commit(each) {
        tries += 1;
        fenced.commit(each);
      },
    };
    const commit = committing(counting, ownership, clock);
    const outcome = commit('1', []).catch((fault) => fault);
    for (let turn = 0; turn < 5; turn += 1) {
      await settled();
      clock.advance(500);
    }
    expect([await outcome, tries]).toEqual([expect.any(NotServed), 4]);
    fences.set('1', fence(5));
    const failing = commit('1', []);
    settle(new StorageFault('gone'));
    await expect(failing).rejects.toThrow('gone');
  });
});

describe('a commit that only the owner decides', () => {
  it('is written by the owner only, once', async () => {
    const { fenced, ownership, fences, held, settle } = arrange();
    const commit = committingAsOwner(fenced, ownership);
    fences.set('1', fence(3));
    const done = commit('1', []);
    expect(held.map((each) => each.fence)).toEqual([fence(3)]);
    settle();
    await done;
    // Another shard owns it, whose epoch is known: with that the database would take the commit.
    ownership.owns = () => false;
    fences.set('1', fence(4));
    await expect(commit('1', [])).rejects.toThrow(NotServed);
    expect(held).toEqual([]);
  });
});

describe('the handover state between owners', () => {
  function ownershipOver(store: Partial<ClusterStore>) {
    const { ownership, fences } = arrange();
    const clock = new VirtualClock();
    const wheel = new TimerWheel(clock);
    const foundation = { config: DEFAULTS, clock, wheel, metrics: [], onFault: () => undefined };
    const aggregateOwnership = createAggregateOwnership(foundation, store as ClusterStore, ownership);
    return { aggregateOwnership, clock, wheel, fences };
  }

  it('alone is nothing', () => {
    const clock = new VirtualClock();
    const wheel = new TimerWheel(clock);
    const foundation = { config: DEFAULTS, clock, wheel, metrics: [], onFault: () => undefined };
    const { parts, ownership } = standaloneCluster();
    expect(parts.aggregateOwnership(foundation, {} as ClusterStore, ownership)).toBeNull();
    expect([wheel.size, foundation.metrics]).toEqual([0, []]);
  });

  it('is written in one transaction per turn; when one is refused, each separately', async () => {
    const written: string[][] = [];
    const { aggregateOwnership } = ownershipOver({
      keepSnapshots: async (snapshots: readonly Snapshot[]) => {
        written.push(snapshots.map(({ ownerId }) => ownerId));
        if (snapshots.some(({ ownerId }) => ownerId === '2')) throw new StaleEpoch(fence(1));
      },
    });
    const keep = (ownerId: string) => aggregateOwnership.saveSnapshot({ ownerId, fence: fence(1), data: {} });
    const outcomes = await Promise.allSettled(['1', '2', '3'].map(keep));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(written).toEqual([['1', '2', '3'], ['1'], ['2'], ['3']]);
  });

  it('counts for two minutes', async () => {
    let atMs = 0;
    const { aggregateOwnership, clock } = ownershipOver({
      snapshot: async () => ({ atMs, data: { a: 1 } }),
    });
    atMs = clock.now();
    clock.advance(120_000);
    expect(await aggregateOwnership.snapshot('1')).toEqual({ a: 1 });
    clock.advance(1);
    expect(await aggregateOwnership.snapshot('1')).toBeNull();
  });

  it('counts again once an outdated one is deleted and another shard has written a new one', async () => {
    const dropped: string[] = [];
    let deleted = (): void => undefined;
    const deletion = new Promise<void>((resolve) => (deleted = resolve));
    const { aggregateOwnership, clock } = ownershipOver({
      snapshot: async () => ({ atMs: clock.now(), data: { a: 1 } }),
      dropSnapshots: (ids) => {
        dropped.push(...ids);
        return deletion;
      },
    });
    const dropping = aggregateOwnership.dropSnapshot('1');
    await settled();
    expect([dropped, await aggregateOwnership.snapshot('1')]).toEqual([['1'], null]);
    deleted();
    await dropping;
    expect(await aggregateOwnership.snapshot('1')).toEqual({ a: 1 });
  });

  it('includes the replies to commands for four deadlines of a command', () => {
    const { aggregateOwnership } = ownershipOver({});
    expect(aggregateOwnership.keys.ageMs).toBe(4 * DEFAULTS.command_deadline_ms);
  });

  it('is pruned by one shard, every minute', () => {
    const pruned: number[] = [];
    const { clock, wheel, fences } = ownershipOver({
      pruneRecords: async (beforeMs) => void pruned.push(beforeMs),
    });
    const from = clock.now();
    clock.advance(60_100);
    expect(pruned).toEqual([]);
    fences.set('0', fence(1));
    clock.advance(60_000);
    expect(pruned.map((ms) => Math.round((ms - from) / 60_000))).toEqual([
      2 - DEFAULTS.record_age_ms / 60_000,
    ]);
    wheel.stop();
  });
});
