import type { Placed } from './rendezvous.ts';

/** What a plan asks of the cluster's view. */
interface PlacementView {
  readonly shards: readonly (Placed & { readonly instance: string })[];
  /** By partition; null while nobody has claimed it. */
  readonly owners: readonly ({ readonly instance: string } | null)[];
}

/** What one shard is to do for everybody to have what is wanted. Ascending. */
interface Plan {
  /** Free, and to be ours. */
  readonly claim: readonly number[];
  /** Ours, and to be another's. */
  readonly release: readonly number[];
  /** To be ours, and another's still. */
  readonly awaited: readonly number[];
}

const NOTHING: Plan = { claim: [], release: [], awaited: [] };

/**
 * What the run `instance` is to do next. Who drains gives all away, also while nobody is there to take it; and a
 * partition is claimed only once it is free, so at no step has one two owners.
 */
export function planOf(view: PlacementView, wanted: readonly (string | null)[], instance: string): Plan {
  const self = view.shards.find((shard) => shard.instance === instance);
  if (!self) return NOTHING;
  const plan: Record<'claim' | 'release' | 'awaited', number[]> = { claim: [], release: [], awaited: [] };
  for (const [partition, owner] of view.owners.entries()) {
    const isWanted = !self.draining && wanted[partition] === self.id;
    if (owner?.instance === instance) {
      if (!isWanted) plan.release.push(partition);
    } else if (isWanted) (owner === null ? plan.claim : plan.awaited).push(partition);
  }
  return plan;
}
