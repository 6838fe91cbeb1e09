import { once } from 'node:events';
import pg from 'pg';
import { Batch, nameOf } from './batch.ts';
import {
  type BatchStatement,
  type Driver,
  messageOf,
  oneByOne,
  refusedByDatabase,
  type Sql,
  StorageFault,
} from './driver.ts';

interface PostgresOptions {
  /** With `pooler=transaction` in its query for a pooler before the server. */
  readonly databaseUrl: string;
  /** Most connections. The writer uses one while it commits; reads use the others. */
  readonly connectionsMax?: number;
}

const STATEMENT_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Bounds how long a process that was stopped between two statements, or lost its network, can hold its partitions: a shard
 * that takes them over waits for its transaction.
 */
const IDLE_IN_TRANSACTION_MS = 10_000;
/**
 * No timeout of the server runs while a statement arrives. With these settings it ends a connection whose other side has
 * been silent for about ten seconds, so a lost network does not hold partitions either.
 */
const KEEPALIVES = '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3';

/** The timeouts as a pooler accepts them: for a transaction, since it rejects them as parameters of a connection. */
const LOCAL_TIMEOUTS = `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`;

/** @param isPooled Two statements may run on different connections of the server, so none is prepared under a name. */
const sqlOver = (at: Pick<pg.ClientBase, 'query'>, isPooled: boolean): Sql => ({
  query: async <Row>(text: string, values: readonly unknown[] = []) => {
    const named = isPooled ? { text } : { name: nameOf(text), text };
    const result = await at.query({ ...named, values: [...values] });
    return result.rows as Row[];
  },
  script: async (text) => {
    await at.query(text);
  },
});

/** Rolls back a failed transaction. A connection that cannot roll back is removed from the pool. */
async function rollBack(client: pg.PoolClient): Promise<void> {
  const rolledBack = await client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
  client.release(!rolledBack);
}

/**
 * Takes a connection and opens a transaction. An idle pooled connection may have died unnoticed; nothing was executed on it
 * that is not rolled back, so one retry is safe.
 */
async function begin(pool: pg.Pool, opening: string): Promise<pg.PoolClient> {
  for (let attempt = 0; ; attempt++) {
    const client = await pool.connect();
    try {
      await client.query(`BEGIN; ${opening}`);
      return client;
    } catch (error) {
      await rollBack(client);
      if (attempt > 0 || refusedByDatabase(error)) throw error;
    }
  }
}

async function transaction<T>(
  pool: pg.Pool,
  body: (sql: Sql) => Promise<T>,
  opening: string,
  isPooled: boolean,
): Promise<T> {
  const client = await begin(pool, isPooled ? `${LOCAL_TIMEOUTS}; ${opening}` : opening);
  try {
    const value = await body(sqlOver(client, isPooled));
    await client.query('COMMIT');
    client.release();
    return value;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/**
 * Most characters that are sent as one batch. The kernel takes as many at once, so that no process that is stopped while it
 * sends them keeps the server waiting inside a transaction.
 */
const BATCH_CHARS_MAX = 32_768;

const BEGIN: BatchStatement = { text: 'BEGIN', values: [] };

/** `LOCAL_TIMEOUTS` as a statement of a batch. */
const BATCH_TIMEOUTS: BatchStatement = {
  text: `SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)`,
  values: [String(STATEMENT_TIMEOUT_MS), String(IDLE_IN_TRANSACTION_MS)],
};

const charsOf = (statements: readonly BatchStatement[]): number =>
  statements.reduce((sum, { values }) => values.reduce((each, { length }) => each + length, sum), 0);

/**
 * In two round trips the statements leave a transaction open. A connection that is lost meanwhile thus commits nothing, and
 * whether something was committed is unknown only when it is lost with COMMIT under way. In one round trip the server
 * commits after the last statement, whether the connection is still there or not.
 */
async function batch<Row>(
  pool: pg.Pool,
  statements: readonly BatchStatement[],
  { isPooled, mayCommitLate }: { readonly isPooled: boolean; readonly mayCommitLate: boolean },
): Promise<Row[][]> {
  const opening = [...(mayCommitLate ? [] : [BEGIN]), ...(isPooled ? [BATCH_TIMEOUTS] : [])];
  const { client, results } = await sendBatch(pool, [...opening, ...statements], isPooled);
  try {
    if (!mayCommitLate) await client.query('COMMIT');
    client.release();
    return results.slice(opening.length) as Row[][];
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/**
 * An idle pooled connection may have died unnoticed. One retry is safe: nothing is committed yet, or the statements refuse
 * to be committed twice.
 */
async function sendBatch(pool: pg.Pool, statements: readonly BatchStatement[], isPooled: boolean) {
  for (let attempt = 0; ; attempt++) {
    const client = await pool.connect();
    try {
      return { client, results: await client.query(new Batch(statements, isPooled)).answer };
    } catch (error) {
      client.release(true);
      if (attempt > 0 || error instanceof pg.DatabaseError) throw error;
    }
  }
}

/** How long connections may take to close: a vanished server never answers. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Ends the pool and waits until its connections are closed, which the pool itself does not do. */
async function ended(pool: pg.Pool, connected: ReadonlySet<pg.PoolClient>): Promise<void> {
  await pool.end();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  });
  const left = [...connected].map((client) => once(client, 'end'));
  await Promise.race([Promise.allSettled(left), late]);
  clearTimeout(timer);
}

/**
 * Reads `pooler=transaction` of a database's URL: a pooler, such as PgBouncer, gives each transaction a connection of the
 * server, so nothing of a session outlasts it.
 *
 * @throws StorageFault for another value, as `statement`: a commit is several statements.
 */
function connectionOf(databaseUrl: string): { readonly url: string; readonly isPooled: boolean } {
  // The driver takes more than a URL may contain, as a space in a password.
  if (!/[?&]pooler=/.test(databaseUrl)) return { url: databaseUrl, isPooled: false };
  const url = new URL(databaseUrl);
  const pooler = url.searchParams.get('pooler');
  if (pooler !== 'transaction')
    throw new StorageFault(`The pooler of database_url is ${pooler}; it must be transaction.`);
  url.searchParams.delete('pooler');
  return { url: url.href, isPooled: true };
}

/** The fault of a server that did not accept the first connection. */
function unopened(error: unknown): StorageFault {
  const isPooler = error instanceof Error && error.message.includes('unsupported startup parameter');
  const hint = isPooler ? ' A pooler answers: add pooler=transaction to the query of database_url.' : '';
  const what = error instanceof pg.DatabaseError ? 'refused the connection' : 'does not answer';
  return new StorageFault(`The PostgreSQL server ${what}: ${messageOf(error)}${hint}`, { cause: error });
}

/**
 * Opens a pool of connections to a PostgreSQL server (15 or newer).
 *
 * @throws StorageFault when the server cannot be reached or its database is not UTF-8.
 */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const { url, isPooled } = connectionOf(options.databaseUrl);
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connectionsMax ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(!isPooled && {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      options: KEEPALIVES,
    }),
    // For a vanished server: the client gives up shortly after the server's own timeout would have ended.
    query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'guildhall',
  });
  // Without a listener, a connection that fails while idle would end the process; the next statement on it reports the
  // failure.
  pool.on('error', () => {});
  const connected = new Set<pg.PoolClient>();
  pool.on('connect', (client) => {
    client.on('error', () => {});
    connected.add(client);
    client.once('end', () => connected.delete(client));
  });
  try {
    const { rows } = await pool.query<{ server_encoding: string }>('SHOW server_encoding');
    if (rows[0]?.server_encoding !== 'UTF8')
      throw new StorageFault(`The database's encoding is ${rows[0]?.server_encoding}; it must be UTF8.`);
  } catch (error) {
    await pool.end();
    throw error instanceof StorageFault ? error : unopened(error);
  }
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    ...sqlOver(pool, isPooled),
    batch: async <Row>(statements: readonly BatchStatement[], mayCommitLate = false) => {
      // A single statement is a transaction by itself.
      if (statements.length === 1) return oneByOne<Row>(sqlOver(pool, isPooled), statements);
      if (charsOf(statements) > BATCH_CHARS_MAX)
        return transaction(pool, (sql) => oneByOne<Row>(sql, statements), '', isPooled);
      return batch<Row>(pool, statements, { isPooled, mayCommitLate });
    },
    transaction: (body, opening = '') => transaction(pool, body, opening, isPooled),
    copy: async () => null,
    close: () => {
      closing ??= ended(pool, connected);
      return closing;
    },
  };
}
