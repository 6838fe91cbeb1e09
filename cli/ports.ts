import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import type { Config, ConfigKey } from '../config/config.ts';
import { keysOf } from '../protocol/present.ts';
import { codeOf } from '../protocol/thrown.ts';
import type { PortKey, RefusedPort, WantedPort } from './world.ts';
import { CommandError, type World } from './world.ts';

const WHAT: Readonly<Record<PortKey, string>> = {
  listen_port: 'server',
  admin_port: 'admin API',
  voice_port: 'voice gateway',
  voice_udp_port: 'UDP side of calls',
  voice_webrtc_port: 'WebRTC side',
  link_port: 'link of shards',
};
const UDP: ReadonlySet<PortKey> = new Set(['voice_udp_port', 'voice_webrtc_port']);
const FLAGS: Partial<Readonly<Record<PortKey, string>>> = {
  listen_port: '--port',
  admin_port: '--admin-port',
};
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'the address is not one of this machine',
  EACCES: 'this user may not open the port',
  ENOTFOUND: 'the name has no address',
};
const PORT_MAX = 65_535;
/** Distance between the ports that `dev` tries, so that the ports of one server keep their distances. */
const STEP = 100;
const STEPS_MAX = 50;

/** The flag or setting that changes a port. */
const flagOf = (key: PortKey, port: number): string =>
  FLAGS[key] === undefined ? `--set ${key}=${port}` : `${FLAGS[key]} ${port}`;

/**
 * The ports that a server opens, the first one first; ports that the system picks are omitted.
 *
 * @param own   Settings of the server, or of its supervisor.
 * @param shards Settings of each process; `[own]` for a single process.
 */
export function wantedPorts(own: Config, shards: readonly Config[]): WantedPort[] {
  const ports: WantedPort[] = [
    { key: 'listen_port', host: own.listen_host, port: own.listen_port },
    { key: 'admin_port', host: own.admin_host, port: own.admin_port },
  ];
  for (const config of shards) {
    const { voice_host: host, voice_webrtc_address: browsers } = config;
    if (config.voice) {
      ports.push({ key: 'voice_port', host, port: config.voice_port });
      for (let worker = 0; worker < Math.max(1, config.voice_workers); worker++)
        ports.push({
          ...{ key: 'voice_udp_port', host },
          port: config.voice_udp_port === 0 ? 0 : config.voice_udp_port + worker,
        });
      // Only the engine resolves `auto` to an address; it reports a port in use there itself.
      if (browsers !== 'auto')
        ports.push({ key: 'voice_webrtc_port', host: browsers ?? host, port: config.voice_webrtc_port });
    }
    if (config.etcd_urls !== null || shards.length > 1)
      ports.push({ key: 'link_port', host: config.link_host, port: config.link_port });
  }
  return ports.filter(({ port }) => port !== 0);
}

/** The ports that cannot be opened now. Opens and closes each in sequence. */
export async function refusedPorts(wanted: readonly WantedPort[]): Promise<RefusedPort[]> {
  const refused: RefusedPort[] = [];
  for (const each of wanted) {
    const code = await (UDP.has(each.key) ? tryUdp(each) : tryTcp(each));
    if (code !== null) refused.push({ ...each, code });
  }
  return refused;
}

async function tryTcp({ host, port }: WantedPort): Promise<string | null> {
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    return codeOf(error) ?? null;
  }
  server.close();
  await once(server, 'close');
  return null;
}

async function tryUdp({ host, port }: WantedPort): Promise<string | null> {
  if (port > PORT_MAX) return null;
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    socket.bind({ address: host, port, exclusive: true });
    await once(socket, 'listening');
    return null;
  } catch (error) {
    return codeOf(error) ?? null;
  } finally {
    socket.close();
  }
}

/** One error for all ports that cannot be opened, with advice how to choose others. */
function portsRefused(refused: readonly RefusedPort[]): CommandError {
  const lines = refused.map(
    ({ key, host, port, code }) =>
      `The ${WHAT[key]} cannot listen on ${host}:${port} (${key}): ${REASONS[code] ?? code}.`,
  );
  const flags = [...new Set(refused.map(({ key }) => flagOf(key, 0)))].join(' ');
  const isTaken = refused.every(({ code }) => code === 'EADDRINUSE');
  return new CommandError(
    lines.join('\n'),
    isTaken
      ? `Is another server running there? Stop it, or take free ports with ${flags}.`
      : `Choose other addresses or ports in the settings, or free ports with ${flags}.`,
  );
}

type Ports = Pick<World, 'refusedPorts'>;

/** Checks all ports before any is opened. @throws CommandError that names every port that cannot be opened. */
export async function checkPorts(
  { refusedPorts }: Ports,
  own: Config,
  shards: readonly Config[],
): Promise<void> {
  const refused = await refusedPorts(wantedPorts(own, shards));
  if (refused.length > 0) throw portsRefused(refused);
}

/** A port in use, and the port used instead; 0 lets the system pick one. */
export interface MovedPort {
  readonly key: ConfigKey;
  readonly from: number;
  readonly to: number;
}

/**
 * Replaces ports in use by free ones, except ports that the operator named.
 *
 * @param shardsOf The settings of each process, from those of the server.
 */
export async function withFreePorts(
  { refusedPorts }: Ports,
  config: Config,
  named: ReadonlySet<string>,
  shardsOf: (config: Config) => readonly Config[],
): Promise<{ readonly config: Config; readonly moved: readonly MovedPort[] }> {
  let chosen = config;
  for (let step = 1; step <= STEPS_MAX; step++) {
    const refused = await refusedPorts(wantedPorts(chosen, shardsOf(chosen)));
    const keys = new Set(
      refused.flatMap(({ key, code }) => (code === 'EADDRINUSE' && !named.has(key) ? [key] : [])),
    );
    if (keys.size === 0) break;
    const next = (key: PortKey): number =>
      step === STEPS_MAX || chosen[key] + STEP > PORT_MAX - STEP ? 0 : chosen[key] + STEP;
    chosen = { ...chosen, ...Object.fromEntries([...keys].map((key) => [key, next(key)])) };
  }
  const keys = keysOf(WHAT);
  const moved = keys.filter((key) => chosen[key] !== config[key]);
  return { config: chosen, moved: moved.map((key) => ({ key, from: config[key], to: chosen[key] })) };
}
