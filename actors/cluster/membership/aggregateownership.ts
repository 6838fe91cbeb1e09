import type { Config } from '../../../config/config.ts';
import type { Metric } from '../../../protocol/metrics.ts';
import type { ClusterStore, Snapshot } from '../../../storage/cluster/port.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { AggregateOwnership } from '../../runtime/aggregateownership.ts';
import type { Clock } from '../../runtime/clock.ts';
import { LoadQueue } from '../../runtime/loadqueue.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';

/** Older than this, what an owner has left says nothing of now any more. */
export const SNAPSHOT_FRESH_MS = 120_000;
const PRUNE_EVERY_MS = 60_000;
/** What the payloads of one guild's stream take in memory at most, about. */
const STREAM_BYTES_MAX = 32 << 20;
/** Commands of one aggregate whose answers are at hand. */
const KEYS_MAX = 16_384;
/** A command is sent again until its deadline; clocks and queues may add to it. */
const KEY_DEADLINES = 4;

interface AggregateOwnershipPorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** What metrics show; its own are added. */
  readonly metrics: Metric[];
  readonly onFault: (error: unknown, where: string) => void;
}

/** What this shard's aggregates take over and leave behind; null while the process is alone. */
export function createAggregateOwnership(
  { config, clock, wheel, metrics, onFault }: AggregateOwnershipPorts,
  store: ClusterStore,
  ownership: Ownership,
): AggregateOwnership | null {
  if (ownership.standalone) return null;
  const limit = config.stream_dispatches_max;
  const keep = batched(store);
  const loadQueue = new LoadQueue({ atOnceMax: config.loads_max, waitingMax: config.loads_waiting_max });
  metrics.push(...metricsOf(loadQueue));

  function prune(): void {
    wheel.after(prune, PRUNE_EVERY_MS);
    // One shard is enough, and who owns this id is as good as any.
    if (!ownership.owns('0')) return;
    store.pruneRecords(clock.now() - config.record_age_ms).catch((error) => onFault(error, 'pruning'));
  }
  wheel.after(prune, PRUNE_EVERY_MS);

  return {
    fenceOf(id) {
      const fence = ownership.owns(id) ? ownership.fenceOf(id) : null;
      return fence === 'alone' ? null : fence;
    },
    decides: (id) => ownership.fenceOf(id) !== null,
    async records(id) {
      const records = await store.records(id, clock.now() - config.record_age_ms, limit);
      return { records, cut: records.length === limit };
    },
    saveSnapshot: (snapshot) => keep({ ...snapshot, atMs: clock.now() }),
    async snapshot(id) {
      const found = await store.snapshot(id);
      return found && clock.now() - found.atMs <= SNAPSHOT_FRESH_MS ? found.data : null;
    },
    dropSnapshot: (id) => store.dropSnapshots([id]),
    loadQueue,
    stream: {
      dispatchesMax: limit,
      // As long as a session may be away before it is given up.
      ageMs: config.resume_window_ms + config.heartbeat_interval_ms + config.heartbeat_grace_ms,
      bytesMax: STREAM_BYTES_MAX,
      numbers: { high: 0 },
    },
    keys: { keysMax: KEYS_MAX, ageMs: KEY_DEADLINES * config.command_deadline_ms },
    onFault: (error) => onFault(error, 'change of hands'),
  };
}

const metricsOf = (loadQueue: LoadQueue): Metric[] => [
  {
    name: 'guildhall_loads_waiting',
    help: 'Guilds, users and other things that wait to be read, having come to this shard.',
    // Two lines.
    max: 2 * loadQueue.waitingMax,
    read: () => loadQueue.waiting,
  },
  {
    name: 'guildhall_loads_refused',
    help: 'How often there was no room for another one.',
    read: () => loadQueue.refused,
  },
];

/** Snapshots of one turn are written together; when one of them is refused, each by itself. */
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
