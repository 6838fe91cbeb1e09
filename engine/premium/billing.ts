import type { SubscriptionId } from '../../protocol/ids.ts';
import {
  type Billing,
  type Entitlement,
  type Order,
  SUBSCRIPTION_STATUS as STATUS,
  type Subscription,
} from '../../protocol/premium.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, refused } from '../kernel/aggregate.ts';
import { ended, renewed, shownEnd } from './ending.ts';
import type { PremiumFact } from './premium.ts';
import type { Decision, Shelf } from './shelf.ts';

/**
 * Access goes on for so long while a renewal is being collected: Stripe collects it an hour after the period began.
 *
 * @source https://docs.stripe.com/billing/invoices/subscription
 */
const GRACE_MS = 3 * 3_600_000;

/** Entitlements that a subscription names; older ones remain, unnamed. */
const NAMED_MAX = 100;

/** When access ends unless the provider says something else before. */
const untilOf = ({ state, paidUntilMs }: Billing): number =>
  state === 'running' ? paidUntilMs + GRACE_MS : paidUntilMs;

/** When the provider is asked next. */
const checkAt = (billing: Billing, nowMs: number): number =>
  nowMs < billing.paidUntilMs ? billing.paidUntilMs : untilOf(billing);

const subscriptionWritten = (
  subscription: Subscription,
  change: 'CREATE' | 'UPDATE' | null,
): PremiumFact => ({
  type: 'subscriptionWritten',
  subscription,
  change,
});

/** A subscription that was bought begins. */
export function begun(
  entitlement: Entitlement,
  billing: Billing,
  order: Order,
  env: Env,
): { readonly facts: readonly PremiumFact[]; readonly subscriptionId: SubscriptionId } {
  const { nowMs } = env;
  const id = env.nextId();
  const { applicationId, userId, guildId, skuId } = entitlement;
  const { periodStartMs, periodEndMs } = billing;
  const subscription: Subscription = {
    ...{ id, applicationId, userId, guildId, skuId, renewalSkuId: null, entitlementIds: [entitlement.id] },
    ...{ periodStartMs, periodEndMs, periodMs: periodEndMs - periodStartMs },
    ...{ status: STATUS.ACTIVE, canceledMs: null, orderId: order.id, checkMs: checkAt(billing, nowMs) },
  };
  const endsMs = shownEnd(periodEndMs, env);
  const given = { ...entitlement, subscriptionId: id, endsMs, untilMs: untilOf(billing) };
  return {
    facts: [
      subscriptionWritten(subscription, 'CREATE'),
      { type: 'entitlementWritten', entitlement: given, change: 'CREATE' },
    ],
    subscriptionId: id,
  };
}

/** Makes a subscription what its provider says it is. Repeating it changes nothing. */
export function follow({ order, subscription, entitlement }: Shelf, billing: Billing, env: Env): Decision {
  if (!order || !subscription || !entitlement) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  const isOver = billing.state === 'over' || env.nowMs >= untilOf(billing);
  const wasOver = subscription.status === STATUS.INACTIVE;
  if (order.state === 'refunded' || (isOver && wasOver)) return accepted(null);
  if (isOver) return accepted(null, over(subscription, entitlement, billing));
  const isNewPeriod = billing.periodStartMs > subscription.periodStartMs;
  const isOtherSku = billing.skuId !== subscription.skuId;
  // A renewal that was paid late, or the change to another SKU, begins another entitlement.
  const begins = wasOver || (isOtherSku && isNewPeriod);
  const skuId = begins ? billing.skuId : subscription.skuId;
  const next: Subscription = {
    ...subscription,
    ...{ skuId, renewalSkuId: billing.skuId === skuId ? null : billing.skuId },
    ...{ periodStartMs: billing.periodStartMs, periodEndMs: billing.periodEndMs },
    status: billing.state === 'ending' ? STATUS.ENDING : STATUS.ACTIVE,
    canceledMs: billing.state === 'ending' ? (subscription.canceledMs ?? env.nowMs) : null,
    checkMs: checkAt(billing, env.nowMs),
  };
  const untilMs = untilOf(billing);
  if (!begins) {
    const until = { ...entitlement, untilMs };
    const extended = isNewPeriod ? renewed(until, billing.periodEndMs, env) : null;
    const moved: PremiumFact[] =
      untilMs === entitlement.untilMs
        ? []
        : [{ type: 'entitlementWritten', entitlement: until, change: null }];
    return accepted(null, [...changed(subscription, next), ...(extended ? [extended] : moved)]);
  }
  const startsMs = Math.max(billing.periodStartMs, entitlement.startsMs ?? 0, entitlement.endsMs ?? 0);
  const endsMs = shownEnd(billing.periodEndMs, env);
  const begun: Entitlement = { ...entitlement, id: env.nextId(), skuId, startsMs, endsMs, untilMs };
  const entitlementIds = [...subscription.entitlementIds, begun.id].slice(-NAMED_MAX);
  return accepted(null, [
    subscriptionWritten({ ...next, entitlementIds }, 'UPDATE'),
    ...(wasOver ? [] : [ended(entitlement, startsMs)]),
    { type: 'entitlementWritten', entitlement: begun, change: 'CREATE' },
  ]);
}

/** Facts of a change; its application is notified unless only the time of the next check changed. */
function changed(before: Subscription, next: Subscription): PremiumFact[] {
  const isVisible = JSON.stringify({ ...before, checkMs: 0 }) !== JSON.stringify({ ...next, checkMs: 0 });
  if (isVisible) return [subscriptionWritten(next, 'UPDATE')];
  return before.checkMs === next.checkMs ? [] : [subscriptionWritten(next, null)];
}

/** Access ended when it was to end, or earlier when the provider ended the subscription at once. */
function over(subscription: Subscription, entitlement: Entitlement, billing: Billing): PremiumFact[] {
  const atMs = Math.min(
    billing.state === 'over' ? (billing.endedMs ?? Infinity) : Infinity,
    entitlement.untilMs ?? Infinity,
    untilOf(billing),
  );
  const endsMs = Math.max(atMs, entitlement.startsMs ?? 0);
  const canceledMs = subscription.canceledMs ?? endsMs;
  const last = { ...subscription, status: STATUS.INACTIVE, renewalSkuId: null, canceledMs };
  return [subscriptionWritten(last, 'UPDATE'), ended(entitlement, endsMs)];
}

/** Without the provider that sold the subscription, it lasts until the end of the paid period. */
export function lapse(subscription: Subscription, entitlement: Entitlement, { nowMs }: Env): Decision {
  const untilMs = entitlement.untilMs ?? subscription.periodEndMs;
  if (subscription.status === STATUS.INACTIVE) return accepted(null);
  if (nowMs >= untilMs) {
    const last = { ...subscription, status: STATUS.INACTIVE, renewalSkuId: null };
    return accepted(null, [
      subscriptionWritten({ ...last, canceledMs: subscription.canceledMs ?? untilMs }, 'UPDATE'),
      ended(entitlement, untilMs),
    ]);
  }
  if ((subscription.checkMs ?? 0) > nowMs) return accepted(null);
  return accepted(null, [subscriptionWritten({ ...subscription, checkMs: untilMs }, null)]);
}
