import { NotServed } from '../../protocol/faults.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface MigrationLimits {
  /** How many come over at once. */
  readonly atOnceMax: number;
  /** How many may wait; beyond it nobody more is taken. */
  readonly waitingMax: number;
  /** Who takes longer than this, as its user or a guild has no owner yet, holds up nobody behind it. */
  readonly holdMs: number;
  readonly wheel: Wheel;
}

/**
 * The way of sessions from a shard that has died: narrow, so that those that are here are served between any two that
 * come, however many do. In order.
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

  /** @throws NotServed when too many wait, and what the job throws. */
  run<T>(job: () => Promise<T>): Promise<T> {
    if (this.waiting >= this.waitingMax)
      return Promise.reject(new NotServed('Too many sessions come over from another shard.'));
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
