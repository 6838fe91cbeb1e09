import type { Routing } from '../../actors/placement/routing.ts';
import type { PremiumStore } from '../../storage/premium/port.ts';
import { DueClock, type DueClockPorts } from '../dueclock.ts';
import type { Payments } from './payments.ts';

interface SubscriptionClockPorts extends DueClockPorts {
  readonly store: Pick<PremiumStore, 'due' | 'nextDueMs' | 'forgetOrders'>;
  readonly settle: Payments['settle'];
  /** Applies the perks of all entitlements again, because a crash may have separated a purchase from its perks. */
  applyPerks(): Promise<void>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
}

/** Subscriptions read together. */
const PAGE = 500;
/**
 * An unpaid order of this age is deleted: a page of Stripe's is open for a day, and its slowest ways to pay take two
 * weeks.
 */
const ORDER_MS = 30 * 86_400_000;
/** Interval between two deletions of such orders, and between two applications of all perks. */
const HOURLY_MS = 3_600_000;

/** Renews and ends subscriptions at their times. Access ends by itself: it does not wait for this clock. */
export function createSubscriptionClock(ports: SubscriptionClockPorts): DueClock {
  const { store, routing, scope, nowMs, settle, applyPerks } = ports;
  let hourlyMs = Number.NEGATIVE_INFINITY;

  /** Settles one page of the subscriptions that are due. The next check, after the shortest time, settles the next page. */
  async function settleAll(): Promise<void> {
    for (const { applicationId, id } of await store.due(nowMs(), PAGE)) {
      if (scope.over) return;
      if (!routing.owns(applicationId)) continue;
      try {
        await settle(applicationId, id);
      } catch (error) {
        clock.report(error);
      }
    }
  }

  /** Deletes a page of unpaid orders, more an hour later, and applies perks again. */
  async function tidy(): Promise<void> {
    if (scope.over || nowMs() < hourlyMs) return;
    hourlyMs = nowMs() + HOURLY_MS;
    await store.forgetOrders(nowMs() - ORDER_MS, PAGE);
    await applyPerks();
  }

  const clock: DueClock = new DueClock({
    ...ports,
    async work() {
      await settleAll();
      await tidy();
    },
    nextDueMs: () => store.nextDueMs(),
  });
  return clock;
}
