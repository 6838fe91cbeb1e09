import { dirname, resolve } from 'node:path';
import { PGlite, types } from '@electric-sql/pglite';
import { makeDirectory } from '../../directories.ts';
import { copyDatabase } from './copying.ts';
import { damageIn } from './damage.ts';
import { prepareDirectory, restoreAdvice } from './datadirectory.ts';
import { lockDirectory } from './directorylock.ts';
import { type BatchStatement, type Driver, messageOf, oneByOne, type Sql, StorageFault } from './driver.ts';
import { FilledMemoryFs } from './memoryfs.ts';
import { type Content, EMPTY, makeDatabase, preparedDatabase } from './prepared.ts';
import { SyncedFs } from './syncedfs.ts';

/** Initial contents of a database that does not exist yet. */
export interface FirstOpening {
  /** Contents in order of preference: the first that is prepared is unpacked. If none is, the last is created. */
  readonly contents: readonly Content[];
  /** Called when none is prepared, before seconds of work. */
  readonly onUnprepared?: (reason: string) => void;
}

/** The methods that PGlite and its transactions share. */
type Queryable = Pick<PGlite, 'query' | 'exec'>;

const sqlOver = (at: Queryable): Sql => ({
  query: async <Row>(text: string, values: readonly unknown[] = []) =>
    (await at.query<Row>(text, [...values])).rows,
  script: async (text) => {
    await at.exec(text);
  },
});

/** A single statement is a transaction by itself, which saves two calls of the database. */
const batch = <Row>(db: PGlite, statements: readonly BatchStatement[]): Promise<Row[][]> =>
  statements.length === 1
    ? oneByOne<Row>(sqlOver(db), statements)
    : db.transaction((tx) => oneByOne<Row>(sqlOver(tx), statements));

/**
 * There is no autovacuum here, so the planner has no statistics and would collect and sort a whole channel to find its newest
 * page. Every query of this program can follow an index; these settings make the planner use it.
 */
const PLANNER = 'SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off;';

/**
 * PGlite's start parameters with smaller buffers: its default of 128 MB would be touched completely, in a process that is
 * meant to be small. Further blocks are cached by the file system anyway.
 */
const START = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

/** Start parameters for a synced database on disk: without the flag that turns syncing off. */
const START_SYNCED = [...START.filter((flag) => flag !== '-F'), '-c', 'wal_sync_method=fsync'];

/** Start parameters for a database in memory, whose log is never read: no more of it than must be, and none kept for reuse. */
const START_IN_MEMORY = [
  ...START,
  ...['full_page_writes=off', 'wal_recycle=off', 'wal_init_zero=off'].flatMap((setting) => ['-c', setting]),
];

const MIB = 1024 * 1024;

/**
 * Length of the write-ahead log after which a checkpoint is made, on disk and in memory. Without background processes
 * PostgreSQL never makes one by itself: the log would grow without bound, and a start after a crash would read all of it.
 */
const LOG_BYTES_MAX = { onDisk: 256 * MIB, inMemory: 32 * MIB };

/** Statements between two looks at the length of the log. */
const STATEMENTS_PER_LOOK = 256;

/** Most damaged files named in an error. */
const NAMED_MAX = 5;

/** Describes why the database does not open. PGlite reports only that it failed, so this looks for damaged files. */
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
 * Opens PostgreSQL inside this process, in `directory` or, without one, in memory. PGlite runs one statement or transaction
 * at a time, in order.
 *
 * A result is returned only when it is on disk: it survives the death of the process and a loss of power.
 *
 * @throws StorageFault when another process has the directory open: two would destroy it.
 */
export async function openPglite(
  directory?: string,
  opening: FirstOpening = { contents: [EMPTY] },
): Promise<Driver> {
  if (directory) await makeDirectory(dirname(resolve(directory)));
  const unlock = directory ? await lockDirectory(directory) : async () => {};
  let db: PGlite;
  let synced: SyncedFs | null = null;
  try {
    if (directory) await prepareDirectory(directory, () => firstDatabase(opening));
    const archive = directory ? null : await firstDatabase(opening);
    if (directory) synced = new SyncedFs(directory);
    const fs = synced ?? (archive && new FilledMemoryFs(archive));
    const parsers = { [types.INT8]: (text: string) => text };
    db = await PGlite.create({
      parsers,
      startParams: synced ? START_SYNCED : START_IN_MEMORY,
      ...(fs && { fs }),
    });
    await db.exec(PLANNER);
  } catch (error) {
    await unlock();
    if (error instanceof StorageFault) throw error;
    throw new StorageFault(await notOpening(directory, error), { cause: error });
  }
  return driverOver(db, { directory, synced, unlock });
}

/** A tar archive of the database that a first opening begins with. */
async function firstDatabase({ contents, onUnprepared }: FirstOpening): Promise<Uint8Array> {
  for (const content of contents) {
    const prepared = await preparedDatabase(content);
    if (prepared !== null) return prepared;
  }
  onUnprepared?.(
    `No prepared database fits this program (${contents.map(({ key }) => key).join(' or ')}): creating one takes seconds. ` +
      'npm run build prepares it.',
  );
  return makeDatabase(contents.at(-1) ?? EMPTY);
}

/** To be called after each statement: makes a checkpoint when the log has grown by so many bytes since the last one. */
function boundedLog(db: PGlite, bytesMax: number): () => Promise<void> | null {
  let statements = 0;
  let checkpointAt = 0;
  const look = async (): Promise<void> => {
    const { rows } = await db.query<{ bytes: string }>("SELECT pg_current_wal_lsn() - '0/0' AS bytes");
    const bytes = Number(rows[0]?.bytes);
    if (checkpointAt === 0) checkpointAt = bytes + bytesMax;
    if (bytes < checkpointAt) return;
    checkpointAt = bytes + bytesMax;
    await db.exec('CHECKPOINT');
  };
  return () => {
    statements += 1;
    return statements % STATEMENTS_PER_LOOK === 1 ? look() : null;
  };
}

interface Opened {
  /** Absent for a database in memory. */
  readonly directory: string | undefined;
  readonly synced: SyncedFs | null;
  readonly unlock: () => Promise<void>;
}

function driverOver(db: PGlite, { directory, synced, unlock }: Opened): Driver {
  const { query, script } = sqlOver(db);
  const bounded = boundedLog(db, synced ? LOG_BYTES_MAX.onDisk : LOG_BYTES_MAX.inMemory);
  /** Delays a result until the log up to it is synced, so that no loss of power can undo what was reported. */
  const answered = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await synced?.settled();
    await bounded();
    return value;
  };
  return {
    kind: 'pglite',
    query: (text, values) => answered(query(text, values)),
    script: (text) => answered(script(text)),
    batch: <Row>(statements: readonly BatchStatement[]) => answered(batch<Row>(db, statements)),
    transaction: (body, opening) =>
      answered(
        db.transaction(async (tx) => {
          if (opening !== undefined) await tx.exec(opening);
          return body(sqlOver(tx));
        }),
      ),
    copy: async () => {
      if (!directory) return null;
      // No other statement runs during a transaction, and this process alone writes the files.
      return db.transaction(async (tx) => {
        await tx.exec('CHECKPOINT');
        await synced?.settled();
        return copyDatabase(directory);
      });
    },
    close: async () => {
      if (!db.closed) await db.close();
      await unlock();
    },
  };
}
