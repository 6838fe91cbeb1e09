import { createHash } from 'node:crypto';
import pg from 'pg';
import type { BatchStatement } from './driver.ts';

/** Names of prepared statements by text, so that every connection plans each text once. */
const names = new Map<string, string>();
export function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha1').update(text).digest('base64url');
    names.set(text, name);
  }
  return name;
}

/** The names that batches have prepared, by connection. They have a prefix, because the client keeps track of its own. */
const prepared = new WeakMap<pg.Connection, Set<string>>();
const PREFIX = 'batch ';

function preparedOn(connection: pg.Connection): Set<string> {
  const known = prepared.get(connection) ?? new Set();
  prepared.set(connection, known);
  return known;
}

type Row = Record<string, unknown>;

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/**
 * Statements that are sent together; after an error the server skips the others. If the first is BEGIN, the transaction is
 * still open when they are answered; otherwise the server commits it after the last.
 *
 * A connection whose batch failed must be closed: which of its statements are prepared is not known.
 *
 * @source https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class Batch implements pg.Submittable {
  /** Resolves with the rows of each statement. */
  readonly answer: Promise<Row[][]>;
  /** Called when the batch ends; the client wraps it to bound how long it waits. */
  callback: (error: Error | null) => void = () => {};
  readonly #statements: readonly BatchStatement[];
  readonly #isPooled: boolean;
  readonly #results: Row[][] = [];
  #rows: Row[] = [];
  #columns: readonly Column[] = [];

  /** @param isPooled Two batches may run on different connections of the server, so no statement is prepared under a name. */
  constructor(statements: readonly BatchStatement[], isPooled: boolean) {
    this.#statements = statements;
    this.#isPooled = isPooled;
    this.answer = new Promise((resolve, reject) => {
      this.callback = (error) => (error ? reject(error) : resolve(this.#results));
    });
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection;
    stream.cork();
    try {
      for (const statement of this.#statements) this.#send(connection, statement);
      connection.sync();
    } finally {
      stream.uncork();
    }
  }

  #send(connection: pg.Connection, { text, values }: BatchStatement): void {
    const name = this.#isPooled ? '' : PREFIX + nameOf(text);
    const known = preparedOn(connection);
    if (!known.has(name)) connection.parse({ name, text, types: [] }, true);
    // Later statements of this batch rely on it too.
    if (name !== '') known.add(name);
    connection.bind({ statement: name, values: [...values] }, true);
    connection.describe({ type: 'P' }, true);
    connection.execute(null, true);
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: pg.types.getTypeParser(dataTypeID),
    }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Row = {};
    for (const [at, { name, parse }] of this.#columns.entries()) {
      const text = fields[at] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows);
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}
