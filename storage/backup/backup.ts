import { rm } from 'node:fs/promises';
import { openDiskBlobs } from '../blob/blobs.disk.ts';
import type { Blobs, ListedBlobs } from '../blob/blobs.ts';
import type { Driver } from '../database/driver.ts';
import { migrate } from '../migrate.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import {
  beginBackup,
  blobsFolder,
  endBackup,
  type Manifest,
  readManifest,
  tableFiles,
  tableLines,
} from './archive.ts';
import { copyBlobs } from './blobs.ts';
import { dumpTables, loadTables, RestoreFault } from './tables.ts';

interface BackupMade {
  readonly version: string;
  readonly madeAt: Date;
}

/**
 * Writes a backup to a new folder. Files are copied after the tables: a file is stored before the message that refers to it,
 * so every file that the tables refer to is there, unless its message was deleted meanwhile.
 *
 * @param blobs Null to leave the files out.
 */
export async function makeBackup(
  folder: string,
  { driver, blobs }: { readonly driver: Driver; readonly blobs: ListedBlobs | null },
  { version, madeAt }: BackupMade,
): Promise<Manifest> {
  const partial = await beginBackup(folder);
  try {
    const { schema, tables } = await dumpTables(driver, tableFiles(partial));
    const copied = blobs && (await copyBlobs(blobs, openDiskBlobs(blobsFolder(partial))));
    const manifest: Manifest = {
      ...{ format: 1, made_at: madeAt.toISOString(), version, schema },
      ...{ tables, blobs: copied },
    };
    await endBackup(partial, folder, manifest);
    return manifest;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Restores a backup into an empty database, and upgrades it to the schema of this program. Files are copied first, so that
 * an interrupted restore can be repeated: the rows of all tables appear at once.
 *
 * @param blobs Null to leave the files out.
 * @throws RestoreFault when the backup is damaged or the database is not empty.
 */
export async function restoreBackup(
  folder: string,
  { driver, blobs }: { readonly driver: Driver; readonly blobs: Blobs | null },
): Promise<Manifest> {
  const manifest = await readManifest(folder);
  await prepareSchema(driver, manifest.schema);
  if (blobs && manifest.blobs) {
    const { count, bytes } = await copyBlobs(openDiskBlobs(blobsFolder(folder)), blobs);
    if (count !== manifest.blobs.count || bytes !== manifest.blobs.bytes)
      throw new RestoreFault(
        `The backup has ${count} files of ${bytes} bytes; its manifest says ${manifest.blobs.count} of ${manifest.blobs.bytes}.`,
      );
  }
  await loadTables(driver, manifest.tables, (table) => tableLines(folder, table));
  await migrate(driver);
  return manifest;
}

/** Brings an empty database to the schema of the backup. */
async function prepareSchema(driver: Driver, schema: number): Promise<void> {
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  if (schema > newest)
    throw new RestoreFault(
      `The backup has schema version ${schema}, but this program knows only up to ${newest}: restore it with a newer program.`,
    );
  const [made] = await driver.query<{ exists: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
  );
  const [found] = made?.exists
    ? await driver.query<{ version: number | null }>('SELECT max(version) AS version FROM schema_migrations')
    : [];
  if ((found?.version ?? 0) > schema)
    throw new RestoreFault(
      `The database was started by a newer program than the backup is of (schema ${found?.version}, not ${schema}): name an empty one.`,
    );
  await migrate(
    driver,
    MIGRATIONS.filter(({ version }) => version <= schema),
  );
}
