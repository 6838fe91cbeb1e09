import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Metric } from '../../protocol/metrics.ts';
import type { ClaimedSession, JournalFolder, JournalStore, Journals } from '../../storage/journal/port.ts';
import type { Ownership, Placement } from '../placement/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TimerWheel } from '../runtime/wheel.ts';
import { Admission } from './admission.ts';
import { ClusterArchive } from './archive.ts';
import { CrashedJournals } from './crashedjournals.ts';
import { Journal } from './journal.ts';
import { JournalReplicas, JournalReplication, type ReplicaPorts } from './journalreplica.ts';
import { MigrationLimiter } from './migrationlimiter.ts';
import { abandonTaken, watchRejoins } from './rejoin.ts';
import type { SessionDeps } from './sessions.ports.ts';
import type { GatewaySessions } from './sessions.ts';

/** This shard with its journal store. */
interface JournalledCluster extends Placement {
  /** Null or absent: no journal is written. */
  readonly journals?: Journals | null;
  /** Runs before this shard rejoins the cluster after a lost membership. */
  readonly beforeRejoin?: Set<() => Promise<void>>;
}

interface PersistencePorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly logger: { warn(about: object, line: string): void; error(about: object, line: string): void };
  readonly metrics: Metric[];
  readonly onFault: (error: unknown, where: string) => void;
  /** A single process with a journal: no directory reports whether an earlier run has ended. */
  readonly isSolo: boolean;
}

/** The dependencies through which sessions survive their process or move between shards. */
export type SessionPersistence = Pick<
  Required<SessionDeps>,
  'journal' | 'archive' | 'admission' | 'migrationLimiter' | 'worker'
>;

/**
 * Upper bound on concurrent migrations from a crashed shard: each takes about a millisecond of work, in several ticks.
 * A waiting migration frees its slot after `MIGRATION_SLOT_MS`, so at least 640 start in a second.
 */
const MIGRATIONS_MAX = 64;
const MIGRATION_SLOT_MS = 100;
/** Sessions of a process that neither writes journals nor has other shards. */
export const NO_PERSISTENCE: SessionPersistence = {
  journal: null,
  archive: null,
  admission: null,
  migrationLimiter: null,
  worker: () => null,
};

/** Maximum age of a replayed dispatch: a dead connection is noticed only when its heartbeat is overdue. */
export const replayAgeMs = (config: Config): number =>
  config.resume_window_ms + config.heartbeat_interval_ms + config.heartbeat_grace_ms;

/** Share of `identify_timeout_ms` that a claim may take, so that the client gets op 9 before its connection times out. */
const CLAIM_SHARE = 0.7;

/** A crashed shard leaves the view once its lease has expired. */
const claimDeadlineMs = (config: Config): number =>
  Math.min(config.command_deadline_ms + config.lease_ttl_ms, config.identify_timeout_ms * CLAIM_SHARE);

/** `sessions` is called lazily: the sessions are created with these dependencies, so later. */
export function createSessionPersistence(
  foundation: PersistencePorts,
  cluster: JournalledCluster,
  sessions: () => GatewaySessions,
): SessionPersistence {
  const { ownership, router, journals = null } = cluster;
  const { config, clock, wheel, logger, onFault } = foundation;
  const ageMs = replayAgeMs(config);
  const replication = journals && replicateTo(foundation, cluster, journals.store, () => journal.rotate());
  const journal = new Journal(journals?.writer ?? null, {
    settings: { bytesMax: config.journal_bytes_max, ageMs },
    ...{ clock, wheel },
    ...(replication && { tap: replication.tap }),
    onFault(error) {
      onFault(error, 'journal');
      logger.error({ err: error }, 'The session journal cannot be written: a crash would end the sessions.');
    },
  });
  const crashed = journals && crashedJournalsOf(foundation, cluster, journals.store, ageMs);
  const archive = new ClusterArchive({
    ...{ ownership, router, clock, wheel },
    journals: crashed,
    transferOut: (claim, key) => sessions().transferOut(claim, key),
    deadlineMs: claimDeadlineMs(config),
    onFault: (error) => onFault(error, 'journal'),
  });
  const ownFolder = ownership.self && { shardId: ownership.self.id, instance: ownership.self.instance };
  const taken = async (): Promise<readonly ClaimedSession[]> => {
    if (!journals || !ownFolder) return [];
    return journals.store.taken({ ...ownFolder, copy: false, writtenMs: 0 });
  };
  // Runs before any owner receives requests of these sessions: they would replace those that continue on other shards.
  cluster.beforeRejoin?.add(() => abandonTaken({ sessions, taken }));
  watchRejoins({ ...{ ownership, router, sessions, taken }, onFault: (error) => onFault(error, 'session') });
  const admission = new Admission({
    perSec: config.identifies_per_sec,
    waitingMax: config.identifies_waiting_max,
    wheel,
    nowMs: () => clock.monotonic(),
  });
  const waitingMax = config.identifies_waiting_max;
  const migrationLimiter = new MigrationLimiter({
    atOnceMax: MIGRATIONS_MAX,
    holdMs: MIGRATION_SLOT_MS,
    waitingMax,
    wheel,
  });
  foundation.metrics.push(...metricsOf(journal, { admission, migrationLimiter }, config));
  return { journal, archive, admission, migrationLimiter, worker: () => ownership.self?.worker ?? null };
}

/** Replicates the journal to another shard, and keeps replicas of others. */
function replicateTo(
  foundation: PersistencePorts,
  { ownership, router }: JournalledCluster,
  store: JournalStore,
  rotate: () => void,
) {
  const { config, clock, wheel, onFault } = foundation;
  const ports: ReplicaPorts = {
    ...{ ownership, router, store, clock, wheel },
    settings: { bytesMax: config.journal_bytes_max, ageMs: replayAgeMs(config) },
    onFault: (error) => onFault(error, 'journal'),
  };
  const replication = new JournalReplication({ ...ports, rotate, score: scoreOf });
  const replicas = new JournalReplicas(ports);
  foundation.metrics.push(
    {
      name: 'guildhall_journal_copy_bytes_waiting',
      help: 'Journal bytes waiting to be copied to the replica.',
      max: replication.waitingBytesMax,
      read: () => replication.waitingBytes,
    },
    {
      name: 'guildhall_journal_copies_bytes',
      help: 'Bytes on disk of the replicas of other shards’ journals.',
      read: () => replicas.bytes,
    },
  );
  return { tap: replication.append.bind(replication) };
}

const scoreOf = (shardId: string, peerId: string): number =>
  createHash('sha256').update(`${shardId} ${peerId}`).digest().readUInt32BE();

function crashedJournalsOf(
  { config, clock, wheel, logger, onFault, isSolo }: PersistencePorts,
  { ownership }: JournalledCluster,
  store: JournalStore,
  ageMs: number,
): CrashedJournals {
  const journals = new CrashedJournals({
    ...{ store, clock },
    settings: { framesMax: config.replay_frames_max, ageMs },
    // In a cluster the directory decides which runs are alive, so a suspended process counts as crashed although it
    // exists.
    hasCrashed: async (folder) => isGone(ownership, folder) && !(isSolo && (await store.isWritten(folder))),
    onDamage: ({ shardId, instance }, damages) =>
      logger.warn(
        { shard: shardId, instance, damages },
        'A journal is damaged: some sessions are lost with it.',
      ),
  });
  ownership.onChange(({ came }) => {
    for (const { instance } of came) journals.forget(instance);
  });
  const clean = (): void => {
    journals.clean().catch((error) => onFault(error, 'journal'));
    wheel.after(clean, ageMs);
  };
  wheel.after(clean, 1000);
  return journals;
}

/** An outdated view does not tell which runs are alive. */
const isGone = ({ knowsMembers, view, self }: Ownership, { instance }: JournalFolder): boolean =>
  knowsMembers && instance !== self?.instance && !view.shards.some((shard) => shard.instance === instance);

const metricsOf = (
  journal: Journal,
  {
    admission,
    migrationLimiter,
  }: { readonly admission: Admission; readonly migrationLimiter: MigrationLimiter },
  config: Config,
): Metric[] => [
  {
    name: 'guildhall_journal_bytes',
    help: 'Bytes on disk of the journal of sessions.',
    max: config.journal_bytes_max,
    read: () => journal.bytes,
  },
  {
    name: 'guildhall_journal_faults',
    help: 'Failed writes of the journal of sessions.',
    read: () => journal.faults,
  },
  {
    name: 'guildhall_identifies_waiting',
    help: 'IDENTIFYs waiting in the queue.',
    max: admission.waitingMax,
    read: () => admission.waiting,
  },
  {
    name: 'guildhall_resumes_waiting',
    help: 'Sessions of other shards whose RESUME waits in the queue.',
    max: migrationLimiter.waitingMax,
    read: () => migrationLimiter.waiting,
  },
];
