import type { Commit, Writer } from '../../storage/ports.ts';

/**
 * Runs what follows a command (reply and dispatches) in the order of the commands of one aggregate: after its
 * commit when it has facts to store, else at once, or behind the commits that are under way.
 */
export class OrderedCommits {
  readonly #writer: Writer;
  readonly #ownerId: string;
  readonly #quiet: () => void;
  /** What waits behind the last commit under way, or is being run since it is settled; null when nothing is. */
  #behind: ((fault: Error | null) => void)[] | null = null;
  #lost: Error | null = null;
  /** Commits handed to the writer, and those of them that are settled. */
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

  /** Whether what comes now has its turn behind something. */
  get waits(): boolean {
    return this.#behind !== null;
  }

  /** `done` gets a fault when the commit, or an earlier one of this aggregate, failed. */
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
        // What was decided on top of a lost commit must not become visible either.
        this.#lost ??= fault;
        try {
          done(fault ?? this.#lost);
          // What one of them sets off comes to stand behind the others.
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

  /** Runs `run` after everything that was committed so far; with a fault when some of it is lost. */
  after(run: (fault: Error | null) => void): void {
    if (this.#behind) this.#behind.push(run);
    else run(this.#lost);
  }
}
