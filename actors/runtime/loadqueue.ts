import { NotServed } from '../../protocol/faults.ts';

interface LoadQueueBounds {
  /** Most concurrent loads. */
  readonly atOnceMax: number;
  /** Most waiting loads in each of the two lines. */
  readonly waitingMax: number;
}

/** A queued or running load. */
export interface Load<T> {
  /** Settles with the load; rejects with NotServed when the queue is full or the load was cancelled. */
  readonly result: Promise<T>;
  /** A caller waits for the result: moves the load to the priority line if there is room. */
  prioritize(): void;
  /** Cancels a load that has not begun; one in progress continues. */
  cancel(): void;
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (fault: NotServed) => void;
}

/**
 * Bounds how many aggregates are read at once. Without it, a shard that takes over the partitions of a crashed shard
 * would read all of them at the same moment and starve everything else of database connections. Two first-in, first-out
 * lines take turns: one for commands that a caller waits for, one for sessions that subscribe again to their guilds and
 * users.
 */
export class LoadQueue {
  readonly waitingMax: number;
  readonly #atOnceMax: number;
  #underWay = 0;
  #refused = 0;
  readonly #urgent = new Set<Waiting>();
  readonly #background = new Set<Waiting>();
  #wasUrgent = false;

  constructor({ atOnceMax, waitingMax }: LoadQueueBounds) {
    this.#atOnceMax = atOnceMax;
    this.waitingMax = waitingMax;
  }

  get waiting(): number {
    return this.#urgent.size + this.#background.size;
  }

  /** Number of loads rejected because a line was full. */
  get refused(): number {
    return this.#refused;
  }

  begin<T>(read: () => Promise<T>, isUrgent: boolean): Load<T> {
    let settle: (result: Promise<T>) => void = () => undefined;
    const result = new Promise<T>((resolve) => {
      settle = resolve;
    });
    const waiting: Waiting = {
      begin: () => settle(this.#run(read)),
      refuse: (fault) => settle(Promise.reject(fault)),
    };
    if (this.#underWay < this.#atOnceMax) waiting.begin();
    else this.#enter(waiting, isUrgent ? this.#urgent : this.#background);
    return {
      result,
      prioritize: () => {
        if (this.#urgent.size >= this.waitingMax || !this.#background.delete(waiting)) return;
        this.#urgent.add(waiting);
      },
      cancel: () => {
        if (this.#urgent.delete(waiting) || this.#background.delete(waiting))
          waiting.refuse(new NotServed('The load was cancelled: no work waits for it.'));
      },
    };
  }

  #enter(waiting: Waiting, queue: Set<Waiting>): void {
    if (queue.size < this.waitingMax) {
      queue.add(waiting);
      return;
    }
    this.#refused += 1;
    waiting.refuse(new NotServed('Too many aggregates wait to be loaded.'));
  }

  async #run<T>(read: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await read();
    } finally {
      this.#underWay -= 1;
      this.#next();
    }
  }

  #next(): void {
    const isUrgent = this.#background.size === 0 || (this.#urgent.size > 0 && !this.#wasUrgent);
    const queue = isUrgent ? this.#urgent : this.#background;
    const [next] = queue;
    if (!next) return;
    this.#wasUrgent = isUrgent;
    queue.delete(next);
    next.begin();
  }
}
