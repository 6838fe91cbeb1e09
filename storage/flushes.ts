import type { Transactions } from './transactions.ts';

interface Flush {
  /** How many commits were submitted before it. */
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (fault: Error) => void;
}

/** Callers that wait until the commits before them are settled, and none of these can be written late. */
export class Flushes {
  readonly #transactions: Pick<Transactions, 'isUnresolved' | 'resolve'>;
  readonly #faultOf: (error: unknown) => Error;
  #waiting: Flush[] = [];

  constructor(
    transactions: Pick<Transactions, 'isUnresolved' | 'resolve'>,
    faultOf: (error: unknown) => Error,
  ) {
    this.#transactions = transactions;
    this.#faultOf = faultOf;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(upTo: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ upTo, resolve, reject }));
  }

  /** So many commits are settled. */
  settled(count: number): void {
    if (this.#transactions.isUnresolved) return;
    while (this.#waiting[0] && this.#waiting[0].upTo <= count) this.#waiting.shift()?.resolve();
  }

  /** Ends all of them. Call it when every commit is settled, and no transaction runs. */
  async resolve(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      await this.#transactions.resolve();
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { reject } of waiting) reject(this.#faultOf(error));
    }
  }
}
