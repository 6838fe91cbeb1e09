import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { Random } from '../fuzz/random.ts';

/** Unix milliseconds at which every run begins. */
const STARTED_MS = 1_700_000_000_000;
/** Steps between two looks at the machine's own event loop, so that whoever runs the simulation hears of it. */
const BREATH_STEPS = 20_000;
const TRACE_MAX = 3_000;

/** A process of the simulated world: what is to happen in it waits while it is stopped, and never comes once it is dead. */
export class Host {
  readonly name: string;
  alive = true;
  /** Until when it is stopped, milliseconds of the world. */
  stoppedUntilMs = 0;
  /** What should have happened meanwhile. */
  readonly held: Step[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

interface Step {
  atMs: number;
  readonly order: number;
  /** Null for what happens outside of all processes: the network, the database, the checks. */
  readonly host: Host | null;
  run: (() => void) | null;
}

const isBefore = (a: Step, b: Step): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/**
 * Time and chance of one run. Whatever happens is a step of one queue, ordered by time; between two steps every promise
 * that can go on has gone on, so that a run is decided by its seed alone.
 */
export class World {
  readonly random: Random;
  /** Milliseconds since the run began. */
  nowMs = 0;
  steps = 0;
  /** Of all that has happened: equal for two runs of one seed. */
  fingerprint = 0;
  readonly #queue: Step[] = [];
  #order = 0;
  readonly #trace: string[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** Answers how to take it back. */
  after(delayMs: number, run: () => void, host: Host | null = null): Timer {
    const step: Step = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, host, run };
    this.#push(step);
    return {
      cancel: () => {
        step.run = null;
      },
    };
  }

  /** The process stands still from now on, for so long at least. */
  stop(host: Host, forMs: number): void {
    host.stoppedUntilMs = Math.max(host.stoppedUntilMs, this.nowMs + forMs);
    this.after(forMs, () => this.#wake(host));
  }

  /** It goes on now, if it was stopped. */
  resume(host: Host): void {
    host.stoppedUntilMs = 0;
    this.#wake(host);
  }

  #wake(host: Host): void {
    if (host.stoppedUntilMs > this.nowMs) return;
    // In the order in which it should have been, and before whatever is to come.
    for (const step of host.held.splice(0)) {
      step.atMs = this.nowMs;
      this.#push(step);
    }
  }

  /** A uniform number of milliseconds. */
  between(fromMs: number, toMs: number): number {
    return fromMs + this.random.next() * (toMs - fromMs);
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  /** Keeps a line for whoever asks why a run failed. */
  note(line: string): void {
    this.#trace.push(`${(this.nowMs / 1000).toFixed(4).padStart(9)}  ${line}`);
    if (this.#trace.length > TRACE_MAX * 2) this.#trace.splice(0, TRACE_MAX);
  }

  get trace(): readonly string[] {
    return this.#trace.slice(-TRACE_MAX);
  }

  /** Lets the world go on until `done`, or until `untilMs`. Rejects with what a step throws. */
  run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let breath = BREATH_STEPS;
      // Run from the tick queue, which is looked at again only when no microtask is left.
      const turn = (): void => {
        try {
          if (done() || !this.#step(untilMs)) resolve();
          else if (--breath > 0) queueMicrotask(again);
          else {
            breath = BREATH_STEPS;
            setImmediate(turn);
          }
        } catch (error) {
          reject(error);
        }
      };
      const again = (): void => process.nextTick(turn);
      setImmediate(turn);
    });
  }

  /** False when nothing is left to happen until then. */
  #step(untilMs: number): boolean {
    for (let step = this.#queue[0]; step && step.atMs <= untilMs; step = this.#queue[0]) {
      this.#pop();
      const { host, run } = step;
      if (!run || (host && !host.alive)) continue;
      this.nowMs = Math.max(this.nowMs, step.atMs);
      if (host && host.stoppedUntilMs > this.nowMs) {
        host.held.push(step);
        continue;
      }
      this.steps += 1;
      this.fingerprint = (Math.imul(this.fingerprint, 31) + step.order + Math.floor(step.atMs * 1024)) | 0;
      step.run = null;
      run();
      return true;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
    return false;
  }

  #push(step: Step): void {
    const queue = this.#queue;
    let at = queue.push(step) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(step, queue[parent] as Step)) break;
      queue[at] = queue[parent] as Step;
      at = parent;
    }
    queue[at] = step;
  }

  #pop(): void {
    const queue = this.#queue;
    const last = queue.pop() as Step;
    if (queue.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= queue.length) break;
      if (child + 1 < queue.length && isBefore(queue[child + 1] as Step, queue[child] as Step)) child += 1;
      if (!isBefore(queue[child] as Step, last)) break;
      queue[at] = queue[child] as Step;
      at = child;
    }
    queue[at] = last;
  }
}

/** The clock of one process: it begins with the process, may be set wrong, and may run a little fast or slow. */
export class HostClock implements Clock {
  readonly #world: World;
  readonly #host: Host;
  readonly #begunMs: number;
  readonly #rate: number;
  #preemption: { reads: number; readonly forMs: number } | null = null;
  /** How far its date is off. */
  offsetMs: number;

  constructor(world: World, host: Host, { offsetMs = 0, rate = 1 } = {}) {
    this.#world = world;
    this.#host = host;
    this.#begunMs = world.nowMs;
    this.#rate = rate;
    this.offsetMs = offsetMs;
  }

  /**
   * Stops the whole machine for `forMs` within a turn of this process, after `reads` more reads of this clock. The rest of the turn
   * runs at the later time, and every step that was due in between runs after it.
   */
  preempt(reads: number, forMs: number): void {
    this.#preemption = { reads, forMs };
  }

  now(): number {
    return Math.floor(STARTED_MS + this.#readMs() + this.offsetMs);
  }

  monotonic(): number {
    return (this.#readMs() - this.#begunMs) * this.#rate;
  }

  #readMs(): number {
    const preemption = this.#preemption;
    if (preemption && --preemption.reads < 0) {
      this.#preemption = null;
      this.#world.nowMs += preemption.forMs;
      this.#world.note(`${this.#host.name} stops the machine for ${Math.round(preemption.forMs)} ms`);
    }
    return this.#world.nowMs;
  }

  setTimer(run: () => void, delayMs: number): Timer {
    return this.#world.after(delayMs / this.#rate, run, this.#host);
  }

  defer(run: () => void): void {
    this.#world.after(0, run, this.#host);
  }
}
