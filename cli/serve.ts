import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { adminTokens, type Config } from '../config/config.ts';
import type { Addresses, Engine, EngineOptions } from '../embedding.ts';
import { REDACTION } from '../services/identity/secret.ts';
import { type AdminServer, openAdminServer } from '../transports/admin/server.ts';
import { certificateFailure, startFailure } from './failures.ts';
import { checkPorts } from './ports.ts';
import { CommandError, type World } from './world.ts';

/** A server that runs in this process until it is told to stop. */
export interface Serving {
  readonly engine: Engine;
  readonly addresses: Addresses;
  readonly adminUrl: string;
}

/** What a supervisor adds to a process of its own. */
interface Supervised extends Pick<EngineOptions, 'directory' | 'sharedPort'> {
  /** Resolves when the supervisor wants it to end, or is gone itself. */
  readonly told: Promise<void>;
}

/** Whether the first of some promises is fulfilled, for steps that cannot be broken off. */
interface Halt {
  readonly isTold: boolean;
  readonly told: Promise<void>;
}

export function haltBy(...wishes: readonly Promise<void>[]): Halt {
  let isTold = false;
  const told = Promise.race(wishes).then(() => {
    isTold = true;
  });
  // What it is rejected with is for those who wait for it.
  told.catch(() => undefined);
  return {
    get isTold() {
      return isTold;
    },
    told,
  };
}

/**
 * Brings the engine up, lets `ready` say so, and serves until the world, the supervisor or the operator says stop; then
 * drains and closes within `drain_timeout_ms`. Told to stop before it serves it goes no further than it has come, and
 * closes what it has opened.
 *
 * @returns the exit code: 0 after a full drain, 1 when it had to be cut short.
 */
export async function serve(
  world: World,
  config: Config,
  ready: (serving: Serving) => Promise<void> | void,
  supervised: Supervised | null = null,
): Promise<number> {
  const { told = NEVER, ...options } = supervised ?? {};
  const halt = haltBy(world.untilToldToStop(), told);
  const logger = loggerOf(config);
  const createEngine = await world.loadEngine();
  // A shard's ports were looked at by its supervisor, which holds one of them.
  if (supervised === null) await checkPorts(world, config, [config]);
  if (halt.isTold) return 0;
  const engine = await createEngine({ ...options, config, logger }).catch((error: unknown) => {
    throw startFailure(error);
  });
  let drain = (): void => undefined;
  const drained = new Promise<void>((resolve) => {
    drain = resolve;
  });
  let admin: AdminServer | null = null;
  let isServing = false;
  try {
    if (!halt.isTold) {
      admin = await openAdmin(engine, config);
      const listening = listen(engine, config, advertised(admin.url, config));
      // A cluster may be long in coming, and what is closed meanwhile listens no more.
      const addresses = await Promise.race([listening, halt.told]);
      isServing = addresses !== undefined;
      if (addresses === undefined) listening.catch(() => undefined);
      else if (!halt.isTold) await ready({ engine, addresses, adminUrl: admin.url });
    }
  } catch (error) {
    await admin?.close();
    await engine.close();
    throw startFailure(error);
  }
  await Promise.race([halt.told, drained]);
  if (isServing) logger.info('Draining: sessions are told to reconnect, commits are flushed.');
  const isClean = await within(config.drain_timeout_ms, async () => {
    if (isServing) await engine.drain();
    await engine.close();
  });
  await admin?.close();
  if (!isClean) logger.error(`Not drained after ${config.drain_timeout_ms} ms.`);
  return isClean ? 0 : 1;

  function openAdmin(running: Engine, { admin_host: host, admin_port: port, admin_token: token }: Config) {
    const names = adminNames(config);
    const tokens = adminTokens(config);
    const options = { engine: running, host, port, token, tokens, names, logger, drain };
    return openAdminServer(options).catch((error: Error) => {
      throw portTaken('admin', host, port, '--admin-port 0', error);
    });
  }
}

const NEVER = new Promise<void>(() => undefined);

/** Writes to standard error; lines of a shard bear its name. */
export function loggerOf({ log_level: level, shard_id: shard }: Config): Logger {
  const logger = pino({ level, redact: REDACTION }, pino.destination({ fd: 2, sync: true }));
  return shard === null ? logger : logger.child({ name: shard });
}

/** What the admin port may be called by: other shards and operators know the machine by these names. */
export function adminNames({ admin_hosts: hosts, link_address: link }: Config): readonly string[] {
  const named = (hosts ?? '').split(',').map((name) => name.trim());
  const linked = link === null ? [] : [link.slice(0, link.lastIndexOf(':'))];
  return [...named, ...linked, hostname()].filter((name) => name !== '');
}

/** Where other machines reach an admin port that listens on all addresses: at the name of this one. */
function advertised(url: string, { admin_host: host, link_address: link }: Config): string {
  if (host !== '0.0.0.0' && host !== '::') return url;
  const name = link === null ? hostname() : link.slice(0, link.lastIndexOf(':'));
  return `http://${name}:${new URL(url).port}`;
}

async function listen(engine: Engine, config: Config, adminUrl: string): Promise<Addresses> {
  try {
    return await engine.listen({ adminUrl });
  } catch (error) {
    throw explained(error as Error, config);
  }
}

/**
 * Why the engine does not listen. TCP ports are named by the server that wanted them, UDP ports in the system's own
 * words, because one number may be both.
 */
function explained(error: Error, config: Config): Error {
  const { listen_host, listen_port, voice_host, voice_port, voice_webrtc_port, voice_webrtc_address } =
    config;
  const { message } = error;
  const udp = /\bbind E[A-Z]+ .*:(\d+)$/.exec(message)?.[1];
  if (udp !== undefined) {
    const isBrowsers = Number(udp) === voice_webrtc_port;
    const host = isBrowsers ? (voice_webrtc_address ?? voice_host) : voice_host;
    const flag = `--set ${isBrowsers ? 'voice_webrtc_port' : 'voice_udp_port'}=0`;
    return portTaken(isBrowsers ? 'WebRTC side' : 'UDP side of calls', host, Number(udp), flag, error);
  }
  if (!message.startsWith('Cannot listen on '))
    return /\btls_/.test(message) ? certificateFailure(error) : error;
  const isVoice = voice_port !== listen_port && message.includes(` ${voice_host}:${voice_port}:`);
  return isVoice
    ? portTaken('voice gateway', voice_host, voice_port, '--set voice_port=0', error)
    : portTaken('server', listen_host, listen_port, '--port 0', error);
}

export function portTaken(
  what: string,
  host: string,
  port: number,
  flag: string,
  cause: Error,
): CommandError {
  return new CommandError(
    `The ${what} cannot listen on ${host}:${port}: ${cause.message}`,
    `Is another server running there? Stop it, or take a free port with ${flag}.`,
    { cause },
  );
}

/** False when the job was not done in time. */
async function within(timeoutMs: number, job: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([job().then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
