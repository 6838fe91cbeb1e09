/** Lets at most so many jobs run at once; the others wait in order. */
export class Semaphore {
  readonly #runningMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Settles as the job does. How many may wait is for the caller to bound. */
  async run(job: () => Promise<void>): Promise<void> {
    if (this.#running >= this.#runningMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      await job();
    } finally {
      // The turn passes on directly, so that no newcomer takes it first.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
