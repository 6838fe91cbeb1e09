import type { Routing } from '../actors/placement/routing.ts';
import type { Lifetime, Timer } from '../actors/runtime/clock.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';

export interface DueClockPorts {
  readonly routing: Pick<Routing, 'onMoved'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

interface DueWork {
  /** Does the work that is due, and stops early when the scope ends. */
  work(): Promise<void>;
  /** When something is due next, Unix milliseconds; null for never. */
  nextDueMs(): Promise<number | null>;
}

/** The longest time between two checks, because another shard may have left work. */
const INTERVAL_MS = 60_000;
/** The shortest time between two checks, also after a fault. */
const REST_MS = 1_000;

/**
 * Does work at times that are stored in the database, so that they survive a crash and a change of owner; only the next time
 * is awaited here. One run at a time.
 */
export class DueClock {
  readonly #ports: DueClockPorts & DueWork;
  /** Time of the next check, Unix milliseconds, and its timer. */
  #nextMs = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #looking = false;

  constructor(ports: DueClockPorts & DueWork) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  /** Checks for work that became due while no process ran, and again after each change of ownership. */
  start(): void {
    const { routing, nowMs } = this.#ports;
    routing.onMoved(() => this.schedule(nowMs()));
    this.schedule(nowMs());
  }

  /** Something is due at this time, Unix milliseconds. */
  schedule(atMs: number): void {
    if (this.#ports.scope.over || atMs >= this.#nextMs) return;
    this.#nextMs = atMs;
    this.#timer?.cancel();
    const { wheel, nowMs } = this.#ports;
    this.#timer = wheel.add(() => void this.#look(), atMs - nowMs());
  }

  /** Checks at once: the clock was moved. */
  look(): void {
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.schedule(this.#ports.nowMs());
  }

  /** Reports a fault of one piece of work, unless the scope has ended. */
  report(error: unknown): void {
    if (!this.#ports.scope.over) this.#ports.onFault(error);
  }

  async #look(): Promise<void> {
    const { nowMs, scope } = this.#ports;
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#timer = null;
    if (this.#looking) return this.schedule(nowMs() + REST_MS);
    this.#looking = true;
    try {
      await this.#ports.work();
      const nextMs = scope.over ? null : await this.#ports.nextDueMs();
      this.schedule(Math.max(nowMs() + REST_MS, Math.min(nextMs ?? Infinity, nowMs() + INTERVAL_MS)));
    } catch (error) {
      this.report(error);
      this.schedule(nowMs() + REST_MS);
    } finally {
      this.#looking = false;
    }
  }
}
