// Goal: a call for an id goes to the shard that decides for it now, and to none while nobody may decide.
import { describe, expect, test } from 'vitest';
import {
  isOwnedElsewhere,
  isOwnedHere,
  ownerShardOf,
} from '../../../../actors/cluster/delivery/ownershard.ts';
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
    ['this shard', ownershipOf(SELF), { at: 'here', owner: SELF }, true, false],
    [
      'none while the lease of this shard is not safe',
      ownershipOf(SELF, false),
      { at: 'nobody' },
      true,
      false,
    ],
    [
      'none while a former run of this shard owns it',
      ownershipOf(FORMER_SELF),
      { at: 'nobody' },
      false,
      true,
    ],
    ['its owner on another shard', ownershipOf(OTHER), { at: 'peer', owner: OTHER }, false, true],
    ['none without an owner', ownershipOf(null), { at: 'nobody' }, false, false],
  ] as const)('is %s', (_how, ownership, shard, isHere, isElsewhere) => {
    expect(ownerShardOf(ownership, '1')).toEqual(shard);
    expect(isOwnedHere(ownership, '1')).toBe(isHere);
    expect(isOwnedElsewhere(ownership, '1')).toBe(isElsewhere);
  });
});
