import { createHash } from 'node:crypto';
import { type Driver, READ_ONLY, type Sql } from '../database/driver.ts';

/** Rows of these tables refer to processes that no longer exist when a backup is restored. */
const TEMPORARY: ReadonlySet<string> = new Set(['actor_snapshots', 'command_records', 'told_users']);
/** The migrations of the database; a restore applies them itself. */
const MIGRATED = 'schema_migrations';

/** Rows read or written with one statement. */
const ROWS_AT_ONCE = 500;
/** A page of rows is also written when its text is longer than this. */
const PAGE_CHARACTERS = 4_000_000;

/** Added to each epoch of a restored database, so that no epoch is used twice. A change of owner adds 1. */
const EPOCHS_AHEAD = 10_000;

/** The rows of a table, independent of their order. */
interface TableDigest {
  readonly rows: number;
  /** XOR of the SHA-256 of all rows, hexadecimal. */
  readonly digest: string;
}

/** Computes a digest from rows in any order. */
function tableDigest(): { add(line: string): void; value(): TableDigest } {
  const sum = Buffer.alloc(32);
  let rows = 0;
  return {
    add(line) {
      rows += 1;
      const hash = createHash('sha256').update(line).digest();
      for (const [at, byte] of hash.entries()) sum[at] = (sum[at] ?? 0) ^ byte;
    },
    value: () => ({ rows, digest: sum.toString('hex') }),
  };
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const TABLES = `SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`;

async function tablesOf(sql: Sql): Promise<readonly string[]> {
  const names = (await sql.query<{ name: string }>(TABLES)).map(({ name }) => name);
  return names.filter((name) => name !== MIGRATED && !TEMPORARY.has(name));
}

/** Reads all rows of a table as lines of JSON, a page at a time. Call it within a transaction. */
async function* linesOf(sql: Sql, table: string): AsyncGenerator<readonly string[]> {
  await sql.script(`DECLARE dumped CURSOR FOR SELECT to_jsonb(t)::text AS line FROM ${quoted(table)} t`);
  const fetch = `FETCH ${ROWS_AT_ONCE} FROM dumped`;
  for (;;) {
    const page = await sql.query<{ line: string }>(fetch);
    if (page.length === 0) break;
    yield page.map(({ line }) => line);
  }
  await sql.script('CLOSE dumped');
}

/** Writes one table: pages of lines, each ended by a line feed. Resolves when everything is written. */
export type TableSink = (table: string, pages: AsyncIterable<string>) => Promise<void>;

interface Dumped {
  /** Version of the newest applied migration. */
  readonly schema: number;
  readonly tables: Readonly<Record<string, TableDigest>>;
}

/** Adds all lines to a digest on their way. */
async function* digested(
  pages: AsyncIterable<readonly string[]>,
  digest: ReturnType<typeof tableDigest>,
): AsyncGenerator<string> {
  for await (const lines of pages) {
    for (const line of lines) digest.add(line);
    yield `${lines.join('\n')}\n`;
  }
}

/** Reads all durable rows as they were at one moment; commits continue meanwhile on a PostgreSQL server. */
export function dumpTables(driver: Driver, sink: TableSink): Promise<Dumped> {
  return driver.transaction(async (sql) => {
    const [newest] = await sql.query<{ version: number }>(`SELECT max(version) AS version FROM ${MIGRATED}`);
    const tables: Record<string, TableDigest> = {};
    for (const table of await tablesOf(sql)) {
      const digest = tableDigest();
      await sink(table, digested(linesOf(sql, table), digest));
      tables[table] = digest.value();
    }
    return { schema: newest?.version ?? 0, tables };
  }, READ_ONLY);
}

/** The first table with a row; null when the database is empty. */
async function occupiedTable(sql: Sql): Promise<string | null> {
  for (const table of await tablesOf(sql)) {
    const [found] = await sql.query(`SELECT 1 FROM ${quoted(table)} LIMIT 1`);
    if (found) return table;
  }
  return null;
}

/** The table that failed, and why. */
export class RestoreFault extends Error {
  override readonly name = 'RestoreFault';
}

/**
 * Writes the rows of a backup into empty tables, in one transaction, and reads them back: each table must have the digest of
 * the backup. The schema must be that of the backup.
 *
 * @throws RestoreFault when a table is not empty, is unknown, or differs from the backup; nothing is changed then.
 */
export function loadTables(
  driver: Driver,
  expected: Readonly<Record<string, TableDigest>>,
  linesFrom: (table: string) => AsyncIterable<string>,
): Promise<void> {
  return driver.transaction(async (sql) => {
    const occupied = await occupiedTable(sql);
    if (occupied !== null) throw new RestoreFault(`The database is not empty: ${occupied} has rows.`);
    const known = new Set(await tablesOf(sql));
    for (const [table, digest] of Object.entries(expected)) {
      if (!known.has(table)) throw new RestoreFault(`This program has no table ${table}.`);
      await loadTable(sql, table, linesFrom(table));
      await compare(sql, table, digest);
    }
    await sql.query('UPDATE partition_epochs SET epoch = epoch + $1', [EPOCHS_AHEAD]);
  });
}

interface Column {
  readonly name: string;
  readonly identity: string;
}

const COLUMNS = `SELECT column_name AS name, is_identity AS identity FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`;

async function loadTable(sql: Sql, table: string, lines: AsyncIterable<string>): Promise<void> {
  const columns = await sql.query<Column>(COLUMNS, [table]);
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const insert = `INSERT INTO ${quoted(table)} (${names}) OVERRIDING SYSTEM VALUE
    SELECT ${names} FROM jsonb_populate_recordset(NULL::${quoted(table)}, $1::jsonb)`;
  let page: string[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    if (page.length > 0) await sql.query(insert, [`[${page.join(',')}]`]);
    page = [];
    characters = 0;
  };
  for await (const line of lines) {
    page.push(line);
    characters += line.length;
    if (page.length >= ROWS_AT_ONCE || characters >= PAGE_CHARACTERS) await flush();
  }
  await flush();
  for (const { name } of columns.filter(({ identity }) => identity === 'YES')) {
    const next = `SELECT setval(pg_get_serial_sequence($1, $2), (SELECT max(${quoted(name)}) FROM ${quoted(table)}))`;
    await sql.query(next, [table, name]);
  }
}

async function compare(sql: Sql, table: string, expected: TableDigest): Promise<void> {
  const found = tableDigest();
  for await (const lines of linesOf(sql, table)) for (const line of lines) found.add(line);
  const { rows, digest } = found.value();
  if (rows === expected.rows && digest === expected.digest) return;
  throw new RestoreFault(
    `The table ${table} has ${rows} rows that differ from the ${expected.rows} of the backup: its file is damaged or incomplete.`,
  );
}
