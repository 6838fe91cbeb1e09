import type { Sql } from './database/driver.ts';
import { rowText } from './database/driver.ts';
import { rows } from './database/statement.ts';
import type { IdSource } from './ports.ts';

/**
 * How far a mark is ahead of the ids it is written for, so that it is written about once a second. After a crash, ids may
 * carry a time up to this much ahead of the clock, if the server restarts at once.
 */
const AHEAD_MS = 1000;

const COLUMNS = { worker: 'integer', ms: 'bigint' };

/** Two shards may have used the same worker number in succession, so a stored mark only increases. */
const WRITE = `
INSERT INTO id_marks AS m (worker, ms) SELECT worker, max(ms) FROM ${rows(COLUMNS)} GROUP BY worker
ON CONFLICT (worker) DO UPDATE SET ms = GREATEST(m.ms, EXCLUDED.ms)`;

/** A mark that must be written together with ids. */
interface DueMark {
  readonly sql: string;
  readonly rows: string[];
  /** Call it once the mark is durable. */
  written(): void;
}

/**
 * Keeps durable upper bounds of the ids in use, so that new ids are above all ids ever written, whatever the clock says at
 * the next start or at the next owner. A mark is written in the same transaction as the first id above the previous mark, so
 * an id is never durable without its mark.
 */
export class IdMarks {
  /** For each source, the time (Unix milliseconds) up to which its ids are covered. */
  readonly #coveredMs = new Map<IdSource, number>();

  /** Raises the source above all ids ever written, and keeps its marks from now on. */
  async follow(source: IdSource, sql: Sql): Promise<void> {
    this.#coveredMs.set(source, 0);
    await this.raise(sql);
  }

  /** Raises all sources above the marks that other shards have written. */
  async raise(sql: Sql): Promise<void> {
    if (this.#coveredMs.size === 0) return;
    const [row] = await sql.query<{ ms: string | null }>('SELECT max(ms) AS ms FROM id_marks');
    if (row?.ms != null) for (const source of this.#coveredMs.keys()) source.raise(Number(row.ms));
  }

  /** The marks to write with the next commit; null while all ids are covered. */
  due(): DueMark | null {
    const ahead = [...this.#coveredMs].flatMap(([source, coveredMs]) =>
      source.lastMs() > coveredMs ? [{ source, ms: source.lastMs() + AHEAD_MS }] : [],
    );
    if (ahead.length === 0) return null;
    return {
      sql: WRITE,
      rows: ahead.map(({ source, ms }) => rowText({ worker: source.worker(), ms })),
      written: () => {
        for (const { source, ms } of ahead) this.#coveredMs.set(source, ms);
      },
    };
  }
}
