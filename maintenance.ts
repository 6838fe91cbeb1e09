/** Work on the stores of a server that needs no engine: backup, restore and examination. The CLI imports it on demand. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBlobs } from './compose/stores.ts';
import type { Config } from './config/config.ts';
import type { Manifest } from './storage/backup/archive.ts';
import { makeBackup, restoreBackup } from './storage/backup/backup.ts';
import { openMemoryBlobs } from './storage/blob/blobs.memory.ts';
import { deleteCopy } from './storage/database/copying.ts';
import { hasContents } from './storage/database/datadirectory.ts';
import { livingOf } from './storage/database/directorylock.ts';
import type { Driver } from './storage/database/driver.ts';
import { databaseOf } from './storage/database/lostdatabase.ts';
import { migrate } from './storage/migrate.ts';
import { MIGRATIONS } from './storage/migrations/index.ts';
import { openDriver } from './storage/open.ts';
import { ArchiveFault, linesOf } from './storage/records/archivelines.ts';
import { type GuildSums, schemaOf, exportGuild as writeGuild } from './storage/records/guildarchive.ts';
import { type GuildImported, importGuild as readGuild } from './storage/records/guildimport.ts';
import {
  type Deletion,
  type DeletionOptions,
  deleteApplication,
  deleteFiles,
  deletePerson,
  exportPerson,
  type PersonSums,
} from './storage/records/people.ts';

export type { Deletion, GuildImported, GuildSums, Manifest, PersonSums };

/** Settings of the stores, with an absolute data directory. */
export type StoreSettings = Config & { readonly data_dir: string };

interface Source {
  readonly driver: Driver;
  close(): Promise<void>;
}

const sourceOf = (driver: Driver): Source => ({ driver, close: () => driver.close() });

/** Whether the data directory has a database, and whether a server has it open. */
export async function embeddedDatabase(directory: string): Promise<'absent' | 'open' | 'closed'> {
  const database = databaseOf(directory);
  if (!(await hasContents(database))) return 'absent';
  const mark = await readFile(`${database}.lock`, 'utf8').catch(() => '');
  return (await livingOf(mark)) === null ? 'closed' : 'open';
}

async function openSource(config: StoreSettings, copy: string | null): Promise<Source> {
  const { database_url: databaseUrl, data_dir: dataDirectory } = config;
  if (databaseUrl !== null) return sourceOf(await openDriver({ databaseUrl, connectionsMax: 1 }));
  if (copy === null) return sourceOf(await openDriver({ dataDirectory }));
  const driver = await openDriver({ directory: copy });
  return {
    driver,
    close: async () => {
      await driver.close();
      await deleteCopy(copy);
    },
  };
}

interface BackupOptions {
  /** Whether attachments, avatars and icons are included. */
  readonly files: boolean;
  /** Directory of a copy that a running server has made of its embedded database; deleted afterwards. */
  readonly copy: string | null;
  readonly version: string;
}

/** Writes a backup of the configured stores to a new folder. @throws RestoreFault when the folder exists. */
export async function backup(
  folder: string,
  config: StoreSettings,
  options: BackupOptions,
): Promise<Manifest> {
  const { driver, close } = await openSource(config, options.copy);
  try {
    const blobs = options.files ? openBlobs(config) : null;
    return await makeBackup(folder, { driver, blobs }, { version: options.version, madeAt: new Date() });
  } finally {
    await close();
  }
}

/** Restores a backup to the configured stores, which must be empty. @throws RestoreFault */
export async function restore(
  folder: string,
  config: StoreSettings,
  { files }: { readonly files: boolean },
): Promise<Manifest> {
  const { driver, close } = await openSource(config, null);
  try {
    return await restoreBackup(folder, { driver, blobs: files ? openBlobs(config) : null });
  } finally {
    await close();
  }
}

/** Restores a backup to a temporary database; files are read and counted. @throws RestoreFault */
export async function checkBackup(folder: string): Promise<Manifest> {
  const scratch = await mkdtemp(join(tmpdir(), 'guildhall-check-'));
  try {
    const driver = await openDriver({ directory: join(scratch, 'database') });
    try {
      return await restoreBackup(folder, { driver, blobs: openMemoryBlobs(0) });
    } finally {
      await driver.close();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const EXAMINED = `SELECT current_setting('server_version_num') AS version,
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms, to_regclass('schema_migrations') IS NOT NULL AS made`;

export interface ExaminedDatabase {
  readonly major: number;
  /** Null for an empty database. */
  readonly schema: number | null;
  /** The newest schema that this program knows. */
  readonly newest: number;
  /** How far the clock of the database is ahead of this machine's. */
  readonly aheadMs: number;
}

/** Connects to a PostgreSQL server. @throws StorageFault when it cannot be reached. */
export async function examineDatabase(databaseUrl: string): Promise<ExaminedDatabase> {
  const driver = await openDriver({ databaseUrl, connectionsMax: 1 });
  try {
    const [row] = await driver.query<{ version: string; ms: string; made: boolean }>(EXAMINED);
    const [schema] = row?.made
      ? await driver.query<{ version: number }>('SELECT max(version) AS version FROM schema_migrations')
      : [];
    return {
      major: Math.floor(Number(row?.version) / 10_000),
      schema: schema?.version ?? null,
      newest: MIGRATIONS.at(-1)?.version ?? 0,
      aheadMs: Number(row?.ms) - Date.now(),
    };
  } finally {
    await driver.close();
  }
}

/** Brings the database of a stopped server to this program's schema. @throws ArchiveFault while others use it. */
async function openStopped(config: StoreSettings): Promise<Source> {
  const source = await openSource(config, null);
  try {
    const { driver } = source;
    if (driver.kind === 'postgres') {
      const [row] = await driver.query<{ others: string }>(
        'SELECT count(*) AS others FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      if (Number(row?.others) > 0)
        throw new ArchiveFault('Others are connected to the database: stop the servers first.');
    }
    await migrate(driver);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

type Write = (line: string) => Promise<void>;

/** Writes a guild, or what the server knows of a person, as lines of JSON. @throws ArchiveFault when it does not exist. */
export async function exportRecords(
  kind: 'guild' | 'user',
  id: string,
  config: StoreSettings,
  { files, copy, version }: BackupOptions,
  write: Write,
): Promise<GuildSums | PersonSums> {
  const { driver, close } = await openSource(config, copy);
  const about = { version, madeAt: new Date() };
  try {
    const [schema, newest] = [await schemaOf(driver), MIGRATIONS.at(-1)?.version];
    if (schema !== newest)
      throw new ArchiveFault(
        `The database has schema ${schema}, and this program needs ${newest}: start the server once to upgrade it.`,
      );
    const stores = { driver, blobs: files ? openBlobs(config) : null };
    return await (kind === 'guild' ? writeGuild : exportPerson)(id, stores, write, about);
  } finally {
    await close();
  }
}

/** Reads an exported guild into the stores of a stopped server. @throws ArchiveFault when it does not fit. */
export async function importGuild(
  file: AsyncIterable<Uint8Array>,
  config: StoreSettings,
  { files }: { readonly files: boolean },
): Promise<GuildImported> {
  const { driver, close } = await openStopped(config);
  try {
    return await readGuild(linesOf(file), { driver, blobs: files ? openBlobs(config) : null });
  } finally {
    await close();
  }
}

/** Deletes a user or an application from the stores of a stopped server. @throws ArchiveFault */
export async function deleteRecords(
  kind: 'user' | 'app',
  id: string,
  config: StoreSettings,
  { files: isWithFiles, ...options }: DeletionOptions & { readonly files: boolean },
): Promise<Deletion & { readonly files: number }> {
  const { driver, close } = await openStopped(config);
  try {
    const done = await (kind === 'user' ? deletePerson : deleteApplication)(id, driver, options);
    const files = options.dryRun || !isWithFiles ? 0 : await deleteFiles(openBlobs(config), done.fileOwners);
    return { ...done, files };
  } finally {
    await close();
  }
}
