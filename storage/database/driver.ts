/** A partition's epoch, under which something is written. */
export interface Fence {
  readonly partition: number;
  readonly epoch: number;
}

/** Opening of a transaction that reads the database as it was at one moment. */
export const READ_ONLY = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY';

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
