import type { Clock, Timer } from './clock.ts';

/** The wheel as the rest of the engine uses it. */
export type Wheel = Pick<TimerWheel, 'add' | 'after' | 'pause'>;

/**
 * A hashed timer wheel: one clock timer for any number of waits. Adding and cancelling are O(1); a tick costs the due
 * waits plus those in the same slot. Waits end at the first tick at or after their time, so they are late by at most
 * one tick and never early. The wheel ticks only while there are waits.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #slots: (Wait | null)[];
  readonly #startedMs: number;
  /** The tick up to which every slot has been run, counted from the start. */
  #now = 0;
  #size = 0;
  #timer: Timer | null = null;
  #stopped = false;
  readonly #pauses = new Set<() => void>();

  constructor(clock: Clock, tickMs = 50, slots = 1024) {
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
    this.#tickMs = tickMs;
    this.#slots = new Array<Wait | null>(slots).fill(null);
  }

  /** Number of waits that have neither ended nor been cancelled. */
  get size(): number {
    return this.#size;
  }

  /** Calls `run` once, `delayMs` from now. For callers that may end before the wheel and then cancel the wait. */
  add(run: () => void, delayMs: number): Timer {
    if (this.#stopped) return STOPPED;
    const elapsedMs = this.#clock.monotonic() - this.#startedMs;
    if (this.#size === 0) this.#now = Math.max(this.#now, Math.floor(elapsedMs / this.#tickMs));
    const due = Math.max(this.#now + 1, Math.ceil((elapsedMs + Math.max(0, delayMs)) / this.#tickMs));
    const slot = due % this.#slots.length;
    const wait = new Wait(this, run, due, slot, this.#slots[slot] ?? null);
    if (wait.next) wait.next.previous = wait;
    this.#slots[slot] = wait;
    this.#size += 1;
    this.#timer ??= this.#clock.setTimer(this.#tick, this.#tickMs);
    return wait;
  }

  /**
   * Like `add`, for callers that live as long as the wheel: nothing cancels the wait, and it ends with the wheel at the
   * latest.
   */
  after(run: () => void, delayMs: number): void {
    void this.add(run, delayMs);
  }

  /** Resolves with true after `delayMs`, or with false as soon as the wheel stops. For loops, which then end. */
  pause(delayMs: number): Promise<boolean> {
    if (this.#stopped) return Promise.resolve(false);
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#pauses.delete(wake);
        resolve(!this.#stopped);
      };
      this.#pauses.add(wake);
      this.after(wake, delayMs);
    });
  }

  /** Drops all waits, ends all pauses and rejects new ones. */
  stop(): void {
    this.#stopped = true;
    for (const wake of [...this.#pauses]) wake();
    this.#slots.fill(null);
    this.#size = 0;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** @internal Called by a wait that is cancelled. */
  remove(wait: Wait): void {
    if (wait.previous) wait.previous.next = wait.next;
    else if (this.#slots[wait.slot] === wait) this.#slots[wait.slot] = wait.next;
    else return;
    if (wait.next) wait.next.previous = wait.previous;
    wait.next = null;
    wait.previous = null;
    this.#size -= 1;
  }

  #tick = (): void => {
    this.#timer = null;
    const target = Math.floor((this.#clock.monotonic() - this.#startedMs) / this.#tickMs);
    // After a long pause, one round over the slots finds all due waits.
    this.#now = Math.max(this.#now, target - this.#slots.length);
    while (this.#now < target && this.#size > 0) {
      this.#now += 1;
      this.#runSlot(this.#now % this.#slots.length, target);
    }
    this.#now = Math.max(this.#now, target);
    if (this.#size > 0) this.#timer ??= this.#clock.setTimer(this.#tick, this.#tickMs);
  };

  #runSlot(slot: number, target: number): void {
    const due: Wait[] = [];
    for (let wait = this.#slots[slot] ?? null; wait; wait = wait.next) if (wait.due <= target) due.push(wait);
    for (const wait of due) if (wait.cancel()) wait.run();
  }
}

/** The wait of a stopped wheel. */
const STOPPED: Timer = { cancel: () => undefined };

class Wait implements Timer {
  previous: Wait | null = null;
  next: Wait | null;
  readonly run: () => void;
  readonly due: number;
  readonly slot: number;
  #wheel: TimerWheel | null;

  constructor(wheel: TimerWheel, run: () => void, due: number, slot: number, next: Wait | null) {
    this.#wheel = wheel;
    this.run = run;
    this.due = due;
    this.slot = slot;
    this.next = next;
  }

  /** True when the wait had not ended. */
  cancel(): boolean {
    if (!this.#wheel) return false;
    this.#wheel.remove(this);
    this.#wheel = null;
    return true;
  }
}
