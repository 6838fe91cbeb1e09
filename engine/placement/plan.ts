import type { Placed } from './rendezvous.ts';

/** The part of the cluster's view that a plan needs. */
interface PlacementView {
  readonly shards: readonly (Placed & { readonly instance: string })[];
  /** By partition; null without an owner. */
  readonly owners: readonly ({ readonly instance: string } | null)[];
}

/** Next steps of one shard towards the wanted placement. Partitions in ascending order. */
interface Plan {
  /** Wanted here, and without an owner. */
  readonly claim: readonly number[];
  /** Owned here, and wanted on another shard. */
  readonly release: readonly number[];
  /** Wanted here, and still owned by another shard. */
  readonly awaited: readonly number[];
}

const NOTHING: Plan = { claim: [], release: [], awaited: [] };

/**
 * The next steps of the run `instance`. A draining shard releases everything, even without a shard to take it. A
 * partition is claimed only once it is free, so it never has two owners.
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
