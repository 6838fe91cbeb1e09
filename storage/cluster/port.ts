import type { SessionFilter } from '../../engine/fanout/direct.ts';
import type { Audience } from '../../engine/kernel/dispatch.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Fence } from '../database/driver.ts';

/** A dispatch stored for sessions that may have missed it, with its audience instead of sessions. */
export interface RecordedDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: Audience;
  /** Its sequence number in the aggregate's stream. */
  readonly n: number;
  /** Set for a direct notification of users (named in `to`) through their owners; absent for subscribers of the aggregate. */
  readonly filter?: SessionFilter;
  /** As in `Dispatch`. */
  readonly keepsSight?: boolean;
}

/** Points to the record that contains a user's direct notification. */
export interface DeliveryPosition {
  readonly userId: UserId;
  readonly ownerId: string;
  /** Number of the record: its last dispatch, or a later one, is the user's. */
  readonly n: number;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/**
 * The data of a command that outlives its owner: its dispatches, for sessions that had not received them when the owner
 * crashed, and its reply, for a caller that retries because the reply was lost. Kept for minutes.
 */
export interface CommandRecord {
  /** The owner of the stream that numbers it; absent for that of the commit. */
  readonly streamOwnerId?: string;
  /** Ascending within the aggregate: the number of its last dispatch, or a number of its own without dispatches. */
  readonly n: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Null when the command was sent without an idempotency key. */
  readonly commandKey: string | null;
  /** The reply as JSON; null without a key. */
  readonly reply: unknown;
  readonly dispatches: readonly RecordedDispatch[];
}

/** State of an actor that no table contains. */
export interface Snapshot {
  readonly ownerId: string;
  readonly fence: Fence;
  /** When the state was taken, Unix milliseconds. */
  readonly atMs: number;
  /** Serializable as JSON. */
  readonly data: object;
}

/** Stores the ownership of partitions, and what the next owner of an aggregate needs from the previous one. */
export interface ClusterStore {
  /**
   * Takes over partitions: each gets its next epoch, and commits under earlier epochs are refused from then on. Waits for the
   * commits in progress. @returns the epochs.
   */
  takeOver(partitions: readonly number[], shardId: string): Promise<ReadonlyMap<number, number>>;
  epochs(): Promise<ReadonlyMap<number, number>>;
  /** Whether the fence's epoch is still the latest, so that its owner's state is current. */
  isLast(fence: Fence): Promise<boolean>;
  /** Records not older than `sinceMs` (Unix milliseconds), the latest `limit` of them, ascending by `n`. */
  records(ownerId: string, sinceMs: number, limit: number): Promise<CommandRecord[]>;
  /** Direct notifications of users since a time (Unix milliseconds), the latest `limit` of them, in no order. */
  deliveriesTo(userIds: readonly UserId[], sinceMs: number, limit: number): Promise<DeliveryPosition[]>;
  /** The records at these places that still exist, in no order. */
  recordsAt(
    places: readonly Pick<DeliveryPosition, 'ownerId' | 'n'>[],
  ): Promise<(CommandRecord & { readonly ownerId: string })[]>;
  /** Deletes older records and snapshots of all aggregates; one shard calls it periodically. */
  pruneRecords(beforeMs: number): Promise<void>;
  /**
   * Stores states of actors that no table contains, replacing earlier ones; all of them or none.
   *
   * @throws StaleEpoch when one of the epochs has been superseded.
   */
  keepSnapshots(snapshots: readonly Snapshot[]): Promise<void>;
  /** The stored snapshot, or null. It is kept until replaced, dropped or pruned. */
  snapshot(ownerId: string): Promise<{ readonly atMs: number; readonly data: object } | null>;
  dropSnapshots(ownerIds: readonly string[]): Promise<void>;
}
