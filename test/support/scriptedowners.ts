import type {
  ClusterView,
  Owner,
  Ownership,
  OwnershipChange,
  ShardInfo,
} from '../../actors/placement/ports.ts';

const PARTITIONS = 16;

/** The view that shard `self` has of the owners, as a test sets it. The partition of an id is its number modulo 16. */
export function scriptedOwners() {
  const listeners = new Set<(change: OwnershipChange) => void>();
  const owners = new Array<Owner | null>(PARTITIONS).fill(null);
  const shards: ShardInfo[] = [];
  const self = { id: 'self', instance: 'self#1' } as ShardInfo;
  const partitionOf = (id: string): number => Number(id) % PARTITIONS;
  const ownerOf = (id: string): Owner | null => owners[partitionOf(id)] ?? null;
  const ownership = {
    ...{ self, partitionOf, ownerOf },
    view: { revision: 1, shards, owners } satisfies ClusterView,
    owns: (id: string) => ownerOf(id)?.instance === self.instance,
    onChange(run: (change: OwnershipChange) => void) {
      listeners.add(run);
      return () => void listeners.delete(run);
    },
  } as unknown as Ownership;
  const tell = (change: Partial<OwnershipChange>): void => {
    for (const run of [...listeners]) run({ moved: [], gone: [], came: [], ...change });
  };
  /** Gives the partition of each id to a run of a shard, or to none, without a notification. */
  const give = (instance: string | null, ids: readonly string[], epoch = 1): number[] => {
    const [shardId = ''] = instance?.split('#') ?? [];
    const moved = [...new Set(ids.map(partitionOf))];
    for (const partition of moved)
      owners[partition] = instance === null ? null : { shardId, instance, epoch };
    return moved;
  };
  /** Like `give`, with a notification. */
  const move = (instance: string | null, ids: readonly string[], epoch = 1): void =>
    tell({ moved: give(instance, ids, epoch) });
  return { ownership, shards, tell, give, move };
}
