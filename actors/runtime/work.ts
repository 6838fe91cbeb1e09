import type { Work } from './resident.machine.ts';

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
