import { systemClock } from '../actors/runtime/clock.ts';
import { adminTokens, type Config } from '../config/config.ts';
import type { Addresses } from '../embedding.ts';
import {
  type CountedTrail,
  createSecurityTrail,
  SECURITY_EVENT_NAMES,
  SECURITY_METRIC,
} from '../protocol/security.ts';
import { openFront } from '../transports/admin/front.ts';
import type { AdminServer } from '../transports/admin/port.ts';
import { openStandby, type Standby } from '../transports/http/standby.ts';
import type { ShardPid } from './banner.ts';
import type { Demo } from './demo.ts';
import { checkPorts } from './ports.ts';
import { adminNames, haltBy, loggerOf, portTaken } from './serve.ts';
import { shardConfigs } from './shards.ts';
import { Supervisor } from './supervisor.ts';
import type { World } from './world.ts';

/** A server of several processes, once all of them serve. */
interface ServingShards {
  /** Addresses of the first shard; API, gateway and files are the same for all. */
  readonly addresses: Addresses;
  /** Admin URL of the supervisor, which outlives the shards. */
  readonly adminUrl: string;
  readonly shards: readonly ShardPid[];
  /** Creates the demo, or loads the one stored in a folder. */
  seed(bots: number, directory: string | null): Promise<Demo>;
}

/**
 * Runs `count` shards as processes behind one port, calls `ready`, and keeps them running until a stop is requested; then
 * drains all of them.
 *
 * @returns the exit code: 0 after a full drain, 1 when one had to be cut short.
 */
export async function supervise(
  world: World,
  config: Config,
  count: number,
  ready: (serving: ServingShards) => Promise<void> | void,
): Promise<number> {
  const halt = haltBy(world.untilToldToStop());
  const logger = loggerOf(config);
  // Check that all ports are free before any is opened.
  await checkPorts(world, config, shardConfigs(config, count, 0));
  if (halt.isTold) return 0;
  let supervisor: Supervisor | null = null;
  const standby = await openPort(config, () => supervisor?.isServed === true);
  const running = new Supervisor(world, {
    ...{ configs: shardConfigs(config, count, standby.port), logger },
    changed: () => standby.changed(),
  });
  supervisor = running;
  let front: AdminServer | null = null;
  try {
    front = await openAdmin(world, config, running, standby, logger);
    const { url: adminUrl } = front;
    const started = running.start().then((addresses) => {
      const shards = running.shards.map(({ id, pid }) => ({ id, pid }));
      return ready({ addresses, adminUrl, shards, seed: (bots, folder) => running.seed(bots, folder) });
    });
    await Promise.race([started, halt.told]);
    await halt.told;
    logger.info('Draining all shards.');
    return (await running.stop()) ? 0 : 1;
  } catch (error) {
    await running.stop();
    throw error;
  } finally {
    await front?.close();
    await standby.close();
  }
}

function openPort({ listen_host: host, listen_port: port }: Config, served: () => boolean): Promise<Standby> {
  return openStandby({ host, port, served, clock: systemClock }).catch((error: Error) => {
    throw portTaken('server', host, port, '--port 0', error);
  });
}

function openAdmin(
  world: World,
  config: Config,
  supervisor: Supervisor,
  standby: Standby,
  logger: ReturnType<typeof loggerOf>,
): Promise<AdminServer> {
  const { admin_host: host, admin_port: port, admin_token: token } = config;
  const trail = createSecurityTrail(
    (line, about) => logger.info(line, about),
    () => performance.now(),
  );
  return openFront({
    ...{ host, port, token, tokens: adminTokens(config), names: adminNames(config) },
    ...{ logger, version: world.version, security: trail.note },
    shards: () => supervisor.shards,
    drain: (id, stays) => supervisor.drain(id, stays),
    start: (id) => supervisor.startAgain(id),
    metrics: () => metrics(supervisor, standby, trail),
  }).catch((error: Error) => {
    throw portTaken('admin', host, port, '--admin-port 0', error);
  });
}

/** The supervisor's own metrics. */
function metrics({ shards }: Supervisor, standby: Standby, trail: CountedTrail): string {
  return [
    '# HELP guildhall_supervisor_shards_serving Shards that serve.',
    '# TYPE guildhall_supervisor_shards_serving gauge',
    `guildhall_supervisor_shards_serving ${shards.filter(({ state }) => state === 'serving').length}`,
    '# HELP guildhall_supervisor_restarts Times that a shard was started again.',
    '# TYPE guildhall_supervisor_restarts counter',
    ...shards.map(({ id, restarts }) => `guildhall_supervisor_restarts{shard="${id}"} ${restarts}`),
    '# HELP guildhall_supervisor_connections Connections that came while no shard listened: waiting, or passed on.',
    '# TYPE guildhall_supervisor_connections gauge',
    `guildhall_supervisor_connections ${standby.connections}`,
    `# HELP ${SECURITY_METRIC.name} ${SECURITY_METRIC.help}`,
    `# TYPE ${SECURITY_METRIC.name} gauge`,
    ...SECURITY_EVENT_NAMES.map((event) => `${SECURITY_METRIC.name}{event="${event}"} ${trail.count(event)}`),
    '',
  ].join('\n');
}
