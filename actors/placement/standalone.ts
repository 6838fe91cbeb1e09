import { NotServed } from '../../protocol/faults.ts';
import type { Ownership, Placement, Router } from './ports.ts';
import { HERE } from './routing.ts';

const NOTHING = { revision: 0, shards: [], owners: [] } as const;

/** Placement of a single process: it owns everything and has no other shards. */
export function standalone(): Placement {
  const ownership: Ownership = {
    self: null,
    state: 'serving',
    knowsMembers: true,
    view: NOTHING,
    partitionOf: () => 0,
    owns: () => true,
    ownerOf: () => null,
    fenceOf: () => null,
    onChange: () => () => undefined,
    stale: () => undefined,
    drain: async () => undefined,
    close: async () => undefined,
  };
  const router: Router = {
    tellShard: () => undefined,
    askShard: async (shardId) => {
      throw new NotServed(`There is no shard ${shardId}: this process runs standalone.`);
    },
    serve: () => undefined,
    sessions: () => undefined,
    onBroken: () => undefined,
  };
  return { ownership, routing: HERE, router };
}
