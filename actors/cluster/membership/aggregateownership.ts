import type { Config } from '../../../config/config.ts';
import type { Metric } from '../../../protocol/metrics.ts';
import { dropOldest } from '../../../protocol/oldest.ts';
import type { ClusterStore, Snapshot } from '../../../storage/cluster/port.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { AggregateOwnership } from '../../runtime/aggregateownership.ts';
import type { Clock } from '../../runtime/clock.ts';
import { LoadQueue } from '../../runtime/loadqueue.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';

/** Snapshots that a previous owner saved longer ago than this are ignored as outdated. */
const SNAPSHOT_FRESH_MS = 120_000;
const PRUNE_EVERY_MS = 60_000;
/** Approximate upper bound on the memory of one guild's stream payloads, in bytes. */
const STREAM_BYTES_MAX = 32 << 20;
/** Upper bound on the cached replies of one aggregate's commands. */
const KEYS_MAX = 16_384;
/** A command is resent until its deadline; clocks and queues may add to that. The factor leaves room for both. */
const KEY_DEADLINES = 4;
/** Upper bound on the snapshots that are known to be out of date. */
const OUTDATED_MAX = 4_096;

interface AggregateOwnershipPorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Receives this module's metrics. */
  readonly metrics: Metric[];
  readonly onFault: (error: unknown, where: string) => void;
}

/** Storage access with which aggregates restore and save their handover state. */
export function createAggregateOwnership(
  { config, clock, wheel, metrics, onFault }: AggregateOwnershipPorts,
  store: ClusterStore,
  ownership: Ownership,
): AggregateOwnership {
  const limit = config.stream_dispatches_max;
  const keep = batched(store);
  /** Ids of snapshots that are being deleted, or could not be. */
  const outdated = new Set<string>();
  const loadQueue = new LoadQueue({ atOnceMax: config.loads_max, waitingMax: config.loads_waiting_max });
  metrics.push(...metricsOf(loadQueue));

  function prune(): void {
    wheel.after(prune, PRUNE_EVERY_MS);
    // One shard in the cluster is enough: the owner of this arbitrary id prunes.
    if (!ownership.owns('0')) return;
    store.pruneRecords(clock.now() - config.record_age_ms).catch((error) => onFault(error, 'pruning'));
  }
  wheel.after(prune, PRUNE_EVERY_MS);

  return {
    fenceOf: (id) => (ownership.owns(id) ? ownership.fenceOf(id) : null),
    decides: (id) => ownership.fenceOf(id) !== null,
    async records(id) {
      const records = await store.records(id, clock.now() - config.record_age_ms, limit);
      return { records, cut: records.length === limit };
    },
    saveSnapshot(snapshot) {
      outdated.delete(snapshot.ownerId);
      return keep({ ...snapshot, atMs: clock.now() });
    },
    async snapshot(id) {
      const found = await store.snapshot(id);
      const isFresh = found && clock.now() - found.atMs <= SNAPSHOT_FRESH_MS;
      return isFresh && !outdated.has(id) ? found.data : null;
    },
    async dropSnapshot(id) {
      outdated.add(id);
      dropOldest(outdated, OUTDATED_MAX);
      await store.dropSnapshots([id]);
      outdated.delete(id);
    },
    loadQueue,
    stream: {
      dispatchesMax: limit,
      // The longest time for which a disconnected session can still be resumed.
      ageMs: config.resume_window_ms + config.heartbeat_interval_ms + config.heartbeat_grace_ms,
      bytesMax: STREAM_BYTES_MAX,
      numbers: { high: 0 },
    },
    keys: { keysMax: KEYS_MAX, ageMs: KEY_DEADLINES * config.command_deadline_ms },
    onFault: (error) => onFault(error, 'handover'),
  };
}

const metricsOf = (loadQueue: LoadQueue): Metric[] => [
  {
    name: 'guildhall_loads_waiting',
    help: 'Aggregates waiting in the load queue after this shard took over their partitions.',
    // Urgent and background loads wait in separate queues, each with this bound.
    max: 2 * loadQueue.waitingMax,
    read: () => loadQueue.waiting,
  },
  {
    name: 'guildhall_loads_refused',
    help: 'Aggregates whose load was rejected because the queue was full.',
    read: () => loadQueue.refused,
  },
];

/** Writes all snapshots of one tick together. If the batch fails, each snapshot is written by itself. */
function batched(store: ClusterStore): (snapshot: Snapshot) => Promise<void> {
  let turn: { readonly snapshots: Snapshot[]; readonly written: Promise<void> } | null = null;

  return async (snapshot) => {
    if (!turn) {
      const snapshots: Snapshot[] = [];
      const written = Promise.resolve().then(() => {
        turn = null;
        return store.keepSnapshots(snapshots);
      });
      turn = { snapshots, written };
    }
    const { snapshots, written } = turn;
    snapshots.push(snapshot);
    await written.catch((error) => {
      if (snapshots.length === 1) throw error;
      return store.keepSnapshots([snapshot]);
    });
  };
}
