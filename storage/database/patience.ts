import { type Driver, isRefusedForNow, refusedByDatabase } from './driver.ts';

interface Timer {
  cancel(): void;
}

/** For how long something is tried again after the connection was lost. */
export interface Retry {
  readonly forMs: number;
  readonly clock: {
    monotonic(): number;
    setTimer(run: () => void, delayMs: number): Timer;
  };
}

/** Pauses between attempts, each twice as long as the one before. */
const PAUSE_MS = { first: 20, most: 500 };

const pauseMsAfter = (attempt: number): number =>
  Math.min(PAUSE_MS.first * 2 ** (attempt - 1), PAUSE_MS.most);

/** How many pauses take this long. */
function attemptsWithin(forMs: number): number {
  let attempts = 0;
  for (let passedMs = 0; passedMs < forMs; passedMs += pauseMsAfter(attempts)) attempts += 1;
  return attempts;
}

/** Counts the time since the database stopped answering: within it attempts are made again. */
export class Patience {
  readonly #retry: Retry | null;
  /** After so many attempts the time is over, even if others are answered meanwhile. */
  readonly #attemptsMax: number;
  /** When the database stopped answering; null while it answers. */
  #lostMs: number | null = null;
  /** Each ends a pause before an attempt, which is not made then. */
  readonly #pauses = new Set<() => void>();
  #isEnded = false;

  /** @param retry Null: nothing is tried again. */
  constructor(retry: Retry | null) {
    this.#retry = retry;
    this.#attemptsMax = retry ? attemptsWithin(retry.forMs) : 0;
  }

  answered(): void {
    this.#lostMs = null;
  }

  /**
   * Resolves after a pause.
   *
   * @param attempt The number of attempts so far, from 1.
   * @returns false at once when the time for attempts would be over by then.
   */
  waits(attempt: number): boolean | Promise<boolean> {
    if (this.#retry === null || this.#isEnded || attempt > this.#attemptsMax) return false;
    const { forMs, clock } = this.#retry;
    const ms = pauseMsAfter(attempt);
    const nowMs = clock.monotonic();
    this.#lostMs ??= nowMs;
    if (nowMs + ms - this.#lostMs > forMs) return false;
    return new Promise((resolve) => {
      const end = (isAttempt: boolean): void => {
        this.#pauses.delete(endPause);
        resolve(isAttempt);
      };
      const timer = clock.setTimer(() => end(true), ms);
      const endPause = (): void => {
        timer.cancel();
        end(false);
      };
      this.#pauses.add(endPause);
    });
  }

  /** From now on everything is tried once. */
  end(): void {
    this.#isEnded = true;
    for (const endPause of this.#pauses) endPause();
  }
}

const READS = /^\s*SELECT\b/;

/** The driver, whose single reads wait for a database that does not answer, as commits do. */
export function withPatientReads(driver: Driver, patience: Patience): Driver {
  if (driver.kind === 'pglite') return driver;
  return {
    ...driver,
    async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const found = await driver.query<Row>(text, values);
          patience.answered();
          return found;
        } catch (error) {
          const isFinal = refusedByDatabase(error) && !isRefusedForNow(error);
          if (isFinal || !READS.test(text) || !(await patience.waits(attempt))) throw error;
        }
      }
    },
  };
}
