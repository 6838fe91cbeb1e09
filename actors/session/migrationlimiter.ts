import { NotServed } from '../../protocol/faults.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface MigrationLimits {
  /** Upper bound on concurrent migrations. */
  readonly atOnceMax: number;
  /** Upper bound on waiting migrations; further ones are rejected. */
  readonly waitingMax: number;
  /**
   * A migration that takes longer than this, for example because its user or a guild has no owner yet, frees its slot.
   */
  readonly holdMs: number;
  readonly wheel: Wheel;
}

/**
 * Bounds the concurrent migrations of sessions from a crashed shard, in order of arrival, so that the local sessions
 * are served in between.
 */
export class MigrationLimiter {
  readonly waitingMax: number;
  readonly #holdMs: number;
  readonly #wheel: MigrationLimits['wheel'];
  readonly #slots: Semaphore;

  constructor({ atOnceMax, waitingMax, holdMs, wheel }: MigrationLimits) {
    this.waitingMax = waitingMax;
    this.#holdMs = holdMs;
    this.#wheel = wheel;
    this.#slots = new Semaphore(atOnceMax);
  }

  get waiting(): number {
    return this.#slots.waiting;
  }

  /** @throws NotServed when too many migrations wait, and what the job throws. */
  run<T>(job: () => Promise<T>): Promise<T> {
    if (this.waiting >= this.waitingMax)
      return Promise.reject(new NotServed('Too many sessions are being moved from another shard.'));
    return new Promise((resolve, reject) => {
      void this.#slots.run(
        () =>
          new Promise<void>((pass) => {
            const timer = this.#wheel.add(pass, this.#holdMs);
            job()
              .then(resolve, reject)
              .finally(() => {
                timer.cancel();
                pass();
              });
          }),
      );
    });
  }
}
