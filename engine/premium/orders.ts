import type { SkuId, UserId } from '../../protocol/ids.ts';
import { type Billing, type Entitlement, type Order, SKU_TYPE } from '../../protocol/premium.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, refused } from '../kernel/aggregate.ts';
import { begun } from './billing.ts';
import type { PremiumFact } from './premium.ts';
import { type Decision, obtainable, type Shelf } from './shelf.ts';

/** How long an open order is reused. A provider's payment page is valid for a day. */
const REUSED_MS = 23 * 3_600_000;

const written = (order: Order): PremiumFact => ({ type: 'orderWritten', order });

/** A repeated request within a day returns the same order, so pressing a button twice makes one payment. */
export function orderOf(
  shelf: Shelf,
  { skuId, to, payerId }: { readonly skuId: SkuId; readonly to: Order['to']; readonly payerId: UserId },
  env: Env,
): Decision {
  const found = obtainable(shelf, { skuId, to, isTest: false }, env);
  if (!found.ok) return refused(found.refusal);
  const { price } = found.sku;
  if (!price) return refused(refusal('INVALID_SKU'));
  const { order: open, applicationId } = shelf;
  const isSame =
    open !== null &&
    env.nowMs - open.createdMs < REUSED_MS &&
    open.price.amount === price.amount &&
    open.price.currency === price.currency &&
    open.price.days === price.days;
  if (isSame) return accepted(null, [written(open)]);
  return accepted(null, [
    written({
      ...{ id: env.nextId(), applicationId, skuId, payerId, to, price, createdMs: env.nowMs, state: 'open' },
      ...{ paymentId: null, billingId: null, entitlementId: null, subscriptionId: null },
    }),
  ]);
}

/** An order grants once, however often the provider reports the payment, and never after a refund. */
export function paid(
  shelf: Shelf,
  { paymentId, billing }: { readonly paymentId: string | null; readonly billing: Billing | null },
  env: Env,
): Decision {
  const { order } = shelf;
  if (!order) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  if (order.state !== 'open') return accepted(null);
  const known = { ...order, paymentId, billingId: billing?.id ?? null };
  // Withdrawing a SKU does not take away what was ordered before, but a second one of the same thing is too much.
  const sku = shelf.skus.find(({ id }) => id === order.skuId);
  const isHeld = shelf.held.some(
    ({ deleted, consumed, untilMs }) => !deleted && !consumed && (untilMs ?? Infinity) > env.nowMs,
  );
  if (!sku || (isHeld && sku.type !== SKU_TYPE.CONSUMABLE))
    return accepted(null, [written({ ...known, state: 'surplus' })]);
  const entitlement: Entitlement = {
    ...{ id: env.nextId(), applicationId: shelf.applicationId, skuId: sku.id, ...order.to },
    gifterId: order.to.userId === order.payerId ? null : order.payerId,
    ...{ test: false, startsMs: env.nowMs, endsMs: null, untilMs: null, deleted: false, consumed: false },
    ...{ subscriptionId: null, orderId: order.id },
  };
  if (billing !== null) {
    const { facts, subscriptionId } = begun(entitlement, billing, order, env);
    return accepted(null, [
      ...facts,
      written({ ...known, state: 'paid', entitlementId: entitlement.id, subscriptionId }),
    ]);
  }
  return accepted(null, [
    { type: 'entitlementWritten', entitlement, change: 'CREATE' },
    written({ ...known, state: 'paid', entitlementId: entitlement.id }),
  ]);
}

/** Accepts an order that is not yet reported as paid: events may arrive in any order. @param takenBack What it granted. */
export function refunded({ order, entitlement }: Shelf, takenBack: Decision): Decision {
  if (!order) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  if (order.state === 'refunded') return accepted(null);
  const facts = entitlement && takenBack.ok ? takenBack.facts : [];
  return accepted(null, [...facts, written({ ...order, state: 'refunded' })]);
}
