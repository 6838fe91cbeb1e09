/** A place to run SQL: a connection, a pool or an open transaction. Placeholders are `$1`, `$2`, …. */
export interface Sql {
  /** Runs one statement. `bigint` columns come back as decimal strings, `jsonb` as values. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** One database behind one SQL dialect: PGlite (embedded) or PostgreSQL. */
export interface Driver extends Sql {
  readonly kind: 'pglite' | 'postgres';
  /** Runs `body` in one transaction; it rolls back when `body` throws. */
  transaction<T>(body: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
