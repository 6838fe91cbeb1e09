import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PGlite, types } from '@electric-sql/pglite';
import { prepareDirectory } from './datadirectory.ts';
import { lockDirectory } from './directorylock.ts';
import { type Driver, messageOf, type Sql, StorageFault } from './driver.ts';

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

/** A database as it is before its first migration, as a tar archive. */
async function emptyDatabase(): Promise<Uint8Array> {
  const db = await PGlite.create({ startParams: START });
  try {
    await db.exec('CHECKPOINT');
    return new Uint8Array(await (await db.dumpDataDir('none')).arrayBuffer());
  } finally {
    await db.close();
  }
}

const notOpening = (directory: string | undefined, error: unknown): string =>
  directory === undefined
    ? `The embedded database does not open: ${messageOf(error)}`
    : `The database in ${directory} does not open (${messageOf(error)}). If a file of it was lost or changed, restore ` +
      'the whole directory from a backup; or, to begin with an empty database, move it away and start again.';

/**
 * PostgreSQL inside this process, in `directory` or, without one, in memory. PGlite takes one statement or one
 * transaction at a time and keeps the others waiting in order.
 *
 * A commit is with the operating system before it is answered: it survives the death of the process, at any point.
 * It may not survive the death of the machine, as PGlite's file system cannot sync; PostgreSQL does.
 *
 * @throws StorageFault when another process has the directory open: two would destroy it.
 */
export async function openPglite(directory?: string): Promise<Driver> {
  if (directory) await mkdir(dirname(resolve(directory)), { recursive: true });
  const unlock = directory ? await lockDirectory(directory) : async () => {};
  let db: PGlite;
  try {
    if (directory) await prepareDirectory(directory, emptyDatabase);
    const parsers = { [types.INT8]: (text: string) => text };
    db = await PGlite.create({ ...(directory && { dataDir: directory }), parsers, startParams: START });
    await db.exec(PLANNER);
  } catch (error) {
    await unlock();
    if (error instanceof StorageFault) throw error;
    throw new StorageFault(notOpening(directory, error), { cause: error });
  }
  return {
    kind: 'pglite',
    ...sqlOver(db),
    transaction: (body, opening) =>
      db.transaction(async (tx) => {
        if (opening !== undefined) await tx.exec(opening);
        return body(sqlOver(tx));
      }),
    close: async () => {
      if (!db.closed) await db.close();
      await unlock();
    },
  };
}
