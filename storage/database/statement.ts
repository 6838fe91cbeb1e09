/**
 * One row of a set-based statement. `sql` has a single parameter, `$1::jsonb`, an array of `row`s, and reads it with
 * `jsonb_to_recordset`. Consecutive statements with the same text in a group commit are sent as one, with all their rows.
 */
export interface Statement {
  readonly sql: string;
  readonly row: object;
  /**
   * For a table that no other statement of a commit touches. Such rows of a whole group are written after its others, in
   * ascending order of this number, so that commits of several kinds, one after another, remain few statements.
   */
  readonly later?: number;
}

/** How the facts of one topic are written to tables. Facts that are not stored return an empty list. */
export type StatementTable<Facts extends Record<string, object>> = {
  readonly [K in keyof Facts]: (ownerId: string, fact: Facts[K]) => readonly Statement[];
};

export const none = (): readonly Statement[] => [];

/** Columns of a row in order, name to SQL type. */
type Columns = Readonly<Record<string, string>>;

const namesOf = (columns: Columns): string => Object.keys(columns).join(', ');

/** A FROM item named `r`: the rows of `$1`, with their position as `ord`. */
export function rows(columns: Columns): string {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return `ROWS FROM (jsonb_to_recordset($1::jsonb) AS (${typed.join(', ')})) WITH ORDINALITY AS r(${namesOf(columns)}, ord)`;
}

/** A FROM item named `r`: of the rows of `$1` with the same `key`, the last one. */
export function lastRows(columns: Columns, key: string): string {
  return `(SELECT DISTINCT ON (${key}) * FROM ${rows(columns)} ORDER BY ${key}, ord DESC) AS r`;
}

/**
 * Writes complete rows, replacing those with the same key. If a key occurs twice, the last row is written, because
 * PostgreSQL refuses to change one row twice in a statement.
 */
export function upsert(table: string, columns: Columns, key: string): string {
  const keys = key.split(', ');
  const rest = Object.keys(columns).filter((name) => !keys.includes(name));
  const action =
    rest.length === 0
      ? 'NOTHING'
      : `UPDATE SET ${rest.map((name) => `${name} = EXCLUDED.${name}`).join(', ')}`;
  const names = namesOf(columns);
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${lastRows(columns, key)} ON CONFLICT (${key}) DO ${action}`;
}

/** Deletes the rows that the `key` columns identify. */
export function remove(table: string, key: Columns): string {
  const match = Object.keys(key).map((name) => `t.${name} = r.${name}`);
  return `DELETE FROM ${table} t USING ${rows(key)} WHERE ${match.join(' AND ')}`;
}
