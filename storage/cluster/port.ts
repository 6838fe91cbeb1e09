import type { Ears } from '../../engine/fanout/direct.ts';
import type { Audience } from '../../engine/kernel/dispatch.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Fence } from '../database/driver.ts';

/** A dispatch as it is kept for those who may have missed it: to whom, not which sessions. */
export interface RecordedDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: Audience;
  /** Its number in the aggregate's stream. */
  readonly n: number;
  /** It is told people (`to` names them) by way of their owners; absent: to who subscribes to the aggregate. */
  readonly ears?: Ears;
}

/** Where it stands what a user was told directly: in this record. */
export interface ToldPlace {
  readonly userId: UserId;
  readonly ownerId: string;
  /** Of the record: its last dispatch, or a later one, is the user's. */
  readonly n: number;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/**
 * What outlives the owner of a command: what it told, for sessions that had not heard it when the owner died, and what
 * it answered, for a caller that asks again because it has not heard. Kept for minutes.
 */
export interface CommandRecord {
  /** Ascending within the aggregate: the number of its last dispatch, or one of its own when it told nothing. */
  readonly n: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Null when the command was not sent under a key. */
  readonly commandKey: string | null;
  /** The reply to it, as JSON takes it; null without a key. */
  readonly reply: unknown;
  readonly dispatches: readonly RecordedDispatch[];
}

/** What an actor knows that no table holds. */
export interface Snapshot {
  readonly ownerId: string;
  readonly fence: Fence;
  /** When it was so, Unix milliseconds. */
  readonly atMs: number;
  /** As JSON takes it. */
  readonly data: object;
}

/** Ownership, and what passes from one owner of an aggregate to the next. */
export interface ClusterStore {
  /**
   * Takes partitions over: each gets its next epoch, from which moment commits under the one before are refused. Waits
   * for those that are under way. Answers the epochs.
   */
  takeOver(partitions: readonly number[], shardId: string): Promise<ReadonlyMap<number, number>>;
  epochs(): Promise<ReadonlyMap<number, number>>;
  /** Whether nobody has taken the partition over since: what its owner knows is what there is. */
  isLast(fence: Fence): Promise<boolean>;
  /** Records not older than `sinceMs` (Unix milliseconds), the last `limit` of them, ascending by `n`. */
  records(ownerId: string, sinceMs: number, limit: number): Promise<CommandRecord[]>;
  /** What users were told directly since (Unix milliseconds), the last `limit` of it, in no order. */
  toldTo(userIds: readonly UserId[], sinceMs: number, limit: number): Promise<ToldPlace[]>;
  /** The records at these places, but for those that are gone, in no order. */
  recordsAt(
    places: readonly Pick<ToldPlace, 'ownerId' | 'n'>[],
  ): Promise<(CommandRecord & { readonly ownerId: string })[]>;
  /** Forgets older ones, and older snapshots, of all aggregates; to be called now and then by one shard. */
  pruneRecords(beforeMs: number): Promise<void>;
  /**
   * Writes down what actors know that no table holds, over what stood there: all of it or none.
   *
   * @throws StaleEpoch when one of the epochs is over.
   */
  keepSnapshots(snapshots: readonly Snapshot[]): Promise<void>;
  /** Null when there is none. It stays until the next one, until it is dropped, or too old for anyone. */
  snapshot(ownerId: string): Promise<{ readonly atMs: number; readonly data: object } | null>;
  /** Private channels in which a call was on, by snapshots not older than this (Unix milliseconds). */
  keptCalls(sinceMs: number): Promise<string[]>;
  dropSnapshots(ownerIds: readonly string[]): Promise<void>;
}
