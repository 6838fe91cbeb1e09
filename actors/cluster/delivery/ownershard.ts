import type { Owner, Ownership } from '../../placement/ports.ts';

/** The shard that decides for an id now: this one, another one, or none. */
type OwnerShard =
  | { readonly at: 'here'; readonly owner: Owner }
  | { readonly at: 'peer'; readonly owner: Owner }
  | { readonly at: 'nobody' };

/** Answers `nobody` for an id without an owner, and for one of this shard while its lease is not safe. */
export function ownerShardOf(ownership: Ownership, id: string): OwnerShard {
  const owner = ownership.ownerOf(id);
  if (!owner) return { at: 'nobody' };
  if (ownership.owns(id)) return { at: 'here', owner };
  return owner.shardId === ownership.self?.id ? { at: 'nobody' } : { at: 'peer', owner };
}

/** Whether another shard owns the id. False while nobody does, as when this shard has lost its membership for a moment. */
export const isOwnedElsewhere = (ownership: Ownership, id: string): boolean => {
  const owner = ownership.ownerOf(id);
  return owner !== null && owner.instance !== ownership.self?.instance;
};

/** Whether the id belongs to this shard, even while its lease is not safe. */
export const isOwnedHere = (ownership: Ownership, id: string): boolean => {
  const owner = ownership.ownerOf(id);
  return owner !== null && owner.instance === ownership.self?.instance;
};
