import { NotServed } from '../../protocol/faults.ts';
import type { Refusal } from '../../protocol/refusal.ts';
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
