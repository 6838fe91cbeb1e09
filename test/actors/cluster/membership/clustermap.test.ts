// Goal: a shard knows the members and owners of the cluster from the directory's view, its own answered calls and what it holds.
import { describe, expect, it } from 'vitest';
import { ClusterMap } from '../../../../actors/cluster/membership/clustermap.ts';
import { Holdings } from '../../../../actors/cluster/membership/holdings.ts';
import type { ClusterView, Owner, OwnershipChange, ShardInfo } from '../../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';

const PARTITIONS = 4;

const shard = (id: string, over: Partial<ShardInfo> = {}): ShardInfo => ({
  ...{ id, instance: `${id}-run`, address: '127.0.0.1:1', adminUrl: null, host: 'h', pid: 1, weight: 1 },
  ...{ worker: 1, version: '0.1.0', startedMs: 0, draining: false, ...over },
});
const owner = (id: string, epoch: number): Owner => ({ shardId: id, instance: `${id}-run`, epoch });

const SELF = shard('a');
const OTHER = shard('b');

function arrange(shards: readonly ShardInfo[] = [SELF, OTHER]) {
  const clock = new VirtualClock();
  const map = new ClusterMap(SELF, PARTITIONS, clock);
  const changes: OwnershipChange[] = [];
  const stop = map.onChange((change) => changes.push(change));
  let revision = 0;
  const adopt = (owners: ClusterView['owners'], now = shards) => {
    revision += 1;
    return map.adopt({ revision, shards: now, owners });
  };
  return { clock, map, changes, stop, adopt, holdings: new Holdings(PARTITIONS, SELF.instance) };
}

const NOBODY = [null, null, null, null];

describe('the owner of a partition', () => {
  it('is nobody before the first view, and outside the partitions', () => {
    const { map } = arrange();
    expect([map.owner(0), map.owner(PARTITIONS)]).toEqual([null, null]);
    // Any view of a directory is newer.
    expect(map.view).toEqual({ revision: -1, shards: [], owners: NOBODY });
  });

  it('is another shard as soon as its epoch is published', () => {
    const { map, adopt } = arrange();
    adopt([owner('b', 0), owner('b', 1), null, null]);
    map.reckon(null);
    expect([0, 1, 2].map((at) => map.owner(at))).toEqual([null, owner('b', 1), null]);
  });

  it('is this shard while it serves the partition, whatever the directory says', () => {
    const { map, adopt, holdings } = arrange();
    holdings.serve(0, 5);
    adopt([owner('b', 4), null, null, null]);
    map.reckon(holdings);
    expect(map.owner(0)).toEqual(owner('a', 5));
    holdings.leave([0]);
    map.reckon(holdings);
    expect(map.owner(0)).toEqual(owner('b', 4));
  });

  it('is nobody when the directory names this shard, which does not serve the partition', () => {
    const { map, adopt, holdings } = arrange();
    adopt([owner('a', 3), null, null, null]);
    map.reckon(holdings);
    expect(map.owner(0)).toBeNull();
  });
});

describe('listeners', () => {
  it('hear the partitions whose owner or epoch changed, once', () => {
    const { map, adopt, changes } = arrange();
    adopt([owner('b', 1), owner('b', 1), null, null]);
    map.reckon(null);
    adopt([owner('b', 2), owner('b', 1), null, null]);
    map.reckon(null);
    map.reckon(null);
    expect(changes.map(({ moved }) => moved)).toEqual([[0, 1], [0]]);
  });

  it('name the other runs that left and joined, never their own', () => {
    const { map, adopt, changes } = arrange();
    map.reckon(null, adopt(NOBODY));
    const again = shard('b', { instance: 'b-2' });
    map.reckon(null, adopt(NOBODY, [SELF, again]));
    map.reckon(null, adopt(NOBODY, [again]));
    expect(changes).toEqual([
      { moved: [], gone: [], came: [OTHER] },
      { moved: [], gone: [OTHER], came: [again] },
    ]);
  });

  it('hear nothing after they stopped listening', () => {
    const { map, adopt, changes, stop } = arrange();
    stop();
    adopt([owner('b', 1), null, null, null]);
    map.reckon(null);
    expect(changes).toEqual([]);
  });
});

describe('an answered call that the view does not include yet', () => {
  it('is a claim without an epoch, of a partition that nobody else has', () => {
    const { map, adopt } = arrange();
    adopt([null, owner('b', 2), null, null]);
    map.noteClaimed([0, 1]);
    expect(map.view.owners).toEqual([owner('a', 0), owner('b', 2), null, null]);
  });

  it('is a published epoch, of a partition that is still ours', () => {
    const { map, adopt } = arrange();
    adopt([owner('a', 0), owner('b', 2), null, owner('a', 0)]);
    map.notePublished(
      new Map([
        [0, 7],
        [1, 7],
        [2, 7],
      ]),
    );
    expect(map.view.owners).toEqual([owner('a', 7), owner('b', 2), null, owner('a', 0)]);
  });

  it('is a release, of a partition that is still ours', () => {
    const { map, adopt } = arrange();
    adopt([owner('a', 3), owner('b', 2), owner('a', 3), null]);
    map.noteReleased([0, 1, 3]);
    expect(map.view.owners).toEqual([null, owner('b', 2), owner('a', 3), null]);
  });

  it('is a change of this shard itself', () => {
    const { map, adopt } = arrange();
    adopt(NOBODY);
    map.changeSelf({ draining: true });
    expect([map.self.draining, map.hidesDraining]).toEqual([true, true]);
    map.noteSelf();
    expect(map.view.shards).toEqual([{ ...SELF, draining: true }, OTHER]);
    expect(map.hidesDraining).toBe(false);
  });
});

describe('a shard that drains', () => {
  it('is free of its partitions when each has an owner with an epoch', () => {
    const { map, adopt } = arrange();
    adopt([owner('b', 1), owner('b', 1), owner('b', 1), owner('b', 0)]);
    expect(map.isServedByOthers).toBe(false);
    adopt([owner('b', 1), owner('b', 1), owner('b', 1), null]);
    expect(map.isServedByOthers).toBe(false);
    adopt([owner('b', 1), owner('b', 1), owner('b', 1), owner('b', 1)]);
    expect(map.isServedByOthers).toBe(true);
  });

  it('waits for nobody when no other shard remains, or the others drain too', () => {
    const { map, adopt } = arrange();
    adopt(NOBODY, [SELF]);
    expect(map.isServedByOthers).toBe(true);
    adopt(NOBODY, [SELF, shard('b', { draining: true })]);
    expect(map.isServedByOthers).toBe(true);
  });

  it('hides nothing while it is not in the view', () => {
    const { map, adopt } = arrange();
    adopt(NOBODY, [OTHER]);
    map.changeSelf({ draining: true });
    expect(map.hidesDraining).toBe(false);
  });
});

describe('the lag of a shard', () => {
  it('grows from the moment at which a partition that it should own is not served', () => {
    const { map, adopt, holdings, clock } = arrange([SELF]);
    clock.advance(1_000);
    adopt(NOBODY);
    expect([map.isLate, map.lagMs]).toEqual([false, 0]);
    map.reckon(holdings);
    clock.advance(30);
    map.reckon(holdings);
    clock.advance(12);
    expect([map.isLate, map.lagMs]).toEqual([true, 42]);
  });

  it('is over when all of them are served, and does not begin while it drains', () => {
    const { map, adopt, holdings, clock } = arrange([SELF]);
    adopt(NOBODY);
    map.reckon(holdings);
    for (let at = 0; at < PARTITIONS; at += 1) holdings.serve(at, 1);
    map.reckon(holdings);
    clock.advance(5);
    expect([map.isLate, map.lagMs]).toEqual([false, 0]);
    map.changeSelf({ draining: true });
    map.reckon(new Holdings(PARTITIONS, SELF.instance));
    expect(map.isLate).toBe(false);
  });
});

describe('the planned owners', () => {
  it('are spread over the shards that do not drain, and follow their weights', () => {
    const { map, adopt } = arrange();
    adopt(NOBODY);
    expect(new Set(map.wanted).size).toBeGreaterThan(0);
    expect(map.wanted).toBe(map.wanted);
    adopt(NOBODY, [SELF, shard('b', { draining: true })]);
    expect(map.wanted).toEqual(['a', 'a', 'a', 'a']);
    adopt(NOBODY, [SELF, shard('b', { weight: 1e9 })]);
    expect(map.wanted).toEqual(['b', 'b', 'b', 'b']);
  });
});
