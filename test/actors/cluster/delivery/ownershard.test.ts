// Goal: a call for an id goes to the shard that decides for it now, and to none while nobody may decide.
import { describe, expect, test } from 'vitest';
import { isOwnedHere, ownerShardOf } from '../../../../actors/cluster/delivery/ownershard.ts';
import type { Owner, Ownership } from '../../../../actors/placement/ports.ts';

const ownershipOf = (owner: Owner | null, isSafe = true): Ownership =>
  ({
    self: { id: 'shard-0', instance: 'second-run' },
    ownerOf: () => owner,
    owns: () => isSafe && owner?.instance === 'second-run',
  }) as unknown as Ownership;

const SELF: Owner = { shardId: 'shard-0', instance: 'second-run', epoch: 3 };
const FORMER_SELF: Owner = { ...SELF, instance: 'first-run' };
const OTHER: Owner = { shardId: 'shard-1', instance: 'only-run', epoch: 4 };

describe('the shard that decides for an id', () => {
  test.each([
    ['this shard', ownershipOf(SELF), { at: 'here', owner: SELF }, true],
    ['none while the lease of this shard is not safe', ownershipOf(SELF, false), { at: 'nobody' }, true],
    ['none while a former run of this shard owns it', ownershipOf(FORMER_SELF), { at: 'nobody' }, false],
    ['its owner on another shard', ownershipOf(OTHER), { at: 'peer', owner: OTHER }, false],
    ['none without an owner', ownershipOf(null), { at: 'nobody' }, false],
  ] as const)('is %s', (_how, ownership, shard, isHere) => {
    expect(ownerShardOf(ownership, '1')).toEqual(shard);
    expect(isOwnedHere(ownership, '1')).toBe(isHere);
  });
});
