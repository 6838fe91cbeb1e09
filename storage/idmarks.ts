import type { Sql } from './database/driver.ts';
import { rowText } from './database/rowtext.ts';
import { rows } from './database/statement.ts';
import type { IdSource } from './ports.ts';

/**
 * How far a mark goes ahead of the ids it is written for: it is written once for all of the next second. After a crash
 * ids may be dated that much ahead of the clock, if the server is back so soon.
 */
const AHEAD_MS = 1000;

const COLUMNS = { worker: 'integer', ms: 'bigint' };

/** Two shards may have had the same worker one after the other: what stands there only rises. */
const WRITE = `
INSERT INTO id_marks AS m (worker, ms) SELECT worker, max(ms) FROM ${rows(COLUMNS)} GROUP BY worker
ON CONFLICT (worker) DO UPDATE SET ms = GREATEST(m.ms, EXCLUDED.ms)`;

/** A mark that is to be written together with ids. */
interface DueMark {
  readonly sql: string;
  readonly rows: string[];
  /** To be called once it is durable. */
  written(): void;
}

/**
 * Keeps on disk how far ids are, so that they go on behind all that were ever written, whatever the clock says at the
 * next start or at the next owner. A mark is written in the very transaction that would pass it, so that there is no
 * moment at which an id is durable and its mark is not.
 */
export class IdMarks {
  /** Each source, and until when (Unix milliseconds) its ids are covered. */
  readonly #coveredMs = new Map<IdSource, number>();

  /** Raises the source above all that was ever written, and writes down from now on how far it is. */
  async follow(source: IdSource, sql: Sql): Promise<void> {
    this.#coveredMs.set(source, 0);
    await this.raise(sql);
  }

  /** Raises all sources above what others have written by now. */
  async raise(sql: Sql): Promise<void> {
    if (this.#coveredMs.size === 0) return;
    const [row] = await sql.query<{ ms: string | null }>('SELECT max(ms) AS ms FROM id_marks');
    if (row?.ms != null) for (const source of this.#coveredMs.keys()) source.raise(Number(row.ms));
  }

  /** Null while all ids that exist are covered. */
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
