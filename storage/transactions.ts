import { randomUUID } from 'node:crypto';
import { codeOf } from '../protocol/thrown.ts';
import {
  type BatchStatement,
  type Driver,
  isRefusedForNow,
  messageOf,
  refusedByDatabase,
} from './database/driver.ts';
import { Patience, type Retry } from './database/patience.ts';

/** A transaction that may have been committed, or may still be: its cause is what the connection reported last. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** Whether `guildhall_number` refused a transaction: one with this number or a later one is committed. */
const isNumberTaken = (error: unknown): boolean => codeOf(error) === 'GH002';

/** Classes of errors in what a transaction writes, which is read after its number. */
const AFTER_NUMBER = /^(21|22|23|42|GH|P0)/;

/** Whether the database got as far as the number, so that no earlier attempt is under way. */
const hasNumbered = (error: unknown): boolean =>
  refusedByDatabase(error) && AFTER_NUMBER.test(codeOf(error) ?? '');

/**
 * The transactions of one writer, which run one after the other. Each has a number, which it writes to the row of its writer:
 * the row refuses a number that is not above its own. So a transaction whose connection was lost can be repeated. An attempt
 * that is still under way at the server holds the row, and the next one waits for its end; if it was committed, the next
 * one is refused.
 *
 * An embedded database has no connection to lose, so its transactions have no numbers.
 */
export class Transactions {
  readonly #driver: Driver;
  readonly #patience: Patience;
  readonly #writer = randomUUID();
  #number = 0;
  #isUnresolved = false;

  constructor(driver: Driver, retry: Retry | null) {
    this.#driver = driver;
    this.#patience = new Patience(retry);
  }

  /** Whether a transaction that was given up may still be committed. */
  get isUnresolved(): boolean {
    return this.#isUnresolved;
  }

  /**
   * Runs the statements in one transaction, which is repeated while the database does not answer.
   *
   * @returns the rows of each statement; null when an attempt without an answer was committed.
   * @throws OutcomeUnknown, or what the database reported when it rolled the transaction back.
   */
  async run<Row>(statements: readonly BatchStatement[]): Promise<Row[][] | null> {
    if (this.#driver.kind === 'pglite') return this.#runOnce<Row>(statements);
    this.#number += 1;
    const numbered = [numbering(this.#writer, this.#number), ...statements];
    let isUnknown = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const results = await this.#driver.batch<Row>(numbered, true);
        this.#answered();
        return results.slice(1);
      } catch (error) {
        if (hasNumbered(error)) this.#answered();
        if (isNumberTaken(error)) return null;
        if (isRolledBack(error, isUnknown)) throw error;
        isUnknown = true;
        this.#isUnresolved = true;
        if (!(await this.#patience.waits(attempt))) throw new OutcomeUnknown(error);
      }
    }
  }

  /**
   * Makes sure that no transaction that was given up is committed from now on. Must not run while another transaction does.
   *
   * @throws What the database or the connection reported; nothing is known then.
   */
  async resolve(): Promise<void> {
    if (this.#isUnresolved) await this.run([]);
  }

  /** From now on a transaction is tried once. */
  end(): void {
    this.#patience.end();
  }

  async #runOnce<Row>(statements: readonly BatchStatement[]): Promise<Row[][]> {
    try {
      return await this.#driver.batch<Row>(statements);
    } catch (error) {
      throw refusedByDatabase(error) ? error : new OutcomeUnknown(error);
    }
  }

  #answered(): void {
    this.#patience.answered();
    this.#isUnresolved = false;
  }
}

/**
 * Whether no attempt is committed or under way.
 *
 * @param isUnknown An earlier attempt had no answer.
 */
const isRolledBack = (error: unknown, isUnknown: boolean): boolean =>
  refusedByDatabase(error) && (isUnknown ? hasNumbered(error) : !isRefusedForNow(error));

const numbering = (writer: string, number: number): BatchStatement => ({
  text: 'SELECT guildhall_number($1, $2)',
  values: [writer, String(number)],
});
