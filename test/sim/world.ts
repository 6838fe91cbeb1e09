import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { Random } from '../fuzz/random.ts';

/** Unix milliseconds at which every run begins. */
/** The date at which a simulation begins, Unix milliseconds. */
export const STARTED_MS = 1_700_000_000_000;
/** Steps between two turns of the real event loop, which keep the program that runs the simulation responsive. */
const BREATH_STEPS = 20_000;
const TRACE_MAX = 3_000;

/** A process of the simulated world: its steps wait while it is paused, and never run once it is dead. */
export class Host {
  readonly name: string;
  alive = true;
  /** End of its pause, milliseconds of the world. */
  stoppedUntilMs = 0;
  /** Steps that were due during the pause. */
  readonly held: Step[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

interface Step {
  atMs: number;
  readonly order: number;
  /** Null for steps outside of all processes: the network, the database, the checks. */
  readonly host: Host | null;
  run: (() => void) | null;
}

const isBefore = (a: Step, b: Step): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/**
 * Time and chance of one run. Every event is a step of one queue, ordered by time; between two steps every promise that can
 * continue has continued, so that a run is determined by its seed alone.
 */
export class World {
  readonly random: Random;
  /** Milliseconds since the run began. */
  nowMs = 0;
  steps = 0;
  /** Hash of all events: equal for two runs of one seed. */
  fingerprint = 0;
  readonly #queue: Step[] = [];
  #order = 0;
  readonly #trace: string[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** Schedules a step. @returns a timer that cancels it. */
  after(delayMs: number, run: () => void, host: Host | null = null): Timer {
    const step: Step = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, host, run };
    this.#push(step);
    return {
      cancel: () => {
        step.run = null;
      },
    };
  }

  /** Pauses the process from now on, for at least `forMs`. */
  stop(host: Host, forMs: number): void {
    host.stoppedUntilMs = Math.max(host.stoppedUntilMs, this.nowMs + forMs);
    this.after(forMs, () => this.#wake(host));
  }

  /** Resumes the process if it is paused. */
  resume(host: Host): void {
    host.stoppedUntilMs = 0;
    this.#wake(host);
  }

  #wake(host: Host): void {
    if (host.stoppedUntilMs > this.nowMs) return;
    // In the order in which the steps were due, and before all later steps.
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

  /** Adds a line to the trace, which explains a failed run. */
  note(line: string): void {
    this.#trace.push(`${(this.nowMs / 1000).toFixed(4).padStart(9)}  ${line}`);
    if (this.#trace.length > TRACE_MAX * 2) this.#trace.splice(0, TRACE_MAX);
  }

  get trace(): readonly string[] {
    return this.#trace.slice(-TRACE_MAX);
  }

  /** Runs steps until `done`, or until `untilMs`. Rejects with the error of a step. */
  run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let breath = BREATH_STEPS;
      // Runs from the tick queue, which continues only when no microtask is left.
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

  /** Runs the next step. @returns false when no step is due until then. */
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

/** The clock of one process: it starts with the process, may be off, and may run slightly fast or slow. */
export class HostClock implements Clock {
  readonly #world: World;
  readonly #host: Host;
  readonly #begunMs: number;
  readonly #rate: number;
  #preemption: { reads: number; readonly forMs: number } | null = null;
  /** The offset of its date. */
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
