import type { Work } from './resident.machine.ts';

/** Work of one aggregate that waits for a read or for its commit. Each is answered once. */
export class OpenWork<State> {
  /** Made with the first, as most residents are quiet. */
  #works: Set<Work<State>> | null = null;

  get size(): number {
    return this.#works?.size ?? 0;
  }

  add(work: Work<State>): void {
    this.#works ??= new Set();
    this.#works.add(work);
  }

  /** Takes work whose wait is over; false when it is answered already, as the actor has ended. */
  take(work: Work<State>): boolean {
    return this.#works?.delete(work) ?? false;
  }

  /** Answers all of it with a fault. */
  fault(error: Error): void {
    const works = this.#works;
    this.#works = null;
    for (const work of works ?? []) work.fault(error);
  }
}
