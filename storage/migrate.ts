import { createHash } from 'node:crypto';
import { type Driver, messageOf, type Sql, StorageFault } from './database/driver.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';

/** Key of the advisory lock that keeps two servers from migrating a database concurrently; an arbitrary constant. */
const LOCK_KEY = 7_166_011;

const checksum = (migration: Migration): string => createHash('sha256').update(migration.sql).digest('hex');

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

async function applied(sql: Sql): Promise<Applied[]> {
  await sql.script(
    'CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL)',
  );
  return sql.query<Applied>('SELECT version, name, checksum FROM schema_migrations ORDER BY version');
}

/** The migrations still to be applied. Throws when the database contradicts the program's list. */
function pending(done: readonly Applied[], known: readonly Migration[]): readonly Migration[] {
  const newest = known.at(-1)?.version ?? 0;
  const reached = done.at(-1)?.version ?? 0;
  if (reached > newest)
    throw new StorageFault(
      `The database has schema version ${reached}, but this program knows only up to version ${newest}. ` +
        'Start a newer program, or restore a backup from before the upgrade.',
    );
  const byVersion = new Map(done.map((row) => [row.version, row]));
  for (const migration of known) {
    const row = byVersion.get(migration.version);
    if (row && row.checksum !== checksum(migration))
      throw new StorageFault(
        `Migration ${migration.version} (${migration.name}) differs from the one this database was made with. ` +
          'A released migration is never edited: add a new one.',
      );
  }
  return known.filter((migration) => !byVersion.has(migration.version));
}

/**
 * Brings the schema up to date: all pending migrations in one transaction, so that a failed upgrade changes nothing. The
 * advisory lock belongs to that transaction: a server that opens the database meanwhile waits and then finds the work done,
 * and a crashed server releases the lock.
 *
 * @returns Lines that the migrations report to the operator.
 * @throws StorageFault when the schema is newer than the program, or a migration was edited or fails.
 */
export function migrate(
  driver: Driver,
  known: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  return driver.transaction(async (sql) => {
    if (driver.kind === 'postgres') await sql.query('SELECT pg_advisory_xact_lock($1)', [LOCK_KEY]);
    return migrateWithin(sql, known);
  });
}

/** Applies the pending migrations in a transaction of the caller. @returns lines for the operator. */
export async function migrateWithin(
  sql: Sql,
  known: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  const report: string[] = [];
  for (const migration of pending(await applied(sql), known)) {
    try {
      await sql.script(migration.sql);
      for (const line of (await migration.after?.(sql)) ?? []) report.push(line);
    } catch (error) {
      const where = `Migration ${migration.version} (${migration.name})`;
      throw new StorageFault(`${where} failed: ${messageOf(error)}`, { cause: error });
    }
    await sql.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
      migration.version,
      migration.name,
      checksum(migration),
    ]);
  }
  return report;
}

/** Identifies the schema that a list of migrations creates. */
export function schemaKey(known: readonly Migration[] = MIGRATIONS): string {
  const hash = createHash('sha256');
  for (const migration of known) hash.update(`${migration.version}:${checksum(migration)}\n`);
  return `schema-${hash.digest('hex').slice(0, 16)}`;
}
