import { hostname } from 'node:os';
import type { Config } from '../config/config.ts';
import { CommandError } from './world.ts';

const PORT_MAX = 65_535;
/** The shards' own admin ports, which only their supervisor uses. */
const PRIVATE_ADMIN = { admin_host: '127.0.0.1', admin_port: 0 } as const;

/**
 * Settings of each of `count` shards on one machine that share the port `port`: each has its own name, and consecutive
 * numbers, from the configured one, of the ports that cannot be shared; 0 stays 0.
 *
 * @throws CommandError when this many shards are not possible.
 */
export function shardConfigs(config: Config, count: number, port: number): Config[] {
  if (count > 1 && config.database_url === null) {
    throw new CommandError(
      `${count} shards need PostgreSQL: the embedded database has room for one process only.`,
      'Set DATABASE_URL=postgres://user:password@host/database, or start one shard without --shards.',
    );
  }
  if (count > 1) checkActivities(config);
  return Array.from({ length: count }, (_, index) => ({
    ...config,
    ...PRIVATE_ADMIN,
    shard_id: `${prefixOf(config)}-${index}`,
    listen_port: port,
    voice_port: moved(config, 'voice_port', index),
    voice_udp_port: moved(config, 'voice_udp_port', index * Math.max(1, config.voice_workers)),
    voice_webrtc_port: moved(config, 'voice_webrtc_port', index),
    voice_endpoint: movedAddress(config.voice_endpoint, index),
    activities_port: moved(config, 'activities_port', index, activitiesPort(config)),
    link_port: moved(config, 'link_port', index),
    link_address: movedAddress(config.link_address, index),
    // A single process that is restarted resumes its sessions too.
    journal: config.journal === 'auto' ? 'on' : config.journal,
  }));
}

/** Prefix of the shards' names, which must also be unique across machines. */
function prefixOf({ shard_id: given, etcd_urls: etcd }: Config): string {
  if (given !== null) return given;
  if (etcd === null) return 'shard';
  return (
    hostname()
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'shard'
  );
}

/** The port of the proxy of activities: the configured one, else that of its URL; 0 for any. */
const activitiesPort = ({ activities_port: port, activities_url: url }: Config): number =>
  port === 0 && url !== null ? Number(new URL(url).port) : port;

/** Without a port in the URL each shard's activities would have origins of their own. @throws CommandError */
function checkActivities({ activities_url: url }: Config): void {
  if (url === null || new URL(url).protocol === 'https:' || new URL(url).port !== '') return;
  throw new CommandError(
    `activities_url ${url} names no port, and several shards cannot share one that is free.`,
    'Set activities_url with a port, such as http://localhost:3080.',
  );
}

function moved(
  config: Config,
  key: 'voice_port' | 'voice_udp_port' | 'voice_webrtc_port' | 'link_port' | 'activities_port',
  by: number,
  first: number = config[key],
) {
  const port = first === 0 ? 0 : first + by;
  if (port <= PORT_MAX) return port;
  throw new CommandError(`${key} ${first} leaves no port for shard ${by}.`, `Set ${key} lower, or to 0.`);
}

/** Increments the port of an address, such as `host:443`; an address without a port is unchanged. */
const movedAddress = (address: string | null, by: number): string | null =>
  address?.replace(/:(\d+)(?=\/|$)/, (_, port: string) => `:${Number(port) + by}`) ?? null;
