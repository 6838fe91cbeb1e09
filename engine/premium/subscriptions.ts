import {
  type Entitlement,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  SUBSCRIPTION_STATUS as STATUS,
  type Subscription,
} from '../../protocol/premium.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import { ended, renewed, shownEnd } from './ending.ts';
import type { PremiumFact } from './premium.ts';

type Decision = Outcome<null, PremiumFact>;

const DAY_MS = 86_400_000;
/** Entitlements that a subscription names; older ones remain, unnamed. */
const NAMED_MAX = 100;

const subscriptionWritten = (subscription: Subscription): PremiumFact => ({
  type: 'subscriptionWritten',
  subscription,
  change: 'UPDATE',
});

/**
 * A subscription begins, with an entitlement that has no end while it runs.
 *
 * @source https://docs.discord.com/developers/resources/subscription#subscription-object
 */
export function begin(given: Entitlement, days: number, env: Env): Decision {
  const { nowMs, nextId } = env;
  const id = nextId();
  const { applicationId, userId, guildId, skuId } = given;
  const periodMs = days * DAY_MS;
  const entitlement = { ...given, subscriptionId: id, endsMs: shownEnd(nowMs + periodMs, env) };
  const subscription: Subscription = {
    ...{ id, applicationId, userId, guildId, skuId, renewalSkuId: null, entitlementIds: [given.id] },
    ...{ periodStartMs: nowMs, periodEndMs: nowMs + periodMs, periodMs },
    ...{ status: STATUS.ACTIVE, canceledMs: null },
  };
  return accepted(null, [
    { type: 'subscriptionWritten', subscription, change: 'CREATE' },
    { type: 'entitlementWritten', entitlement, change: 'CREATE' },
  ]);
}

/**
 * Access remains until the period ends, unless the subscription is to end at once. What is due is settled first, so that the
 * period is the one in which the request was made.
 */
export function cancel(before: Subscription, last: Entitlement, atOnce: boolean, env: Env): Decision {
  const due = settled(before, last, env);
  const { subscription, entitlement } = due;
  const { nowMs } = env;
  if (subscription.status === STATUS.INACTIVE) return accepted(null, due.facts);
  const canceledMs = subscription.canceledMs ?? nowMs;
  const next = { ...subscription, canceledMs, renewalSkuId: null };
  if (atOnce) {
    const endsMs = Math.max(nowMs, subscription.periodStartMs);
    const over = subscriptionWritten({ ...next, status: STATUS.INACTIVE, periodEndMs: endsMs });
    return accepted(null, [...due.facts, over, ended(entitlement, endsMs)]);
  }
  if (subscription.status === STATUS.ENDING) return accepted(null, due.facts);
  const until = { ...entitlement, untilMs: subscription.periodEndMs };
  return accepted(null, [
    ...due.facts,
    subscriptionWritten({ ...next, status: STATUS.ENDING }),
    // The application receives an update when the subscription ends.
    { type: 'entitlementWritten', entitlement: until, change: null },
  ]);
}

/** Ends a subscription whose entitlement is taken back, also where a period that is over has not been settled. */
export function endedAtOnce(
  subscription: Subscription,
  { nowMs }: Pick<Env, 'nowMs'>,
): readonly PremiumFact[] {
  if (subscription.status === STATUS.INACTIVE) return [];
  return [
    subscriptionWritten({
      ...subscription,
      ...{ status: STATUS.INACTIVE, renewalSkuId: null, canceledMs: subscription.canceledMs ?? nowMs },
      periodEndMs: Math.max(nowMs, subscription.periodStartMs),
    }),
  ];
}

/** Changes the SKU from the next period on. Naming the current SKU cancels that change. */
export function change(subscription: Subscription, sku: Sku): Decision {
  const receiver = subscription.guildId === null ? SKU_FLAG.USER : SKU_FLAG.GUILD;
  if (sku.type !== SKU_TYPE.SUBSCRIPTION || (sku.flags & receiver) === 0)
    return refused(refusal('INVALID_SKU'));
  if (subscription.status !== STATUS.ACTIVE) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  const renewalSkuId = sku.id === subscription.skuId ? null : sku.id;
  if (renewalSkuId !== null && (sku.flags & SKU_FLAG.AVAILABLE) === 0) return refused(refusal('INVALID_SKU'));
  if (renewalSkuId === subscription.renewalSkuId) return accepted(null);
  return accepted(null, [subscriptionWritten({ ...subscription, renewalSkuId })]);
}

/** Applies what is due: the subscription is renewed or ends. */
export function settle(subscription: Subscription, last: Entitlement, env: Env): Decision {
  return accepted(null, settled(subscription, last, env).facts);
}

interface Settled {
  readonly subscription: Subscription;
  /** The one that gives access. */
  readonly entitlement: Entitlement;
  readonly facts: readonly PremiumFact[];
}

function settled(subscription: Subscription, entitlement: Entitlement, env: Env): Settled {
  const { status, periodEndMs, periodMs, orderId } = subscription;
  // A bought subscription is renewed by its payment alone.
  if (orderId !== undefined) return { subscription, entitlement, facts: [] };
  if (status === STATUS.INACTIVE || env.nowMs < periodEndMs) return { subscription, entitlement, facts: [] };
  if (status === STATUS.ENDING) {
    const over = { ...subscription, status: STATUS.INACTIVE };
    return {
      subscription: over,
      entitlement,
      facts: [subscriptionWritten(over), ended(entitlement, periodEndMs)],
    };
  }
  // Periods that passed unseen, as while no process ran, are renewed together.
  const passed = Math.floor((env.nowMs - periodEndMs) / periodMs);
  const periodStartMs = periodEndMs + passed * periodMs;
  const moved = { ...subscription, periodStartMs, periodEndMs: periodStartMs + periodMs };
  const { renewalSkuId } = subscription;
  if (renewalSkuId === null) {
    const extended = renewed(entitlement, moved.periodEndMs, env);
    return {
      subscription: moved,
      entitlement: extended?.entitlement ?? entitlement,
      facts: [subscriptionWritten(moved), ...(extended ? [extended] : [])],
    };
  }
  const next: Entitlement = {
    ...entitlement,
    ...{ id: env.nextId(), skuId: renewalSkuId, startsMs: periodEndMs, untilMs: null },
    endsMs: shownEnd(moved.periodEndMs, env),
  };
  const entitlementIds = [...subscription.entitlementIds, next.id].slice(-NAMED_MAX);
  const changed = { ...moved, skuId: renewalSkuId, renewalSkuId: null, entitlementIds };
  return {
    subscription: changed,
    entitlement: next,
    facts: [
      subscriptionWritten(changed),
      ended(entitlement, periodEndMs),
      { type: 'entitlementWritten', entitlement: next, change: 'CREATE' },
    ],
  };
}
