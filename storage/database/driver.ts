/** The epoch of a partition under which something is written. */
export interface Fence {
  readonly partition: number;
  readonly epoch: number;
}

/** A place to run SQL: a connection, a pool or an open transaction. Placeholders are `$1`, `$2`, …. */
export interface Sql {
  /**
   * Runs one statement. `bigint` columns come back as decimal strings, `jsonb` as values. The text must be one of
   * the program's constants: drivers may keep a prepared statement for each text they see.
   */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs several statements without parameters, for migrations. */
  script(text: string): Promise<void>;
}

/** One database behind one SQL dialect: PGlite (embedded) or PostgreSQL. */
export interface Driver extends Sql {
  readonly kind: 'pglite' | 'postgres';
  /**
   * Runs `body` in one transaction; it rolls back when `body` throws. `opening` is a script that runs first, with no
   * round trip of its own; the transaction rolls back when it fails.
   */
  transaction<T>(body: (sql: Sql) => Promise<T>, opening?: string): Promise<T>;
  close(): Promise<void>;
}

/** The environment failed: the database is gone, refused a write, is too new, or its queue is full. */
export class StorageFault extends Error {
  override readonly name: string = 'StorageFault';
}

/** Another shard has the partition by now. What was to be written was not, and never will be under this epoch. */
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

/** Whether `guildhall_fence` has refused a transaction. */
export const isStale = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'GH001';

/** What an error says; one that was made of several, as for a host name with two addresses, says what each does. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(messageOf))].join('; ');
  return error instanceof Error ? error.message : String(error);
}

/**
 * True when the database itself answered with an error, so the transaction is known to have rolled back. False for
 * a lost connection, where a commit under way may or may not have happened. Class 08 is "connection exception",
 * 57P a server that shuts down.
 *
 * @source PostgreSQL's manual, appendix "PostgreSQL Error Codes"
 */
export function refusedByDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return false;
  return typeof error.code === 'string' && !/^(08|57P)/.test(error.code);
}
