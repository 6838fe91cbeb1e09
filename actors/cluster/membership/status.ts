import { hostname } from 'node:os';
import type { ClusterControl, ClusterStatus, ShardStatus } from '../../../embedding.ts';
import type { Placement, ShardInfo, ShardState } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { VERSION } from '../../runtime/version.ts';
import type { GatewaySessions } from '../../session/sessions.ts';

/** The placement of this shard with its metrics. */
interface WatchedCluster extends Placement {
  /** Null in standalone mode. */
  readonly id: string | null;
  readonly partitions: number;
  readonly participants: ReadonlyMap<string, { readonly size: number }>;
  lagMs(): number;
  linkBytes(): number;
}

interface StatusSources {
  readonly cluster: WatchedCluster;
  readonly clock: Clock;
  readonly sessions: Pick<GatewaySessions, 'size' | 'journal'>;
}

/** Deadline of the status request to another shard. */
const ANSWER_MS = 1_000;

const ALONE = { id: 'shard-0', address: null, adminUrl: null } as const;

/** The part of its status that a shard reports itself; the directory provides the rest. */
type Own = Pick<ShardStatus, 'sessions' | 'epoch_lag_ms' | 'journal_bytes' | 'link_bytes' | 'residents'> & {
  readonly state: ShardState;
};
const SILENT = {
  state: 'silent',
  sessions: null,
  epoch_lag_ms: null,
  journal_bytes: null,
  link_bytes: null,
  residents: null,
} as const;

/** The report of this process about itself. */
const reporting =
  ({ cluster, sessions }: StatusSources): (() => Own) =>
  () => ({
    state: cluster.ownership.state,
    sessions: sessions.size,
    epoch_lag_ms: Math.round(cluster.lagMs()),
    journal_bytes: sessions.journal?.bytes ?? 0,
    link_bytes: cluster.linkBytes(),
    residents: Object.fromEntries([...cluster.participants].map(([kind, { size }]) => [kind, size])),
  });

/** Status and drain of a standalone process: one shard that owns everything. */
export function standaloneControl(sources: StatusSources): ClusterControl {
  const { cluster, clock } = sources;
  const { partitions } = cluster;
  const own = reporting(sources);
  const startedMs = clock.monotonic();
  const status = (): ClusterStatus => {
    const row = {
      ...rowStart({ ...ALONE, pid: process.pid, host: hostname() }),
      version: VERSION,
      ...own(),
      partitions,
      uptime_ms: Math.round(clock.monotonic() - startedMs),
    };
    return { cluster_id: null, partitions, partitions_unserved: 0, shards: [row] };
  };
  return { status: async () => status(), drain: () => cluster.ownership.drain() };
}

/** Status and drain of a shard; the status is that of the whole cluster. */
export function createClusterControl(sources: StatusSources): ClusterControl {
  const { cluster, clock } = sources;
  const { ownership, router } = cluster;
  const own = reporting(sources);

  async function rowOf(shard: ShardInfo, partitions: number, nowMs: number): Promise<ShardStatus> {
    const said =
      shard.instance === ownership.self?.instance
        ? own()
        : await router.askShard(shard.id, 'shard.status', [], ANSWER_MS).catch(() => SILENT);
    return {
      ...rowStart(shard),
      version: shard.version,
      ...said,
      partitions,
      uptime_ms: Math.max(0, nowMs - shard.startedMs),
    };
  }

  async function clusterStatus(): Promise<ClusterStatus> {
    const { shards, owners } = ownership.view;
    const counts = new Map<string, number>();
    for (const owner of owners)
      if (owner && owner.epoch > 0) counts.set(owner.instance, (counts.get(owner.instance) ?? 0) + 1);
    const nowMs = clock.now();
    const rows = shards.map((shard) => rowOf(shard, counts.get(shard.instance) ?? 0, nowMs));
    const served = [...counts.values()].reduce((sum, count) => sum + count, 0);
    return {
      cluster_id: cluster.id,
      partitions: cluster.partitions,
      partitions_unserved: cluster.partitions - served,
      shards: await Promise.all(rows),
    };
  }

  router.serve('shard.status', own);
  return { status: clusterStatus, drain: () => ownership.drain() };
}

const rowStart = ({
  id,
  pid,
  host,
  address,
  adminUrl,
}: Pick<ShardInfo, 'id' | 'pid' | 'host' | 'adminUrl'> & { readonly address: string | null }) => ({
  id,
  pid,
  host,
  address,
  admin_url: adminUrl,
});
