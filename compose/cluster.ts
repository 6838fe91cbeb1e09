import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Directory } from '../actors/cluster/ports.ts';
import { type Cluster, createShard, standaloneCluster } from '../actors/cluster/shard.ts';
import { Lifetime } from '../actors/runtime/clock.ts';
import { VERSION } from '../actors/runtime/version.ts';
import { directoryKind, hasExposedLinks, shardNameOf } from '../config/choices.ts';
import type { Config } from '../config/config.ts';
import { INSTANCE_BYTES } from '../config/fixed.ts';
import type { EngineOptions } from '../embedding.ts';
import * as lease from '../engine/placement/lease.ts';
import { chancesFrom } from '../protocol/chance.ts';
import type { Metric } from '../protocol/metrics.ts';
import { openJournals } from '../storage/journal/openjournals.ts';
import type { Storage } from '../storage/ports.ts';
import { readLinkTls } from '../transports/cluster/certificates.ts';
import { SoloDirectory } from '../transports/cluster/directory.solo.ts';
import type { GrpcLinks } from '../transports/cluster/links.ts';
import { bytesWaiting, linkMetrics } from '../transports/cluster/metrics.ts';
import type { Foundation } from './foundation.ts';

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
  if (directory === null) return openStandalone(config);
  const opened = new Lifetime(foundation.clock);
  opened.own(() => directory.close());
  return opened.openAll(() => openShard(foundation, directory, ports, opened));
}

async function openShard(
  foundation: Foundation,
  directory: Directory,
  { storage }: ClusterPorts,
  opened: Lifetime,
): Promise<OpenCluster> {
  const { config, randomBytes, worker } = foundation;
  const self = identityOf(foundation);
  const links = await linksOf(foundation, self);
  opened.own(() => links.close());
  const journals = await openJournals(foundation, self);
  const shard = createShard({
    ...{ ...foundation, lifetime: opened, links, directory, store: storage.cluster },
    self: { ...self, address: links.address },
    numbered(number) {
      worker.number = number;
    },
    random: chancesFrom(randomBytes),
    handoverTimeoutMs: config.handover_timeout_ms,
    deadlineMs: config.command_deadline_ms,
  });
  const { ownership, router, handover } = shard;
  opened.own(() => ownership.close());
  opened.own(() => handover.abandon(() => true));
  links.serve(router.handler);
  foundation.metrics.push(...metricsOf(shard, config));
  return {
    ...{ ...shard, journals },
    id: config.cluster_id,
    partitions: directory.partitions,
    enter: (adminUrl) => ownership.start(adminUrl),
    lagMs: () => ownership.lagMs,
    linkBytes: () => bytesWaiting(links),
    close: () => opened.close(),
  };
}

const openStandalone = (config: Config): OpenCluster => ({
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
  const made = {
    given: () => given.directory ?? null,
    etcd: () => etcdOf(foundation, config.etcd_urls ?? ''),
    solo: () => new SoloDirectory(config.partitions),
    none: () => null,
  };
  return made[directoryKind(config, given)]();
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
      random: chancesFrom(randomBytes),
      onFault: (error, what) => onFault(error, `etcd: ${what}`),
    },
  );
}

type Self = ReturnType<typeof identityOf>;

/** The identity of this shard: its name survives a restart, the run id does not. */
function identityOf({ config, clock, randomBytes }: Foundation) {
  const host = hostname();
  return {
    id: shardNameOf(config, host, process.pid),
    instance: Buffer.from(randomBytes(INSTANCE_BYTES)).toString('hex'),
    host,
    pid: process.pid,
    weight: config.shard_weight,
    version: VERSION,
    startedMs: clock.now(),
    adminUrl: null,
  };
}

/** @throws errors of reading the certificates and of listening. */
async function linksOf({ config, clock, logger, onFault }: Foundation, self: Self): Promise<GrpcLinks> {
  const tls = readLinkTls(config);
  if (hasExposedLinks(config, tls !== null))
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

const metricsOf = (
  { ownership, router, links, partitionsOwned }: ReturnType<typeof createShard<GrpcLinks>>,
  { link_bytes_max }: Config,
): Metric[] => [
  { name: 'guildhall_partitions_owned', help: 'Partitions that this shard owns.', read: partitionsOwned },
  {
    name: 'guildhall_epoch_lag_ms',
    help: 'Longest time that a partition assigned to this shard has been unserved.',
    read: () => ownership.lagMs,
  },
  ...linkMetrics(links, router, link_bytes_max),
];
