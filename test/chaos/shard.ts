import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { freePort } from '../support/freeport.ts';
import { type Machine, OUTSIDE } from './system.ts';
import { openWire, type Wire } from './wire.ts';

export const PARTITIONS = 64;
export const LEASE_TTL_MS = 3_000;
export const ADMIN_TOKEN = 'of-the-chaos-test';
const LOOPBACK = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;
/** Lines of a shard's log that are kept. */
const LOG_LINES_MAX = 20_000;

/** In what a shard says first of itself over a link. */
const nameIn = (said: Buffer): string | null => /chaos-[abc]/.exec(said.toString('latin1'))?.[0] ?? null;

/** A process of the cluster, and the wires between it and the rest. */
export interface Shard {
  readonly id: string;
  readonly api: string;
  readonly gateway: string;
  readonly adminUrl: string;
  /** One to each member of etcd. */
  readonly toEtcd: readonly Wire[];
  readonly toDatabase: Wire;
  /** Others reach it over this one. */
  readonly fromPeers: Wire;
  /** With a network and a clock of its own; null when it shares those of this process. */
  readonly machine: Machine | null;
  readonly log: readonly string[];
  /** Resolves when it serves. */
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it as SIGKILL does. */
  kill(): Promise<void>;
}

interface ShardGiven {
  readonly id: string;
  /** Where `dist/cli.js` is. */
  readonly root: string;
  readonly folder: string;
  readonly journalDir: string;
  readonly databaseUrl: URL;
  readonly etcdUrls: readonly URL[];
  readonly machine: Machine | null;
  readonly set?: Readonly<Record<string, string | number | boolean>>;
}

/** A shard that has not been started. What is to be closed with it is added to `closing`. */
export async function shardOf(
  given: ShardGiven,
  closing: (() => Promise<unknown> | unknown)[],
): Promise<Shard> {
  const { id, root, folder, journalDir, machine, set = {} } = given;
  const [port, adminPort, linkPort] = [await freePort(), await freePort(), await freePort()];
  const [outside, address] = machine ? [OUTSIDE, machine.address] : [LOOPBACK, LOOPBACK];
  const toEtcd = await Promise.all(
    given.etcdUrls.map((url) => openWire({ port: Number(url.port), from: outside })),
  );
  const toDatabase = await openWire({ port: Number(given.databaseUrl.port), from: outside });
  const fromPeers = await openWire({ port: linkPort, from: outside, to: address }, nameIn);
  for (const wire of [...toEtcd, toDatabase, fromPeers]) closing.push(() => wire.close());
  const database = new URL(given.databaseUrl);
  database.host = `${outside}:${toDatabase.port}`;
  const settings = {
    ...{ listen_host: address, admin_host: address, link_host: address },
    ...{ listen_port: port, admin_port: adminPort, admin_token: ADMIN_TOKEN, log_level: 'info' },
    token_secret: 'of-the-chaos-test'.repeat(4),
    ...{ database_url: database.href, etcd_urls: toEtcd.map((to) => `http://${outside}:${to.port}`).join() },
    ...{ shard_id: id, cluster_id: 'of-chaos', partitions: PARTITIONS, lease_ttl_ms: LEASE_TTL_MS },
    ...{ link_port: linkPort, link_address: `${outside}:${fromPeers.port}`, journal_dir: journalDir },
    ...{ voice: false, rate_limits: false, max_concurrency: 100, heartbeat_interval_ms: 2_000 },
    ...set,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const log: string[] = [];
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const command = [join(root, 'dist/cli.js'), 'start', '--json', '--data', join(folder, id), ...args];
    const started = machine
      ? await machine.spawn(process.execPath, command, { cwd: folder })
      : spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    createInterface({ input: outputOf(started.stderr) }).on('line', (line) => {
      log.push(line);
      if (log.length > LOG_LINES_MAX) log.shift();
    });
    const timer = setTimeout(() => started.kill('SIGKILL'), START_TIMEOUT_MS);
    const lines = createInterface({ input: outputOf(started.stdout) });
    const ended = once(started, 'exit').then(() =>
      Promise.reject(new Error(`${id} ended: ${log.slice(-20).join('\n')}`)),
    );
    const [first] = await Promise.race([once(lines, 'line'), ended]).finally(() => clearTimeout(timer));
    ended.catch(() => undefined);
    if (String(first).includes('"error"')) throw new Error(`${id} does not serve: ${first}`);
  }
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  closing.push(kill);
  return {
    ...{ id, toEtcd, toDatabase, fromPeers, machine, log, start, kill },
    api: `http://${address}:${port}/api/v10`,
    gateway: `ws://${address}:${port}`,
    adminUrl: `http://${address}:${adminPort}`,
    signal: (signal) => void child?.kill(signal),
  };
}

/** @throws Error for a stream that the process does not have. */
function outputOf(stream: Readable | null): Readable {
  if (stream === null) throw new Error('The process has no output.');
  return stream;
}
