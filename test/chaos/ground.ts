import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';
import { freePort } from '../support/freeport.ts';
import { lackingForPatroni, type PatroniCluster, startPatroni } from '../support/patroni.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.setup.ts';
import type { Noted, Stored } from './judge.ts';
import { openWire, type Wire } from './wire.ts';

export const PARTITIONS = 64;
export const LEASE_TTL_MS = 3_000;
const SHARDS = ['chaos-a', 'chaos-b', 'chaos-c'] as const;
export const ADMIN_TOKEN = 'of-the-chaos-test';
const DATABASE = 'chaos';
const START_TIMEOUT_MS = 60_000;
/** Lines of a shard's log that are kept. */
const LOG_LINES_MAX = 20_000;

/** In what a shard says first of itself over a link. */
const nameIn = (said: Buffer): string | null => /chaos-[abc]/.exec(said.toString('latin1'))?.[0] ?? null;

interface GroundOptions {
  /** Where `dist/cli.js` is. */
  readonly root: string;
  /** Without it the database takes whatever a shard writes: the checks must then find something. */
  readonly fence?: boolean;
  /** Two servers under Patroni behind HAProxy and PgBouncer, in place of one. */
  readonly patroni?: boolean;
  readonly set?: Readonly<Record<string, string | number | boolean>>;
}

/** A process of the cluster, and the wires between it and the rest. */
export interface Shard {
  readonly id: string;
  readonly api: string;
  readonly gateway: string;
  readonly adminUrl: string;
  readonly toEtcd: Wire;
  readonly toDatabase: Wire;
  /** Others reach it over this one. */
  readonly fromPeers: Wire;
  readonly log: readonly string[];
  /** Resolves when it serves. */
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it as SIGKILL does. */
  kill(): Promise<void>;
}

/** Shards as processes, over an etcd and a PostgreSQL of their own. */
export interface Ground {
  readonly shards: readonly Shard[];
  readonly etcd: TestEtcd;
  /** One of the two, by the option `patroni`. */
  readonly postgres: TestPostgres | null;
  readonly patroni: PatroniCluster | null;
  readonly journalDir: string;
  /** Parts a shard from all others, both ways, or joins it with them again. */
  part(shard: Shard, state: 'whole' | 'cut' | 'held'): void;
  query<MessageRow>(text: string, values?: readonly unknown[]): Promise<MessageRow[]>;
  stored(): Promise<Stored[]>;
  noted(): Promise<Noted[]>;
  close(): Promise<void>;
}

/**
 * The database's own record, by triggers: each change of epochs and each numbered command with its place in the order.
 * A fenced transaction holds its partition from before the one until after the other.
 */
const NOTES = `
CREATE SEQUENCE chaos_order;
CREATE TABLE chaos_epochs (at bigint DEFAULT nextval('chaos_order'), partition integer, epoch bigint);
CREATE TABLE chaos_commands (at bigint DEFAULT nextval('chaos_order'), owner_id bigint, n bigint);
CREATE FUNCTION chaos_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO chaos_epochs (partition, epoch) VALUES (NEW.partition, NEW.epoch); RETURN NULL; END $$;
CREATE FUNCTION chaos_command() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO chaos_commands (owner_id, n) VALUES (NEW.owner_id, NEW.n); RETURN NULL; END $$;
CREATE TRIGGER chaos_epoch AFTER INSERT OR UPDATE ON partition_epochs FOR EACH ROW EXECUTE FUNCTION chaos_epoch();
CREATE TRIGGER chaos_command AFTER INSERT ON command_records FOR EACH ROW EXECUTE FUNCTION chaos_command();
INSERT INTO chaos_epochs (partition, epoch) SELECT partition, epoch FROM partition_epochs;
`;

const NO_FENCE = `
CREATE OR REPLACE FUNCTION guildhall_fence(partitions integer[], epochs bigint[]) RETURNS boolean
LANGUAGE sql AS 'SELECT true'`;

/** What the machine lacks, or null. */
export function lacking({ patroni = false }: Pick<GroundOptions, 'patroni'> = {}): string | null {
  const programs = [...(etcdBinary === null ? ['etcd'] : []), ...(patroni ? lackingForPatroni() : [])];
  return programs.length === 0 ? null : `not installed: ${programs.join(', ')}`;
}

/** @throws Error when something does not start, or the machine lacks it. */
export async function openGround(options: GroundOptions): Promise<Ground> {
  const closing: (() => Promise<unknown> | unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    return await build(options, closing, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  options: GroundOptions,
  closing: (() => Promise<unknown> | unknown)[],
  close: () => Promise<void>,
): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-chaos-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const etcd = await startEtcd(etcdBinary ?? 'etcd');
  closing.push(() => etcd.stop());
  const patroni = options.patroni === true ? await startPatroni(etcd.url) : null;
  closing.push(() => patroni?.stop());
  const postgres = patroni === null ? await postgresAlone() : null;
  closing.push(() => postgres?.stop());
  const databaseUrl = new URL(patroni?.url ?? postgres?.url ?? '');
  if (postgres) {
    await askOnce(postgres.url, `CREATE DATABASE ${DATABASE}`);
    databaseUrl.pathname = DATABASE;
  }
  const query = <Row>(text: string, values: readonly unknown[] = []) =>
    askOnce<Row>(databaseUrl.href, text, values);
  const journalDir = join(folder, 'journal');
  const shards: Shard[] = [];
  for (const id of SHARDS)
    shards.push(
      await shardOf({ ...options, id, folder, journalDir, databaseUrl, etcdUrl: new URL(etcd.url) }, closing),
    );
  const [first, ...others] = shards;
  await first?.start();
  await query(NOTES);
  if (options.fence === false) await query(NO_FENCE);
  await Promise.all(others.map((shard) => shard.start()));
  return {
    ...{ shards, etcd, postgres, patroni, journalDir, query, close },
    part(shard, state) {
      shard.fromPeers.set(state);
      for (const other of shards) if (other !== shard) other.fromPeers.set(state, shard.id);
    },
    stored: () =>
      query<Stored>(
        `SELECT id::text, owner_id::text AS "guildId", channel_id::text AS "channelId", data->>'content' AS content FROM messages
         WHERE (data->>'content') LIKE 'chaos %'`,
      ),
    async noted() {
      const epochs = await query<{ at: string; partition: number; epoch: string }>(
        'SELECT * FROM chaos_epochs',
      );
      const commands = await query<{ at: string; owner_id: string; n: string }>(
        'SELECT * FROM chaos_commands',
      );
      return [
        ...epochs.map(({ at, partition, epoch }) => ({ at: Number(at), partition, epoch: Number(epoch) })),
        ...commands.map(({ at, owner_id: ownerId, n }) => ({ at: Number(at), ownerId, n: Number(n) })),
      ];
    },
  };
}

async function postgresAlone(): Promise<TestPostgres> {
  const postgres = await startPostgres();
  if (typeof postgres === 'string') throw new Error(postgres);
  return postgres;
}

async function askOnce<Row>(url: string, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return ((await client.query(text, [...values])) as pg.QueryResult).rows as Row[];
  } finally {
    await client.end();
  }
}

interface ShardGiven extends GroundOptions {
  readonly id: string;
  readonly folder: string;
  readonly journalDir: string;
  readonly databaseUrl: URL;
  readonly etcdUrl: URL;
}

async function shardOf(given: ShardGiven, closing: (() => Promise<unknown> | unknown)[]): Promise<Shard> {
  const { id, root, folder, journalDir, set = {} } = given;
  const [port, adminPort, linkPort] = [await freePort(), await freePort(), await freePort()];
  const toEtcd = await openWire(Number(given.etcdUrl.port));
  const toDatabase = await openWire(Number(given.databaseUrl.port));
  const fromPeers = await openWire(linkPort, nameIn);
  for (const wire of [toEtcd, toDatabase, fromPeers]) closing.push(() => wire.close());
  const database = new URL(given.databaseUrl);
  database.port = String(toDatabase.port);
  const settings = {
    ...{ listen_port: port, admin_port: adminPort, admin_token: ADMIN_TOKEN, log_level: 'info' },
    ...{ database_url: database.href, etcd_urls: `http://127.0.0.1:${toEtcd.port}` },
    ...{ shard_id: id, cluster_id: 'of-chaos', partitions: PARTITIONS, lease_ttl_ms: LEASE_TTL_MS },
    ...{ link_port: linkPort, link_address: `127.0.0.1:${fromPeers.port}`, journal_dir: journalDir },
    ...{ voice: false, rate_limits: false, max_concurrency: 100, heartbeat_interval_ms: 2_000 },
    ...set,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const log: string[] = [];
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const command = [join(root, 'dist/cli.js'), 'start', '--json', '--data', join(folder, id), ...args];
    const started = spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    createInterface({ input: started.stderr }).on('line', (line) => {
      log.push(line);
      if (log.length > LOG_LINES_MAX) log.shift();
    });
    const timer = setTimeout(() => started.kill('SIGKILL'), START_TIMEOUT_MS);
    const lines = createInterface({ input: started.stdout });
    const ended = once(started, 'exit').then(() =>
      Promise.reject(new Error(`${id} ended: ${log.slice(-20).join('\n')}`)),
    );
    await Promise.race([once(lines, 'line'), ended]).finally(() => clearTimeout(timer));
    ended.catch(() => undefined);
  }
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  closing.push(kill);
  return {
    ...{ id, toEtcd, toDatabase, fromPeers, log, start, kill },
    api: `http://127.0.0.1:${port}/api/v10`,
    gateway: `ws://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    signal: (signal) => void child?.kill(signal),
  };
}

/** Resolves when all shards serve and every partition is owned. @throws Error after the time-out. */
export async function allServing(shards: readonly Shard[], patienceMs = 40_000): Promise<void> {
  let last = '';
  for (const giveUpMs = Date.now() + patienceMs; Date.now() < giveUpMs; await delay(200)) {
    const states = await Promise.all(shards.map(stateOf));
    last = states.join('; ');
    if (states.every((state) => state === 'ok')) return;
  }
  throw new Error(`Not all is served: ${last}`);
}

interface Row {
  readonly id: string;
  readonly state: string;
  readonly partitions: number;
}

async function stateOf({ id, adminUrl }: Shard): Promise<string> {
  try {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const answer = await fetch(`${adminUrl}/cluster`, { headers, signal: AbortSignal.timeout(3_000) });
    const { shards } = (await answer.json()) as { shards: readonly Row[] };
    const owned = shards.reduce((sum, { partitions }) => sum + partitions, 0);
    const isWhole =
      shards.length === SHARDS.length &&
      owned === PARTITIONS &&
      shards.every(({ state, partitions }) => state === 'serving' && partitions > 0);
    return isWhole
      ? 'ok'
      : `${id}: ${shards.map((row) => `${row.id} ${row.state} ${row.partitions}`).join(', ')}`;
  } catch (error) {
    return `${id}: ${(error as Error).message}`;
  }
}
