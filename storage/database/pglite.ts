import { dirname, resolve } from 'node:path';
import { PGlite, types } from '@electric-sql/pglite';
import { makeDirectory } from '../../directories.ts';
import { damageIn } from './damage.ts';
import { prepareDirectory, restoreAdvice } from './datadirectory.ts';
import { lockDirectory } from './directorylock.ts';
import { type Driver, messageOf, type Sql, StorageFault } from './driver.ts';
import { emptyDatabase, preparedDatabase } from './emptydatabase.ts';
import { SyncedFs } from './syncedfs.ts';

/** What PGlite and its transactions have in common. */
type Queryable = Pick<PGlite, 'query' | 'exec'>;

const sqlOver = (at: Queryable): Sql => ({
  query: async <Row>(text: string, values: readonly unknown[] = []) =>
    (await at.query<Row>(text, [...values])).rows,
  script: async (text) => {
    await at.exec(text);
  },
});

/**
 * There is no autovacuum in here, so the planner never learns how the rows are spread and would gather and sort a
 * whole channel to find its newest page. Every read of this house follows an index; these settings say so.
 */
const PLANNER = 'SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off;';

/**
 * What PGlite starts with, but for the buffers: 128 MB of them would be touched in full, in a process that is meant to
 * be small. Blocks beyond these come from its own file system, which is in memory or in the page cache anyway.
 */
const START = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

/** The same for a database on disk, which syncs: without the flag that keeps PostgreSQL from it. */
const START_SYNCED = [...START.filter((flag) => flag !== '-F'), '-c', 'wal_sync_method=fsync'];

/**
 * Segments of the log, 16 MB each, after which it is begun anew. Alone in its process PostgreSQL never does that by
 * itself: the log would grow for as long as the server runs, and all of it be read at the start after a crash.
 */
const SEGMENTS_MAX = 16;

/** At most so many damaged files are named. */
const NAMED_MAX = 5;

/** PGlite itself says only that it failed: the files that are damaged are looked for. */
async function notOpening(directory: string | undefined, error: unknown): Promise<string> {
  const message = messageOf(error);
  if (directory === undefined) return `The embedded database does not open: ${message}`;
  const damage = await damageIn(directory).catch((): readonly string[] => []);
  const named = damage.slice(0, NAMED_MAX).join('; ');
  const more = damage.length > NAMED_MAX ? ` (and ${damage.length - NAMED_MAX} more)` : '';
  const what =
    damage.length > 0
      ? `is damaged and does not open: ${named}${more}.`
      : `does not open (${message}), and no file of it looks damaged by its size, header or checksum.`;
  return `The database in ${directory} ${what} ${restoreAdvice(directory)}`;
}

/**
 * PostgreSQL inside this process, in `directory` or, without one, in memory. PGlite takes one statement or one
 * transaction at a time and keeps the others waiting in order.
 *
 * What is answered is on disk: it survives the death of the process and the loss of power, at any point.
 *
 * @throws StorageFault when another process has the directory open: two would destroy it.
 */
export async function openPglite(directory?: string): Promise<Driver> {
  if (directory) await makeDirectory(dirname(resolve(directory)));
  const unlock = directory ? await lockDirectory(directory) : async () => {};
  let db: PGlite;
  let synced: SyncedFs | null = null;
  try {
    if (directory) await prepareDirectory(directory, () => emptyDatabase());
    const packed = directory ? null : await preparedDatabase();
    if (directory) synced = new SyncedFs(directory);
    const parsers = { [types.INT8]: (text: string) => text };
    db = await PGlite.create({
      parsers,
      startParams: synced ? START_SYNCED : START,
      ...(synced && { fs: synced }),
      ...(packed && { loadDataDir: new Blob([packed], { type: 'application/gzip' }) }),
    });
    await db.exec(PLANNER);
  } catch (error) {
    await unlock();
    if (error instanceof StorageFault) throw error;
    throw new StorageFault(await notOpening(directory, error), { cause: error });
  }
  return driverOver(db, synced, unlock);
}

function driverOver(db: PGlite, synced: SyncedFs | null, unlock: () => Promise<void>): Driver {
  /** Nothing is told that a loss of power could make untrue, of this statement or of one that it has read. */
  const answered = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await synced?.settled();
    if (synced && synced.segmentsBegun > SEGMENTS_MAX) {
      synced.segmentsBegun = 0;
      await db.exec('CHECKPOINT');
    }
    return value;
  };
  const { query, script } = sqlOver(db);
  return {
    kind: 'pglite',
    query: (text, values) => answered(query(text, values)),
    script: (text) => answered(script(text)),
    transaction: (body, opening) =>
      answered(
        db.transaction(async (tx) => {
          if (opening !== undefined) await tx.exec(opening);
          return body(sqlOver(tx));
        }),
      ),
    close: async () => {
      if (!db.closed) await db.close();
      await unlock();
    },
  };
}
