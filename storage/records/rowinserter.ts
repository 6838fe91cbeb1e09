import { refusedByDatabase, type Sql } from '../database/driver.ts';
import { ArchiveFault, excerpt, ROW_CHARACTERS_MAX } from './archivelines.ts';
import { ROWS_AT_ONCE } from './guildarchive.ts';
import type { Column } from './rowcolumns.ts';

/** The fault of the file that an error reports, or null when the environment failed. */
export function faultOf(error: unknown): ArchiveFault | null {
  if (error instanceof ArchiveFault) return error;
  if (error instanceof RangeError) return new ArchiveFault('A row is nested too deeply.', { cause: error });
  if (!(error instanceof Error) || !refusedByDatabase(error)) return null;
  // Class 22: malformed values; 23: broken constraints; 54: limits.
  const code = 'code' in error ? String(error.code) : '';
  if (!/^(?:22|23|54)/.test(code)) return null;
  return new ArchiveFault(`refused by the database (${code}): ${excerpt(error.message)}`, {
    cause: error,
  });
}

/** Rows that are inserted together. */
interface Page {
  readonly table: string;
  readonly rows: object[];
  characters: number;
  /** The line of the first row. */
  readonly line: number;
}

const EMPTY = { table: '', characters: 0, line: 0 };

/** Inserts the rows of an import, many of one table at once. */
export class RowInserter {
  readonly #sql: Sql;
  readonly #columns = new Map<string, readonly Column[]>();
  #page: Page = { ...EMPTY, rows: [] };

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds a row to the page, after the page before is full or of another table. */
  async add(table: string, row: object, characters: number, line: number): Promise<void> {
    const { rows, characters: waiting } = this.#page;
    const isFull = rows.length >= ROWS_AT_ONCE || waiting + characters > ROW_CHARACTERS_MAX;
    if (table !== this.#page.table || isFull) {
      await this.flush();
      this.#page = { table, rows: [], characters: 0, line };
    }
    this.#page.rows.push(row);
    this.#page.characters += characters;
  }

  async flush(): Promise<void> {
    const { table, rows, line } = this.#page;
    if (rows.length > 0) await this.insert(table, line, rows);
    this.#page = { ...EMPTY, rows: [] };
  }

  async columnsOf(table: string): Promise<readonly Column[]> {
    const known = this.#columns.get(table);
    if (known) return known;
    const columns = await this.#sql.query<Column>(
      `SELECT column_name AS name, data_type AS type, is_nullable AS nullable, is_identity AS identity FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`,
      [table],
    );
    this.#columns.set(table, columns);
    return columns;
  }

  /** Inserts rows; one that exists fails the import. `table` is one of the program's names, `line` the first row's. */
  async insert(table: string, line: number, rows: readonly object[]): Promise<void> {
    const columns = await this.columnsOf(table);
    // The database numbers identity columns again, in the same order.
    const names = columns.filter(({ identity }) => identity !== 'YES').map(({ name }) => `"${name}"`);
    const insert = `INSERT INTO ${table} (${names.join(', ')})
      SELECT ${names.join(', ')} FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`;
    await this.#sql.query(insert, [JSON.stringify(rows)]).catch((error: unknown) => {
      const fault = faultOf(error);
      const where =
        rows.length > 1
          ? `Lines ${line} to ${line + rows.length - 1}, rows of ${table}`
          : `Line ${line}, a row of ${table}`;
      throw fault ? new ArchiveFault(`${where}: ${fault.message}`, { cause: error }) : error;
    });
  }
}
