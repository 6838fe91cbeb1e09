import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { CommandKeyBounds } from './commandkeys.ts';
import type { LoadQueue } from './loadqueue.ts';
import type { StreamBounds } from './stream.ts';

/** Fences and lease checks that the aggregates of one shard of a cluster need for a lossless handover between owners. */
export interface AggregateOwnership {
  /** The fence with the epoch under which this shard owns the aggregate. Null when this shard does not own it. */
  fenceOf(id: string): Fence | null;
  /**
   * Whether this shard may change the aggregate now. The lease may expire at any moment, after which another owner
   * decides.
   */
  decides(id: string): boolean;
  /** Recent dispatches and replies of earlier owners, ascending; `cut` when older ones were left out. */
  records(id: string): Promise<{ readonly records: readonly CommandRecord[]; readonly cut: boolean }>;
  /** Writes down state that no table holds. @throws StaleEpoch, StorageFault */
  saveSnapshot(snapshot: {
    readonly ownerId: string;
    readonly fence: Fence;
    readonly data: object;
  }): Promise<void>;
  /** The snapshot of the previous owner, if it is fresh. */
  snapshot(id: string): Promise<object | null>;
  /** Deletes the snapshot, which is out of date: this shard ignores it from now on, also when the deletion fails. */
  dropSnapshot(id: string): Promise<void>;
  /** Queue in which aggregates that this shard has taken over wait to be read. */
  readonly loadQueue: LoadQueue;
  readonly stream: StreamBounds;
  readonly keys: CommandKeyBounds;
  /** Receives faults of work that no caller awaits. */
  readonly onFault: (error: unknown) => void;
}
