import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { type HandoverParticipant, handoverOf } from '../actors/cluster/membership/handover.ts';
import { createOwnership, type ShardOwnership } from '../actors/cluster/membership/ownership.ts';
import type { Directory, Links } from '../actors/cluster/ports.ts';
import { routingOver } from '../actors/cluster/routing/routed.ts';
import { createRouter } from '../actors/cluster/routing/router.ts';
import type { Placement } from '../actors/placement/ports.ts';
import { standalone } from '../actors/placement/standalone.ts';
import { VERSION } from '../actors/runtime/version.ts';
import type { Config } from '../config/config.ts';
import type { EngineOptions } from '../embedding.ts';
import * as lease from '../engine/placement/lease.ts';
import type { Metric } from '../protocol/metrics.ts';
import { openJournals } from '../storage/journal/openjournals.ts';
import type { Journals } from '../storage/journal/port.ts';
import type { Storage } from '../storage/ports.ts';
import { readLinkTls } from '../transports/cluster/certificates.ts';
import { SoloDirectory } from '../transports/cluster/directory.solo.ts';
import type { GrpcLinks } from '../transports/cluster/links.ts';
import { bytesWaiting, linkMetrics } from '../transports/cluster/metrics.ts';
import type { Foundation } from './foundation.ts';

/** The cluster as its shards use it. In a standalone process this process owns everything. */
export interface Cluster extends Placement {
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
  links: null,
  directory: null,
  participants: new Map(),
  admits: null,
});

/** The cluster with the operations that start and stop it. */
export interface OpenCluster extends Cluster {
  /** Null while this process is alone. */
  readonly id: string | null;
  readonly partitions: number;
  /** Joins the cluster; resolves when this shard serves every partition that it could take at once. */
  enter(adminUrl: string | null): Promise<void>;
  /** How long partitions assigned to this shard have not been served yet. */
  lagMs(): number;
  /** Bytes that wait to be sent to other shards. */
  linkBytes(): number;
  unready(): { cluster?: string };
  /** Leaves the cluster: other shards may take over everything that this shard owned. */
  close(): Promise<void>;
}

interface ClusterPorts {
  readonly storage: Pick<Storage, 'cluster'>;
}

const INSTANCE_BYTES = 8;

const WHY: Readonly<Record<string, string>> = {
  joining: 'This shard is not in the cluster yet.',
  suspended: 'The directory has not been heard of for too long: nothing is decided here.',
  draining: 'This shard gives away what it owns.',
  left: 'This shard has left the cluster.',
};

/**
 * Opens the cluster of the configured directory, or a standalone one. The shard becomes a member by `enter`.
 *
 * @throws RangeError for settings that contradict each other, and errors of opening the port for links.
 */
export async function openCluster(
  foundation: Foundation,
  directory: Directory | null,
  ports: ClusterPorts,
): Promise<OpenCluster> {
  const { config } = foundation;
  if (directory === null) return openAlone(config);
  const self = identityOf(foundation);
  let journals: Journals | null = null;
  let links: GrpcLinks;
  try {
    journals = await openJournals(foundation, self);
    links = await linksOf(foundation, self);
  } catch (error) {
    journals?.writer.close();
    await directory.close();
    throw error;
  }
  const participants = new Map<string, HandoverParticipant>();
  const handover = handoverOf(participants);
  const beforeRejoin = new Set<() => Promise<void>>();
  const ownership = ownershipOf(foundation, ports, { self, links, directory, handover, beforeRejoin });
  ownership.onChange(({ came, gone }) => {
    if (came.length + gone.length > 0) links.follow(ownership.view.shards);
  });
  const router = createRouter({
    ...{ ownership, links },
    clock: foundation.clock,
    wheel: foundation.wheel,
    randomBytes: foundation.randomBytes,
    deadlineMs: config.command_deadline_ms,
    answers: (key) => {
      const fence = ownership.heldUnder(key);
      return fence !== null && ports.storage.cluster.isLast(fence);
    },
    onFault: (where, fault) => foundation.onFault(fault, where),
  });
  links.serve(router.handler);
  foundation.metrics.push(...metricsOf({ ownership, router, links }, config));
  return {
    ...{ ownership, router, links, directory, participants, journals, beforeRejoin },
    routing: routingOver({ ownership, router }),
    id: config.cluster_id,
    partitions: directory.partitions,
    admits: (id) => ownership.owns(id),
    enter: (adminUrl) => ownership.start(adminUrl),
    lagMs: () => ownership.lagMs,
    linkBytes: () => bytesWaiting(links),
    unready() {
      const why = WHY[ownership.state];
      return why === undefined ? {} : { cluster: why };
    },
    async close() {
      handover.abandon(() => true);
      await ownership.close();
      router.close();
      await links.close();
      await directory.close();
    },
  };
}

const openAlone = (config: Config): OpenCluster => ({
  ...standaloneCluster(),
  id: null,
  partitions: config.partitions,
  enter: async () => undefined,
  lagMs: () => 0,
  linkBytes: () => 0,
  unready: () => ({}),
  close: async () => undefined,
});

/**
 * The directory of the embedding program or of the settings. Null for a standalone process.
 *
 * @throws RangeError when each shard would have a database of its own, and errors of reading the certificates.
 */
export async function directoryOf(
  foundation: Foundation,
  given: Pick<EngineOptions, 'directory' | 'storage'>,
): Promise<Directory | null> {
  const { config } = foundation;
  if (!given.directory && config.etcd_urls === null)
    return config.journal === 'on' ? new SoloDirectory(config.partitions) : null;
  if (!given.storage && config.database_url === null)
    throw new RangeError('Shards share a database: many of them need PostgreSQL. Set database_url.');
  return given.directory ?? etcdOf(foundation, config.etcd_urls ?? '');
}

async function etcdOf({ config, clock, randomBytes, onFault }: Foundation, urls: string): Promise<Directory> {
  // A process without peers does not load etcd's client.
  const { etcdDirectory } = await import('../transports/cluster/directory.etcd.ts');
  return etcdDirectory(
    {
      urls: urls.split(',').map((url) => url.trim()),
      username: config.etcd_username,
      password: config.etcd_password,
      ca: config.etcd_ca_file === null ? null : readFileSync(config.etcd_ca_file),
      clusterId: config.cluster_id,
      partitions: config.partitions,
      leaseTtlMs: config.lease_ttl_ms,
    },
    {
      ...{ clock, lease },
      random: () => chanceOf(randomBytes),
      onFault: (error, what) => onFault(error, `etcd: ${what}`),
    },
  );
}

const UINT32 = 2 ** 32;

/** A random number from 0 to 1. */
const chanceOf = (randomBytes: Foundation['randomBytes']): number =>
  Buffer.from(randomBytes(4)).readUInt32LE() / UINT32;

type Self = ReturnType<typeof identityOf>;

/** The identity of this shard: its name survives a restart, the run id does not. */
function identityOf({ config, clock, randomBytes }: Foundation) {
  const host = hostname();
  const made = `${host}-${config.link_port || process.pid}`.toLowerCase().replace(/[^a-z0-9-]/g, '-');
  return {
    id: config.shard_id ?? made.slice(-63).replace(/^-+/, ''),
    instance: Buffer.from(randomBytes(INSTANCE_BYTES)).toString('hex'),
    host,
    pid: process.pid,
    weight: config.shard_weight,
    version: VERSION,
    startedMs: clock.now(),
    adminUrl: null,
  };
}

const LOOPBACK = /^(127\.|::1$|localhost$)/;

/** @throws errors of reading the certificates and of listening. */
async function linksOf({ config, clock, logger, onFault }: Foundation, self: Self): Promise<GrpcLinks> {
  const tls = readLinkTls(config);
  if (tls === null && !LOOPBACK.test(config.link_host))
    logger.warn(
      { link_host: config.link_host },
      'Links are not encrypted, and any peer that reaches them is trusted: configure certificates (link_ca_file).',
    );
  // A process without peers does not load gRPC.
  const { createLinks } = await import('../transports/cluster/links.ts');
  return createLinks({
    self,
    clusterId: config.cluster_id,
    host: config.link_host,
    port: config.link_port,
    address: config.link_address,
    tls,
    bytesMax: config.link_bytes_max,
    ...{ clock, logger },
    onFault: (where, fault, details) => onFault(fault, where, details),
  });
}

const ownershipOf = (
  { config, clock, wheel, randomBytes, worker, onFault }: Foundation,
  { storage }: ClusterPorts,
  {
    self,
    links,
    directory,
    handover,
    beforeRejoin,
  }: {
    readonly self: Self;
    readonly links: GrpcLinks;
    readonly directory: Directory;
    readonly handover: ReturnType<typeof handoverOf>;
    readonly beforeRejoin: ReadonlySet<() => Promise<void>>;
  },
): ShardOwnership =>
  createOwnership({
    ...{ directory, handover, clock, wheel },
    numbered(number) {
      worker.number = number;
    },
    self: { ...self, address: links.address },
    store: storage.cluster,
    random: () => chanceOf(randomBytes),
    handoverTimeoutMs: config.handover_timeout_ms,
    async beforeRejoin() {
      await Promise.all([...beforeRejoin].map((run) => run()));
    },
    onFault: (error, what) => onFault(error, `cluster: ${what}`),
  });

function metricsOf(
  {
    ownership,
    router,
    links,
  }: {
    readonly ownership: ShardOwnership;
    readonly router: ReturnType<typeof createRouter>;
    readonly links: GrpcLinks;
  },
  { link_bytes_max }: Config,
): Metric[] {
  const self = ownership.self.instance;
  const owned = () => ownership.view.owners.filter((owner) => owner?.instance === self).length;
  return [
    { name: 'guildhall_partitions_owned', help: 'Partitions that this shard owns.', read: owned },
    {
      name: 'guildhall_epoch_lag_ms',
      help: 'For how long partitions that are to be owned here are not served yet.',
      read: () => ownership.lagMs,
    },
    ...linkMetrics(links, router, link_bytes_max),
  ];
}
