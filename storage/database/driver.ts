import { codeOf } from '../../protocol/thrown.ts';
/** A partition's epoch, under which something is written. */
export interface Fence {
  readonly partition: number;
  readonly epoch: number;
}

/** Opening of a transaction that reads the database as it was at one moment. */
export const READ_ONLY = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY';

/** A statement of a batch; its parameters are passed as text. */
export interface BatchStatement {
  readonly text: string;
  readonly values: readonly string[];
}

/** Runs SQL: a connection, a pool or an open transaction. Placeholders are `$1`, `$2`, …. */
export interface Sql {
  /**
   * Runs one statement. `bigint` columns are returned as decimal strings, `jsonb` columns as values. The text must be one of
   * the program's constants, because drivers may keep a prepared statement for each text.
   */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs several statements without parameters, for migrations. */
  script(text: string): Promise<void>;
}

/** One database: PGlite (embedded) or a PostgreSQL server. */
export interface Driver extends Sql {
  readonly kind: 'pglite' | 'postgres';
  /**
   * Runs statements in one transaction. If they are short, that takes two round trips to the server, and nothing is
   * committed after the connection was lost; or one, where that is allowed because the statements refuse to be committed
   * late or twice.
   *
   * @returns the rows of each.
   */
  batch<Row = Record<string, unknown>>(
    statements: readonly BatchStatement[],
    mayCommitLate?: boolean,
  ): Promise<Row[][]>;
  /**
   * Runs `body` in one transaction, which rolls back when `body` throws. The script `opening` runs first, without an extra
   * round trip; if it fails, the transaction rolls back.
   */
  transaction<T>(body: (sql: Sql) => Promise<T>, opening?: string): Promise<T>;
  /**
   * Copies the files of an embedded database to another directory; statements wait meanwhile. Opening the copy shows every
   * commit before and none after. @returns the directory of the copy; null for a server, and for a database in memory.
   */
  copy(): Promise<string | null>;
  close(): Promise<void>;
}

/** Each statement waits for the one before it, so that the server's timeouts bound a transaction of any size. */
export async function oneByOne<Row>(
  { query }: Pick<Sql, 'query'>,
  statements: readonly BatchStatement[],
): Promise<Row[][]> {
  const results: Row[][] = [];
  for (const { text, values } of statements) results.push(await query<Row>(text, values));
  return results;
}

/** A fault of the environment: the database is unreachable, refused a write, is too new, or its queue is full. */
export class StorageFault extends Error {
  override readonly name: string = 'StorageFault';
}

/** Another shard owns the partition now. The write did not happen and never will under this epoch. */
export class StaleEpoch extends StorageFault {
  override readonly name = 'StaleEpoch';
  readonly partition: number;
  readonly epoch: number;

  constructor({ partition, epoch }: Fence, options?: ErrorOptions) {
    super(`The partition ${partition} is no longer at epoch ${epoch}.`, options);
    this.partition = partition;
    this.epoch = epoch;
  }
}

/** Whether `guildhall_fence` refused a transaction. */
export const isStale = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'GH001';

/** The message of an error; for an error made of several, as for a host name with two addresses, all their messages. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(messageOf))].join('; ');
  return error instanceof Error ? error.message : String(error);
}

/**
 * Whether the database itself answered with an error, so that the transaction has certainly rolled back. False for a lost
 * connection, after which a commit may or may not have happened. Class 08 is "connection exception", 57P a server that
 * shuts down.
 *
 * @source https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function refusedByDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return false;
  return typeof error.code === 'string' && !/^(08|57P)/.test(error.code);
}

/**
 * Whether another attempt may succeed: a former primary that follows another server now refuses to write, and a server
 * without free connections refuses new ones.
 */
export const isRefusedForNow = (error: unknown): boolean => /^(25006|53300)$/.test(codeOf(error) ?? '');

/** A driver that counts its requests, so that shutdown can wait for those in progress. */
interface CountedDriver extends Driver {
  /** Resolves when no request is in progress, and the callers of the last one have had a turn without making another. */
  idle(): Promise<void>;
}

/** Bound of `idle`: a caller that never stops must not keep the database open. */
const IDLE_TIMEOUT_MS = 10_000;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Counts the driver's requests. After `close`, requests fail with "The storage is closed.". */
export function counted(driver: Driver): CountedDriver {
  let asked = 0;
  let isClosed = false;
  const underWay = new Set<Promise<unknown>>();

  function count<T>(ask: () => Promise<T>): Promise<T> {
    if (isClosed) return Promise.reject(new StorageFault('The storage is closed.'));
    asked += 1;
    const answer = ask();
    const done = (): void => void underWay.delete(answer);
    underWay.add(answer);
    answer.then(done, done);
    return answer;
  }

  const sql: Sql = {
    query: <Row>(text: string, values?: readonly unknown[]) => count(() => driver.query<Row>(text, values)),
    script: (text) => count(() => driver.script(text)),
  };
  return {
    kind: driver.kind,
    ...sql,
    batch: <Row>(statements: readonly BatchStatement[], mayCommitLate?: boolean) =>
      count(() => driver.batch<Row>(statements, mayCommitLate)),
    transaction: (body, opening) => count(() => driver.transaction(body, opening)),
    copy: () => count(() => driver.copy()),
    async idle() {
      const untilMs = performance.now() + IDLE_TIMEOUT_MS;
      for (let seen = -1; underWay.size > 0 || seen !== asked; ) {
        if (performance.now() > untilMs) return;
        seen = asked;
        await Promise.allSettled([...underWay]);
        await turn();
      }
    },
    close() {
      isClosed = true;
      return driver.close();
    },
  };
}

/** The escapes that `JSON.stringify` writes for NUL and for lone surrogates. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;
/** With the `u` flag a surrogate pair is one character and does not match. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

function clean(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replaceAll('\u0000', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD');
  if (Array.isArray(value)) return value.map(clean);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), clean(inner)]));
}

/**
 * A row as JSON text that the database accepts. `jsonb` cannot contain NUL or lone surrogates, which a client may send in
 * valid JSON: each becomes U+FFFD, so that the commit does not fail.
 *
 * @throws TypeError for values that JSON cannot contain: a bigint, a cycle.
 */
export function rowText(row: object): string {
  const text = JSON.stringify(row);
  // The pattern also matches an escaped backslash that a user typed; cleaning then changes nothing.
  return UNSTORABLE.test(text) ? JSON.stringify(clean(JSON.parse(text))) : text;
}
