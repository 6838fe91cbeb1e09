import { createHash } from 'node:crypto';
import { once } from 'node:events';
import pg from 'pg';
import { type Driver, messageOf, refusedByDatabase, type Sql, StorageFault } from './driver.ts';

interface PostgresOptions {
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

/** Names of prepared statements by text, so that every connection plans each text once. */
const names = new Map<string, string>();
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha1').update(text).digest('base64url');
    names.set(text, name);
  }
  return name;
}

const sqlOver = (at: Pick<pg.ClientBase, 'query'>): Sql => ({
  query: async <Row>(text: string, values: readonly unknown[] = []) => {
    const result = await at.query({ name: nameOf(text), text, values: [...values] });
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
  opening: string | undefined,
): Promise<T> {
  const client = await begin(pool, opening ?? '');
  try {
    const value = await body(sqlOver(client));
    await client.query('COMMIT');
    client.release();
    return value;
  } catch (error) {
    await rollBack(client);
    throw error;
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
 * Opens a pool of connections to a PostgreSQL server (15 or newer).
 *
 * @throws StorageFault when the server cannot be reached or its database is not UTF-8.
 */
export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.connectionsMax ?? 10,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
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
    if (error instanceof StorageFault) throw error;
    const what = error instanceof pg.DatabaseError ? 'refused the connection' : 'does not answer';
    throw new StorageFault(`The PostgreSQL server ${what}: ${messageOf(error)}`, { cause: error });
  }
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    ...sqlOver(pool),
    transaction: (body, opening) => transaction(pool, body, opening),
    copy: async () => null,
    close: () => {
      closing ??= ended(pool, connected);
      return closing;
    },
  };
}
