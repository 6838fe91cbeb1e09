import { mkdir } from 'node:fs/promises';
import { PGlite, types } from '@electric-sql/pglite';
import { lockDirectory } from './directorylock.ts';
import { type Driver, type Sql, StorageFault } from './driver.ts';

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
  if (directory) await mkdir(directory, { recursive: true });
  const unlock = directory ? await lockDirectory(directory) : async () => {};
  let db: PGlite;
  try {
    const parsers = { [types.INT8]: (text: string) => text };
    db = await PGlite.create({ ...(directory && { dataDir: directory }), parsers, startParams: START });
    await db.exec(PLANNER);
  } catch (error) {
    await unlock();
    throw new StorageFault(`The embedded database in ${directory ?? 'memory'} does not open.`, {
      cause: error,
    });
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
