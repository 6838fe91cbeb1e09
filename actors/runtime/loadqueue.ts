import { NotServed } from '../../protocol/faults.ts';

interface LoadQueueBounds {
  /** Loads under way at once. */
  readonly atOnceMax: number;
  /** That wait for their turn, in each of the two lines. */
  readonly waitingMax: number;
}

/** A load on its way. */
export interface Load<T> {
  /** Settles as the load does; rejects with NotServed when too many wait already, or it was given up. */
  readonly result: Promise<T>;
  /** Somebody waits for an answer: it goes to the line of those, if there is room. */
  prioritize(): void;
  /** Cancels a load that has not begun; one in progress continues. */
  cancel(): void;
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (fault: NotServed) => void;
}

/**
 * Lets so many aggregates be read at once: a shard that gets the partitions of one that has died would otherwise ask for
 * all of them at the same moment, and take the database's connections from everything else. There are two lines, each
 * first come, first served, which take turns: behind commands that somebody waits for, and behind sessions that hear
 * their guilds and users again.
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

  /** How often there was no more room. */
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
