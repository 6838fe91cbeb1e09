import type { Commit, Writer } from '../../storage/ports.ts';

/**
 * Runs what follows a command (reply and dispatches) in the order of the commands of one aggregate: after the commit of
 * its facts; without facts, after the commits under way, or at once when there are none.
 */
export class OrderedCommits {
  readonly #writer: Writer;
  readonly #ownerId: string;
  readonly #quiet: () => void;
  /** Callbacks that wait for the last commit under way, or are being run after it settled; null when there are none. */
  #behind: ((fault: Error | null) => void)[] | null = null;
  #lost: Error | null = null;
  /** Number of commits handed to the writer, and how many of them are settled. */
  started = 0;
  settled = 0;

  /** @param quiet Called when no commit is under way any more, and what waited behind the last one has run. */
  constructor(writer: Writer, ownerId: string, quiet: () => void = () => undefined) {
    this.#writer = writer;
    this.#ownerId = ownerId;
    this.#quiet = quiet;
  }

  get underWay(): number {
    return this.started - this.settled;
  }

  /** Whether a new callback must wait. */
  get waits(): boolean {
    return this.#behind !== null;
  }

  /** `done` receives a fault when the commit, or an earlier one of this aggregate, failed. */
  commit(
    facts: Commit['facts'],
    done: (fault: Error | null) => void,
    owned: Pick<Commit, 'fence' | 'record'> = {},
  ): void {
    const behind: ((fault: Error | null) => void)[] = [];
    this.#behind = behind;
    this.started += 1;
    this.#writer.commit({
      ownerId: this.#ownerId,
      facts,
      ...owned,
      done: (fault) => {
        this.settled += 1;
        // Decisions on top of a failed commit must not become visible either.
        this.#lost ??= fault;
        try {
          done(fault ?? this.#lost);
          // Callbacks that these add are queued behind them.
          for (const run of behind) run(this.#lost);
        } finally {
          if (this.#behind === behind) {
            this.#behind = null;
            this.#quiet();
          }
        }
      },
    });
  }

  /** Runs `run` after every earlier commit; with a fault when one of them failed. */
  after(run: (fault: Error | null) => void): void {
    if (this.#behind) this.#behind.push(run);
    else run(this.#lost);
  }
}
