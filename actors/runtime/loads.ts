import { NotServed } from '../../protocol/faults.ts';

interface LoadBounds {
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
  hurry(): void;
  /** Nobody wants it any more: it is not begun. One that is under way goes on to its end. */
  giveUp(): void;
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
export class Loads {
  readonly waitingMax: number;
  readonly #atOnceMax: number;
  #underWay = 0;
  #refused = 0;
  readonly #hurried = new Set<Waiting>();
  readonly #patient = new Set<Waiting>();
  #wasHurried = false;

  constructor({ atOnceMax, waitingMax }: LoadBounds) {
    this.#atOnceMax = atOnceMax;
    this.waitingMax = waitingMax;
  }

  get waiting(): number {
    return this.#hurried.size + this.#patient.size;
  }

  /** How often there was no more room. */
  get refused(): number {
    return this.#refused;
  }

  begin<T>(read: () => Promise<T>, isHurried: boolean): Load<T> {
    let settle: (result: Promise<T>) => void = () => undefined;
    const result = new Promise<T>((resolve) => {
      settle = resolve;
    });
    const waiting: Waiting = {
      begin: () => settle(this.#run(read)),
      refuse: (fault) => settle(Promise.reject(fault)),
    };
    if (this.#underWay < this.#atOnceMax) waiting.begin();
    else this.#enter(waiting, isHurried ? this.#hurried : this.#patient);
    return {
      result,
      hurry: () => {
        if (this.#hurried.size >= this.waitingMax || !this.#patient.delete(waiting)) return;
        this.#hurried.add(waiting);
      },
      giveUp: () => {
        if (this.#hurried.delete(waiting) || this.#patient.delete(waiting))
          waiting.refuse(new NotServed('Nobody waits for it any more.'));
      },
    };
  }

  #enter(waiting: Waiting, line: Set<Waiting>): void {
    if (line.size < this.waitingMax) {
      line.add(waiting);
      return;
    }
    this.#refused += 1;
    waiting.refuse(new NotServed('Too much waits to be read here.'));
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
    const isHurried = this.#patient.size === 0 || (this.#hurried.size > 0 && !this.#wasHurried);
    const line = isHurried ? this.#hurried : this.#patient;
    const [next] = line;
    if (!next) return;
    this.#wasHurried = isHurried;
    line.delete(next);
    next.begin();
  }
}
