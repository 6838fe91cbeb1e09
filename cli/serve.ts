import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { systemClock } from '../actors/runtime/clock.ts';
import { adminTokens, type Config, shownConfig } from '../config/config.ts';
import type { Addresses, Engine, EngineOptions } from '../embedding.ts';
import { createLogTail, type LogTail } from '../protocol/logtail.ts';
import { REDACTION } from '../services/identity/redaction.ts';
import { type ConsoleServer, openAdminServer } from '../transports/admin/server.ts';
import { certificateFailure, startFailure } from './failures.ts';
import { checkPorts } from './ports.ts';
import { prettyLine } from './prettylog.ts';
import { CommandError, type World } from './world.ts';

/** A server that runs in this process until it is stopped. */
export interface Serving {
  readonly engine: Engine;
  readonly addresses: Addresses;
  readonly adminUrl: string;
  /** A link that signs a browser in to the console, once. */
  consoleLink(): string;
}

/** Additional inputs of the engine, and of a process that a supervisor started. */
interface Supervised extends Pick<EngineOptions, 'directory' | 'sharedPort' | 'chaos' | 'clock'> {
  /** Resolves when the supervisor stops this process, or has exited itself. Absent without a supervisor. */
  readonly stopRequested?: Promise<void>;
}

/** Whether a stop was requested, for checks between steps that cannot be interrupted. */
interface Halt {
  readonly isTold: boolean;
  readonly told: Promise<void>;
}

export function haltBy(...wishes: readonly Promise<void>[]): Halt {
  let isTold = false;
  const told = Promise.race(wishes).then(() => {
    isTold = true;
  });
  // Rejections are handled by the code that awaits the promise.
  told.catch(() => undefined);
  return {
    get isTold() {
      return isTold;
    },
    told,
  };
}

/**
 * Starts the engine, calls `ready`, and serves until a signal, the supervisor or the operator requests a stop; then drains
 * and closes within `drain_timeout_ms`. If the stop is requested before it serves, it starts nothing further and closes
 * what it has opened.
 *
 * @returns the exit code: 0 after a full drain, 1 when it had to be cut short.
 */
export async function serve(
  world: World,
  config: Config,
  ready: (serving: Serving) => Promise<void> | void,
  supervised: Supervised | null = null,
): Promise<number> {
  const { stopRequested: told = NEVER, ...options } = supervised ?? {};
  const halt = haltBy(world.untilToldToStop(), told);
  const log = createLogTail();
  const logger = loggerOf(config, log);
  const createEngine = await world.loadEngine();
  // A shard's supervisor has checked its ports, and holds one of them.
  if (supervised?.stopRequested === undefined) await checkPorts(world, config, [config]);
  if (halt.isTold) return 0;
  const engine = await createEngine({ ...options, config, logger }).catch((error: unknown) => {
    throw startFailure(error);
  });
  let drain = (): void => undefined;
  const drained = new Promise<void>((resolve) => {
    drain = resolve;
  });
  let admin: ConsoleServer | null = null;
  let isServing = false;
  try {
    if (!halt.isTold) {
      const opened = await openAdmin(engine, config);
      admin = opened;
      const listening = listen(engine, config, advertised(admin.url, config));
      // Joining a cluster may take long; once the engine is closed, `listening` never resolves.
      const addresses = await Promise.race([listening, halt.told]);
      isServing = addresses !== undefined;
      if (addresses === undefined) listening.catch(() => undefined);
      else if (!halt.isTold) {
        const { url: adminUrl, consoleLink } = opened;
        await ready({ engine, addresses, adminUrl, consoleLink });
      }
    }
  } catch (error) {
    await admin?.close();
    await engine.close();
    throw startFailure(error);
  }
  await Promise.race([halt.told, drained]);
  if (isServing) logger.info('Draining: sessions are asked to reconnect, commits are flushed.');
  const isClean = await withTimeout(config.drain_timeout_ms, async () => {
    if (isServing) await engine.drain();
    await engine.close();
  });
  await admin?.close();
  if (!isClean) logger.error(`Not drained after ${config.drain_timeout_ms} ms.`);
  return isClean ? 0 : 1;

  function openAdmin(running: Engine, { admin_host: host, admin_port: port, admin_token: token }: Config) {
    const names = adminNames(config);
    const tokens = adminTokens(config);
    const about = { version: world.version, settings: shownConfig(config), log, clock: systemClock };
    const options = { engine: running, host, port, token, tokens, names, logger, drain, ...about };
    return openAdminServer(options).catch((error: Error) => {
      throw portTaken('admin', host, port, '--admin-port 0', error);
    });
  }
}

const NEVER = new Promise<void>(() => undefined);

/** Creates the logger, which writes to standard error; lines of a shard contain its name. */
export function loggerOf(
  { log_level: level, log_format: format, shard_id: shard }: Config,
  tail?: LogTail,
): Logger {
  const output = pino.destination({ fd: 2, sync: true });
  const isTerminal = process.stderr.isTTY === true;
  const isPretty = format === 'pretty' || (format === 'auto' && isTerminal);
  const isColoured = isTerminal && !process.env.NO_COLOR;
  const write = (line: string): void => {
    output.write(isPretty ? prettyLine(line, isColoured) : line);
    tail?.add(line);
  };
  const logger = pino({ level, redact: REDACTION }, { write });
  return shard === null ? logger : logger.child({ name: shard });
}

/** Names by which other shards and operators may address the admin port. */
export function adminNames({ admin_hosts: hosts, link_address: link }: Config): readonly string[] {
  const named = (hosts ?? '').split(',').map((name) => name.trim());
  const linked = link === null ? [] : [link.slice(0, link.lastIndexOf(':'))];
  return [...named, ...linked, hostname()].filter((name) => name !== '');
}

/** The URL of an admin port that listens on all addresses, with the name of this machine. */
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
 * Explains why the engine does not listen. The message names the server of a TCP port; for a UDP port it keeps the system's
 * message, because TCP and UDP may use the same number.
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

/** Runs a job. @returns false when it did not finish in time. */
async function withTimeout(timeoutMs: number, job: () => Promise<void>): Promise<boolean> {
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
