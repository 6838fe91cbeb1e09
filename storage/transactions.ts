import { randomUUID } from 'node:crypto';
import { type BatchStatement, type Driver, messageOf, refusedByDatabase } from './database/driver.ts';

interface Timer {
  cancel(): void;
}

/** For how long transactions are repeated after the connection was lost. */
export interface Retry {
  readonly forMs: number;
  readonly clock: {
    monotonic(): number;
    setTimer(run: () => void, delayMs: number): Timer;
  };
}
const WAIT_MS = { first: 20, most: 500 };

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** A transaction that may have been committed, or may still be: its cause is what the connection reported last. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** Whether `guildhall_number` refused a transaction: one with this number or a later one is committed. */
const isNumberTaken = (error: unknown): boolean => codeOf(error) === 'GH002';

/** A former primary that follows another server now, and a server without free connections. */
const ELSEWHERE = /^(25006|53300)$/;

/** Classes of errors in what a transaction writes, which is read after its number. */
const AFTER_NUMBER = /^(21|22|23|42|GH|P0)/;

/** Whether the database got as far as the number, so that no earlier attempt is under way. */
const hasNumbered = (error: unknown): boolean => refusedByDatabase(error) && AFTER_NUMBER.test(codeOf(error));

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
  readonly #retry: Retry | null;
  /** Ends the pause before the next attempt, which is not made then. */
  #endPause: () => void = () => undefined;
  #isEnded = false;
  readonly #writer = randomUUID();
  #number = 0;
  /** When the database stopped answering; null while it answers. */
  #lostMs: number | null = null;
  #isUnresolved = false;

  constructor(driver: Driver, retry: Retry | null) {
    this.#driver = driver;
    this.#retry = retry;
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
    for (let waitMs = WAIT_MS.first; ; waitMs = Math.min(waitMs * 2, WAIT_MS.most)) {
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
        if (!(await this.#waits(waitMs))) throw new OutcomeUnknown(error);
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
    this.#isEnded = true;
    this.#endPause();
  }

  async #runOnce<Row>(statements: readonly BatchStatement[]): Promise<Row[][]> {
    try {
      return await this.#driver.batch<Row>(statements);
    } catch (error) {
      throw refusedByDatabase(error) ? error : new OutcomeUnknown(error);
    }
  }

  #answered(): void {
    this.#lostMs = null;
    this.#isUnresolved = false;
  }

  /** @returns false at once when the time for attempts would be over by then. */
  #waits(ms: number): boolean | Promise<boolean> {
    if (this.#retry === null || this.#isEnded) return false;
    const { forMs, clock } = this.#retry;
    const nowMs = clock.monotonic();
    this.#lostMs ??= nowMs;
    if (nowMs + ms - this.#lostMs > forMs) return false;
    return new Promise((resolve) => {
      const timer = clock.setTimer(() => resolve(true), ms);
      this.#endPause = () => {
        timer.cancel();
        resolve(false);
      };
    });
  }
}

/**
 * Whether no attempt is committed or under way.
 *
 * @param isUnknown An earlier attempt had no answer.
 */
const isRolledBack = (error: unknown, isUnknown: boolean): boolean =>
  refusedByDatabase(error) && (isUnknown ? hasNumbered(error) : !ELSEWHERE.test(codeOf(error)));

const numbering = (writer: string, number: number): BatchStatement => ({
  text: 'SELECT guildhall_number($1, $2)',
  values: [writer, String(number)],
});
