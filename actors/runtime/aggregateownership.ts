import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { CommandKeyBounds } from './commandkeys.ts';
import type { LoadQueue } from './loadqueue.ts';
import type { StreamBounds } from './stream.ts';

/** What the aggregates of one shard among many need, so that they pass from owner to owner and nothing is lost. */
export interface AggregateOwnership {
  /** Under which epoch this shard decides for it from now on; null: it does not. */
  fenceOf(id: string): Fence | null;
  /** Whether what is held may be changed now: the lease may be over at any moment, and another owner decide. */
  decides(id: string): boolean;
  /** Recent dispatches and replies of earlier owners, ascending, and whether there were more than these. */
  records(id: string): Promise<{ readonly records: readonly CommandRecord[]; readonly cut: boolean }>;
  /** Writes down what no table holds. @throws StaleEpoch, StorageFault */
  saveSnapshot(snapshot: {
    readonly ownerId: string;
    readonly fence: Fence;
    readonly data: object;
  }): Promise<void>;
  /** What the last owner has written down, if it is fresh. */
  snapshot(id: string): Promise<object | null>;
  /** Forgets it: what it says holds no longer. */
  dropSnapshot(id: string): Promise<void>;
  /** Where what this shard has come to own waits to be read. */
  readonly loadQueue: LoadQueue;
  readonly stream: StreamBounds;
  readonly keys: CommandKeyBounds;
  /** Receives faults of work that no caller awaits. */
  readonly onFault: (error: unknown) => void;
}
