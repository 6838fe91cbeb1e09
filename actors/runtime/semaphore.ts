/** Runs at most a fixed number of jobs at once; the others wait in order. */
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

  /** Settles with the job. The caller bounds how many jobs wait. */
  async run(job: () => Promise<void>): Promise<void> {
    if (this.#running >= this.#runningMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      await job();
    } finally {
      // The slot passes directly to the next job, so that a new one cannot take it first.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
