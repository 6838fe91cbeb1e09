import type { Directory, Links } from '../actors/cluster/ports.ts';
import type { Ownership, Router } from '../actors/placement/ports.ts';
import { NotServed } from '../protocol/faults.ts';
import type { Journals } from '../storage/journal/port.ts';
import type { Tenant } from './tenancy.ts';

/** What makes this process one of many. Alone, every question is answered "here". */
export interface Cluster {
  readonly ownership: Ownership;
  readonly router: Router;
  /** Null while this process is alone. */
  readonly links: Links | null;
  readonly directory: Directory | null;
  /** The actors of this shard, by kind: each part of the house enters its own. */
  readonly tenants: Map<string, Tenant>;
  /** Whether this shard may work on an aggregate now; null while it is alone, and always may. */
  readonly admits: ((id: string) => boolean) | null;
  /** What is done before this shard enters again, having been no member for a while. */
  readonly returning?: Set<() => Promise<void>>;
  /** Where sessions are written down; null or absent: nowhere. */
  readonly journals?: Journals | null;
}

const NOTHING = { revision: 0, shards: [], owners: [] } as const;

/** One process: it owns everything, and nobody else is there to be told. */
export function alone(): Cluster {
  const ownership: Ownership = {
    self: null,
    alone: true,
    state: 'serving',
    view: NOTHING,
    partitionOf: () => 0,
    owns: () => true,
    ownerOf: () => null,
    fenceOf: () => 'alone',
    onChange: () => () => undefined,
    stale: () => undefined,
    drain: async () => undefined,
    close: async () => undefined,
  };
  const router: Router = {
    at: (_key, _method, _args, here) => here(null),
    tell: (_key, _method, _args, here) => here(),
    everywhere: () => undefined,
    ask: async (shardId) => {
      throw new NotServed(`There is no shard ${shardId}: this process is alone.`);
    },
    handle: () => undefined,
    sessions: () => undefined,
  };
  return { ownership, router, links: null, directory: null, tenants: new Map(), admits: null };
}
