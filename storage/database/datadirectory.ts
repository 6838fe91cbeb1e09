import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeDirectory } from '../../directories.ts';
import { codeOf } from '../../protocol/thrown.ts';
import { StorageFault } from './driver.ts';
import { type TarEntry, untar } from './tar.ts';

/**
 * The directory of the embedded database. PGlite creates a new database, over existing files, wherever `PG_VERSION` is
 * missing; therefore this module checks a directory before PGlite opens it.
 *
 * A first start unpacks an empty database into `first-start.partial/`, syncs it, renames it to `first-start/`, and moves its
 * content up, `PG_VERSION` last. These two names distinguish an interrupted first start from a damaged database: without
 * `first-start/` nothing has been moved yet; with it the remaining files are moved.
 */
const PARTIAL = 'first-start.partial';
const COMPLETE = 'first-start';
const VERSION = 'PG_VERSION';

/** Files that PostgreSQL needs to interpret the others. They are never created in an existing database. */
const NEEDED = [
  VERSION,
  'base',
  'global',
  'global/pg_control',
  'global/pg_filenode.map',
  'pg_hba.conf',
  'pg_multixact',
  'pg_multixact/members',
  'pg_multixact/offsets',
  'pg_wal',
  'pg_xact',
  'postgresql.conf',
];

/** Folders that PostgreSQL expects and refills itself. Backups often omit empty folders. */
const EMPTY = [
  'pg_commit_ts',
  'pg_dynshmem',
  'pg_logical',
  'pg_logical/mappings',
  'pg_logical/snapshots',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_tblspc',
  'pg_twophase',
  'pg_wal/archive_status',
  'pg_wal/summaries',
];

/** Names that a file system or an operator may have put into a directory that still counts as empty. */
const IGNORED = new Set(['lost+found', '.DS_Store', '.gitkeep', '.snapshot', PARTIAL]);

/** Files synced concurrently, so that the file system can combine the writes. */
const SYNCED_AT_ONCE = 16;

/** Advice for the operator of a damaged database. */
export const restoreAdvice = (directory: string): string =>
  `Restore the whole directory from a backup: move ${directory} aside, copy the one of the backup to its place ` +
  '(cp -a) and start again; or, to begin with an empty database, move everything in ' +
  `${dirname(resolve(directory))} away and start again.`;

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );

/** Whether a directory exists and has content. An interrupted first start does not count: nothing was stored yet. */
export async function hasContents(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).some((name) => !IGNORED.has(name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Syncs the names in a directory, or the content of a file, so that they survive a loss of power. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } catch (error) {
    // Windows cannot sync directories.
    if (process.platform !== 'win32') throw error;
  } finally {
    await file.close();
  }
}

/**
 * Prepares `directory` for opening: keeps an existing database, or unpacks an empty one.
 *
 * @param template Returns an empty database as a tar archive; called only without an existing database.
 * @throws StorageFault when the directory holds an incomplete database, or lies within another database's directory.
 */
export async function prepareDirectory(
  directory: string,
  template: () => Promise<Uint8Array>,
): Promise<void> {
  await refuseInside(directory);
  await makeDirectory(directory, 0o700);
  await rm(join(directory, PARTIAL), { recursive: true, force: true });
  const isMoving = await exists(join(directory, COMPLETE));
  if (!isMoving) {
    const found = (await readdir(directory)).filter((name) => !IGNORED.has(name));
    if (found.length > 0) {
      await refuseDamaged(directory, found);
      // The lock beside the directory shows whether another process has it open; this file may be half-written after
      // a crash.
      await rm(join(directory, 'postmaster.pid'), { force: true });
      for (const name of EMPTY) await makeDirectory(join(directory, name), 0o700);
      return;
    }
    await unpack(directory, untar(await template()));
  }
  await moveUp(directory);
}

/** Refuses a `data_dir` that is a database's own directory: it would get a second, empty database inside the first. */
async function refuseInside(directory: string): Promise<void> {
  const parent = dirname(resolve(directory));
  for (const name of [VERSION, 'base', 'global/pg_control'])
    if ((await exists(join(parent, name))) && !(await exists(join(directory, VERSION))))
      throw new StorageFault(
        `${parent} is itself the directory of a database: ${name} is in it. Set data_dir to ${dirname(parent)}, if ` +
          'the database is one of Guildhall, or else to a directory of its own.',
      );
}

async function refuseDamaged(directory: string, found: readonly string[]): Promise<void> {
  const missing: string[] = [];
  for (const name of NEEDED) if (!(await exists(join(directory, name)))) missing.push(name);
  if (missing.length === 0) return;
  const isDatabase = NEEDED.length > missing.length;
  throw new StorageFault(
    isDatabase
      ? `The database in ${directory} is not whole: ${missing.join(', ')} missing. Nothing in it was changed. ` +
          restoreAdvice(directory)
      : `${directory} is not empty and holds no database, but ${found.slice(0, 5).join(', ')}. Choose another ` +
          'directory, or empty this one.',
  );
}

async function unpack(directory: string, entries: readonly TarEntry[]): Promise<void> {
  const partial = join(directory, PARTIAL);
  const folders = new Set([partial]);
  await mkdir(partial, { mode: 0o700 });
  for (const { name, isFolder } of entries) {
    if (!isFolder) continue;
    await makeDirectory(join(partial, name), 0o700);
    folders.add(join(partial, name));
  }
  const files = entries.filter(({ isFolder }) => !isFolder);
  const writeNext = async (): Promise<void> => {
    for (let entry = files.pop(); entry; entry = files.pop()) {
      const file = await open(join(partial, entry.name), 'wx', 0o600);
      try {
        await file.writeFile(entry.data);
        await file.sync();
      } finally {
        await file.close();
      }
    }
  };
  await Promise.all(Array.from({ length: SYNCED_AT_ONCE }, writeNext));
  for (const folder of folders) await syncPath(folder);
  await rename(partial, join(directory, COMPLETE));
  await syncPath(directory);
}

async function moveUp(directory: string): Promise<void> {
  const complete = join(directory, COMPLETE);
  const names = await readdir(complete);
  for (const name of names.filter((each) => each !== VERSION))
    await rename(join(complete, name), join(directory, name));
  await syncPath(directory);
  if (names.includes(VERSION)) await rename(join(complete, VERSION), join(directory, VERSION));
  await rmdir(complete);
  await syncPath(directory);
  await syncPath(dirname(resolve(directory)));
}
