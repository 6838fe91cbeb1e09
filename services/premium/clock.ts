import type { Routing } from '../../actors/placement/routing.ts';
import type { Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { PremiumStore } from '../../storage/premium/port.ts';
import type { Payments } from './payments.ts';

interface SubscriptionClockPorts {
  readonly store: Pick<PremiumStore, 'due' | 'nextDueMs' | 'forgetOrders'>;
  readonly settle: Payments['settle'];
  /** Applies the perks of all entitlements again, because a crash may have separated a purchase from its perks. */
  applyPerks(): Promise<void>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
  readonly wheel: Wheel;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

/** Subscriptions read together. */
const PAGE = 500;
/** Checks at least this often, because another shard may have left an application. */
const INTERVAL_MS = 60_000;
/**
 * An unpaid order of this age is deleted: a page of Stripe's is open for a day, and its slowest ways to pay take two
 * weeks.
 */
const ORDER_MS = 30 * 86_400_000;
/** Interval between two deletions of such orders, and between two applications of all perks. */
const HOURLY_MS = 3_600_000;
/** The shortest time between two looks, also after a fault. */
const REST_MS = 1_000;

/**
 * Renews and ends subscriptions at their times. The times are in the database, so they survive a crash and a change of owner;
 * only the next one is awaited here. Access ends by itself: it does not wait for this clock.
 */
export class SubscriptionClock {
  readonly #ports: SubscriptionClockPorts;
  /** Time of the next look, Unix milliseconds, and its timer. */
  #nextMs = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #hourlyMs = Number.NEGATIVE_INFINITY;
  #looking = false;
  #over = false;

  constructor(ports: SubscriptionClockPorts) {
    this.#ports = ports;
  }

  /** Looks for what became due while no process ran, and after each change of ownership. */
  start(): void {
    const { routing, nowMs } = this.#ports;
    routing.onMoved(() => this.#schedule(nowMs()));
    this.#schedule(nowMs());
  }

  /** Looks at once: the time was moved. */
  look(): void {
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#schedule(this.#ports.nowMs());
  }

  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #schedule(atMs: number): void {
    if (this.#over || atMs >= this.#nextMs) return;
    this.#nextMs = atMs;
    this.#timer?.cancel();
    const { wheel, nowMs } = this.#ports;
    this.#timer = wheel.add(() => void this.#look(), atMs - nowMs());
  }

  async #look(): Promise<void> {
    const { store, nowMs, onFault } = this.#ports;
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#timer = null;
    if (this.#looking) return this.#schedule(nowMs() + REST_MS);
    this.#looking = true;
    try {
      await this.#settleAll();
      await this.#tidy();
      const nextMs = this.#over ? null : await store.nextDueMs();
      this.#schedule(Math.max(nowMs() + REST_MS, Math.min(nextMs ?? Infinity, nowMs() + INTERVAL_MS)));
    } catch (error) {
      if (!this.#over) onFault(error);
      this.#schedule(nowMs() + REST_MS);
    } finally {
      this.#looking = false;
    }
  }

  /** Deletes a page of unpaid orders, more an hour later, and applies perks again. */
  async #tidy(): Promise<void> {
    const { store, nowMs } = this.#ports;
    if (this.#over || nowMs() < this.#hourlyMs) return;
    this.#hourlyMs = nowMs() + HOURLY_MS;
    await store.forgetOrders(nowMs() - ORDER_MS, PAGE);
    await this.#ports.applyPerks();
  }

  /** One page of those due; a fuller table has its turn at the next look, after the shortest time. */
  async #settleAll(): Promise<void> {
    const { store, routing, nowMs, settle, onFault } = this.#ports;
    for (const { applicationId, id } of await store.due(nowMs(), PAGE)) {
      if (this.#over) return;
      if (!routing.owns(applicationId)) continue;
      try {
        await settle(applicationId, id);
      } catch (error) {
        if (!this.#over) onFault(error);
      }
    }
  }
}
