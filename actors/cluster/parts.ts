import { createSessionPersistence, NO_PERSISTENCE } from '../session/persistence.ts';
import { commitNotifierHere, createCommitNotifier } from './delivery/commitandnotify.ts';
import { createDirectDelivery, type DirectDelivery } from './delivery/direct.ts';
import { type CreateMemberUpdates, createMemberUpdates, memberUpdatesHere } from './delivery/membership.ts';
import { createPresences, presencesHere } from './delivery/presences.ts';
import { createAggregateOwnership } from './membership/aggregateownership.ts';
import { fencedWriter } from './membership/commits.ts';
import { keepCalls, keepCallsHere } from './membership/keptcalls.ts';
import { createClusterControl, standaloneControl } from './membership/status.ts';

/** As above, but it may create nothing. */
type OrNull<F extends (...args: never) => object> = (...args: Parameters<F>) => ReturnType<F> | null;

/**
 * The parts that a process creates for its role in the cluster. A standalone process and a shard have one
 * implementation each, so that nothing else asks which of them it runs in.
 */
export interface ClusterParts {
  /** The writer of the actors: it fences the commits of a shard. */
  readonly writer: typeof fencedWriter;
  /** Handover state of aggregates; null where nothing is handed over. */
  readonly aggregateOwnership: OrNull<typeof createAggregateOwnership>;
  /** Notifications between the owners of users; null where this process owns all of them. */
  readonly directDelivery: (...args: Parameters<typeof createDirectDelivery>) => DirectDelivery | null;
  readonly presences: typeof createPresences;
  readonly memberUpdates: CreateMemberUpdates;
  readonly commitNotifier: typeof createCommitNotifier;
  readonly persistence: typeof createSessionPersistence;
  readonly keepCalls: typeof keepCalls;
  readonly control: typeof createClusterControl;
}

/** The parts of a standalone process: it owns everything, has no peers, and hands nothing over. */
export const STANDALONE_PARTS: ClusterParts = {
  writer: (writer) => writer,
  aggregateOwnership: () => null,
  directDelivery: () => null,
  presences: presencesHere,
  memberUpdates: memberUpdatesHere,
  commitNotifier: commitNotifierHere,
  persistence: () => NO_PERSISTENCE,
  keepCalls: keepCallsHere,
  control: standaloneControl,
};

/** The parts of a shard. */
export const SHARD_PARTS: ClusterParts = {
  writer: fencedWriter,
  aggregateOwnership: createAggregateOwnership,
  directDelivery: createDirectDelivery,
  presences: createPresences,
  memberUpdates: createMemberUpdates,
  commitNotifier: createCommitNotifier,
  persistence: createSessionPersistence,
  keepCalls,
  control: createClusterControl,
};
