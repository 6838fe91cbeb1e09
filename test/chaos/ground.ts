import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';
import { lackingForPatroni, type PatroniCluster, startPatroni } from '../support/patroni.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.setup.ts';
import type { Noted, Stored } from './judge.ts';
import { ADMIN_TOKEN, PARTITIONS, type Shard, shardOf } from './shard.ts';
import { Disk, lackingForSystem, Machine, openBridge } from './system.ts';

const SHARDS = ['chaos-a', 'chaos-b', 'chaos-c'] as const;
const DATABASE = 'chaos';
/** Size of the journals' disk: a run of some minutes takes a fraction of it. */
const JOURNAL_DISK_BYTES = 64 << 20;
/** Size of PostgreSQL's disk: its log takes at least 80 MiB, a new database 40. */
const DATABASE_DISK_BYTES = 512 << 20;

interface GroundOptions {
  /** Where `dist/cli.js` is. */
  readonly root: string;
  /** Without it the database takes whatever a shard writes: the checks must then find something. */
  readonly fence?: boolean;
  /** Two servers under Patroni behind HAProxy and PgBouncer, in place of one. */
  readonly patroni?: boolean;
  /** Shards with a network, a clock and a disk of their own, and three members of etcd. */
  readonly system?: boolean;
  readonly set?: Readonly<Record<string, string | number | boolean>>;
}

/** Shards as processes, over an etcd and a PostgreSQL of their own. */
export interface Ground {
  readonly shards: readonly Shard[];
  readonly etcd: TestEtcd;
  /** One of the two, by the option `patroni`. */
  readonly postgres: TestPostgres | null;
  readonly patroni: PatroniCluster | null;
  /** The disks of the journals and of PostgreSQL; null when they lie on that of the machine. */
  readonly journalDisk: Disk | null;
  readonly databaseDisk: Disk | null;
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
export function lacking({
  patroni = false,
  system = false,
}: Pick<GroundOptions, 'patroni' | 'system'> = {}): string | null {
  const programs = [...(etcdBinary === null ? ['etcd'] : []), ...(patroni ? lackingForPatroni() : [])];
  if (programs.length > 0) return `not installed: ${programs.join(', ')}`;
  return system ? lackingForSystem() : null;
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
  const { system = false } = options;
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-chaos-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const journalDisk = system ? await diskOf(join(folder, 'journals'), JOURNAL_DISK_BYTES, closing) : null;
  const databaseDisk = system ? await diskOf(join(folder, 'database'), DATABASE_DISK_BYTES, closing) : null;
  if (system) {
    // PostgreSQL is another user's.
    chmodSync(folder, 0o711);
    await openBridge();
  }
  const etcd = await startEtcd(etcdBinary ?? 'etcd', system ? 3 : 1);
  closing.push(() => etcd.stop());
  const patroni = options.patroni === true ? await startPatroni(etcd.url) : null;
  closing.push(() => patroni?.stop());
  const postgres = patroni === null ? await postgresAlone(databaseDisk?.folder) : null;
  closing.push(() => postgres?.stop());
  const databaseUrl = new URL(patroni?.url ?? postgres?.url ?? '');
  if (postgres) {
    await askOnce(postgres.url, `CREATE DATABASE ${DATABASE}`);
    databaseUrl.pathname = DATABASE;
  }
  const query = <Row>(text: string, values: readonly unknown[] = []) =>
    askOnce<Row>(databaseUrl.href, text, values);
  const journalDir = join(journalDisk?.folder ?? folder, 'journal');
  const etcdUrls = etcd.urls.map((url) => new URL(url));
  const shards: Shard[] = [];
  for (const [at, id] of SHARDS.entries()) {
    const machine = system ? new Machine(at, folder) : null;
    const given = { ...options, id, folder, journalDir, databaseUrl, etcdUrls, machine };
    shards.push(await shardOf(given, closing));
  }
  const [first, ...others] = shards;
  await first?.start();
  await query(NOTES);
  if (options.fence === false) await query(NO_FENCE);
  await Promise.all(others.map((shard) => shard.start()));
  return {
    ...{ shards, etcd, postgres, patroni, journalDisk, databaseDisk, journalDir, query, close },
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

async function diskOf(
  folder: string,
  bytes: number,
  closing: (() => Promise<unknown> | unknown)[],
): Promise<Disk> {
  const disk = new Disk(folder);
  await disk.mount(bytes);
  closing.push(() => disk.unmount());
  return disk;
}

async function postgresAlone(within?: string): Promise<TestPostgres> {
  const postgres = await startPostgres([], within);
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
