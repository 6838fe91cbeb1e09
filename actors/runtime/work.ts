import { NotServed } from '../../protocol/faults.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Commit, Writer } from '../../storage/ports.ts';
import type { Work, WorkRefusal } from './resident.machine.ts';

/** Runs work. A bug in it faults the caller before it ends the actor. */
export function answeringBugs<State>(work: Work<State>, run: () => void): void {
  try {
    run();
  } catch (error) {
    work.fault(asError(error));
    throw error;
  }
}

/** The rest of work that has waited for its rows. */
export const resumed = <State>({ refuse, fault }: Work<State>, run: () => void): Work<State> => ({
  run,
  refuse,
  fault,
});

/** Work that ends the actor because of a bug outside its turn. */
export function rethrow(error: Error): Work<never> {
  return {
    run: () => {
      throw error;
    },
    refuse: () => undefined,
    fault: () => undefined,
  };
}

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));

/** Work of one aggregate that waits for a read or for a commit. Each item is answered exactly once. */
export class OpenWork<State> {
  /** Created with the first work, because most residents are idle. */
  #works: Set<Work<State>> | null = null;

  get size(): number {
    return this.#works?.size ?? 0;
  }

  add(work: Work<State>): void {
    this.#works ??= new Set();
    this.#works.add(work);
  }

  /** Removes work that has finished waiting. False when it was already answered because the actor ended. */
  take(work: Work<State>): boolean {
    return this.#works?.delete(work) ?? false;
  }

  /** Answers all open work with a fault. */
  fault(error: Error): void {
    const works = this.#works;
    this.#works = null;
    for (const work of works ?? []) work.fault(error);
  }
}

/**
 * The `refuse` of work whose caller asks whether something exists: a full backlog does not say that it does not, so the
 * caller gets a fault and asks again.
 */
export const missingOr =
  (missing: () => void, fault: (error: Error) => void) =>
  (refusal: Refusal, why: WorkRefusal): void => {
    if (why === 'full') fault(new NotServed(refusal.message));
    else missing();
  };

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
