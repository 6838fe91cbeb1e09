import type { ClusterStore } from '../../storage/cluster/port.ts';
import type { Journals } from '../../storage/journal/port.ts';
import type { Placement } from '../placement/ports.ts';
import { standalone } from '../placement/standalone.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TimerWheel } from '../runtime/wheel.ts';
import { type HandoverParticipant, handoverOf } from './membership/handover.ts';
import { createOwnership, type OwnershipDeps } from './membership/ownership.ts';
import { type ClusterParts, SHARD_PARTS, STANDALONE_PARTS } from './parts.ts';
import type { Directory, Links } from './ports.ts';
import { routingOver } from './routing/routed.ts';
import { createRouter } from './routing/router.ts';

/** The cluster as its shards use it. In a standalone process this process owns everything. */
export interface Cluster extends Placement {
  readonly parts: ClusterParts;
  /** Null while this process is alone. */
  readonly links: Links | null;
  readonly directory: Directory | null;
  /** Actors that take part in handovers, by kind; each service registers its own. */
  readonly participants: Map<string, HandoverParticipant>;
  /** Whether this shard may work on an aggregate now. Null while the process is alone and always may. */
  readonly admits: ((id: string) => boolean) | null;
  /** Run before this shard rejoins the cluster after it has lost its membership. */
  readonly beforeRejoin?: Set<() => Promise<void>>;
  /** Where session journals are written. Null or absent: no journals. */
  readonly journals?: Journals | null;
}

/** A standalone process: it owns everything and has no peers. */
export const standaloneCluster = (): Cluster => ({
  ...standalone(),
  parts: STANDALONE_PARTS,
  links: null,
  directory: null,
  participants: new Map(),
  admits: null,
});

interface ShardPorts<L extends Links>
  extends Pick<
    OwnershipDeps,
    'self' | 'directory' | 'random' | 'numbered' | 'handoverTimeoutMs' | 'lifetime'
  > {
  readonly links: L;
  readonly store: OwnershipDeps['store'] & Pick<ClusterStore, 'isLast'>;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Deadline of a call to an owner, milliseconds. */
  readonly deadlineMs: number;
  readonly onFault: (error: unknown, where: string) => void;
}

const WHY: Readonly<Record<string, string>> = {
  joining: 'This shard is not in the cluster yet.',
  suspended:
    'The directory has not answered for too long: this shard decides nothing until the lease is renewed.',
  draining: 'This shard is handing over its partitions.',
  left: 'This shard has left the cluster.',
};

/** Ownership and routing of one shard, over its links and the directory. It becomes a member by `ownership.start`. */
export function createShard<L extends Links>(ports: ShardPorts<L>) {
  const { links, directory, store, onFault } = ports;
  const participants = new Map<string, HandoverParticipant>();
  const beforeRejoin = new Set<() => Promise<void>>();
  const handover = handoverOf(participants);
  const ownership = createOwnership({
    ...{ ...ports, handover },
    async beforeRejoin() {
      await Promise.all([...beforeRejoin].map((run) => run()));
    },
    onFault: (error, what) => onFault(error, `cluster: ${what}`),
  });
  ownership.onChange(({ came, gone }) => {
    if (came.length + gone.length > 0) links.follow(ownership.view.shards);
  });
  const router = createRouter({
    ...{ ...ports, ownership, scope: ports.lifetime.child() },
    // A request is refused once the database has seen a later owner of its key.
    answers(key) {
      const fence = ownership.heldUnder(key);
      return fence !== null && store.isLast(fence);
    },
    onFault: (where, fault) => onFault(fault, where),
  });
  return {
    ...{ ownership, router, links, directory, participants, beforeRejoin, handover },
    parts: SHARD_PARTS,
    routing: routingOver({ ownership, router }),
    admits: (id: string) => ownership.owns(id),
    /** Number of partitions that this shard owns. */
    partitionsOwned(): number {
      const { instance } = ownership.self;
      return ownership.view.owners.filter((owner) => owner?.instance === instance).length;
    },
    /** Why this shard serves nothing or not everything; empty when it serves. */
    unready(): { cluster?: string } {
      const why = WHY[ownership.state];
      return why === undefined ? {} : { cluster: why };
    },
  };
}
