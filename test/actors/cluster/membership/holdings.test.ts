// Goal: a membership knows which partitions it serves, which it drains, and which the directory gave or took.
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdings } from '../../../../actors/cluster/membership/holdings.ts';
import type { Owner } from '../../../../actors/placement/ports.ts';

const ours = (epoch: number): Owner => ({ shardId: 'a', instance: 'a-run', epoch });
const theirs: Owner = { shardId: 'b', instance: 'b-run', epoch: 9 };
const view = (...owners: (Owner | null)[]) => ({ revision: 1, shards: [], owners });

let holdings: Holdings;
beforeEach(() => {
  holdings = new Holdings(4, 'a-run');
});

describe('a partition', () => {
  it('is served under its epoch until it is left, and may be written until it is forgotten', () => {
    expect([holdings.servesAny, holdings.serves(1), holdings.fence(1)]).toEqual([false, false, null]);
    holdings.serve(1, 6);
    const fence = { partition: 1, epoch: 6 };
    expect([holdings.servesAny, holdings.serves(1), holdings.fence(1)]).toEqual([true, true, fence]);
    holdings.leave([0, 1]);
    expect([holdings.servesAny, holdings.serves(1), holdings.fence(1)]).toEqual([false, false, fence]);
    expect(holdings.fence(0)).toBeNull();
    holdings.forget([1]);
    expect(holdings.fence(1)).toBeNull();
  });

  it('has no fence outside the range', () => expect(holdings.fence(4)).toBeNull());
});

describe('a view of the directory', () => {
  beforeEach(() => {
    holdings.serve(0, 1);
    holdings.serve(1, 1);
    holdings.serve(2, 1);
    holdings.leave([2]);
  });

  it('takes held partitions, served or draining, that it gives to another shard or to none', () => {
    expect(holdings.lostBy(view(ours(1), theirs, null, theirs))).toEqual([1, 2]);
  });

  it('gives partitions that this run neither serves nor drains', () => {
    expect(holdings.idleBy(view(ours(1), theirs, ours(1), ours(0)))).toEqual([3]);
    holdings.forget([2]);
    expect(holdings.idleBy(view(ours(1), theirs, ours(1), ours(0)))).toEqual([2, 3]);
  });

  it('lacks the epochs of served partitions that are ours in it', () => {
    expect(holdings.unpublishedBy(view(ours(0), ours(1), ours(0), null))).toEqual(new Map([[0, 1]]));
    expect(holdings.unpublishedBy(view(theirs, null, ours(0), null))).toEqual(new Map());
  });
});
