import { isApplicationId, isSkuId, isSnowflake } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import type { Billing, Order, Price } from '../../protocol/premium.ts';
import type { Notice, Offer, PaymentProvider } from '../../services/premium/payments.ts';
import { type StripeCall, StripeFault, type StripeObject } from './stripe.http.ts';

/** Metadata that this server writes into Stripe objects to recognise them. */
const [ORDER, APPLICATION, SKU] = ['guildhall_order', 'guildhall_application', 'guildhall_sku'] as const;

interface StripePorts {
  readonly call: StripeCall;
  /** Base URL of this server for clients, without a trailing slash. */
  publicUrl(): string;
}

/**
 * Stripe: Checkout takes the payment on its own page, Billing renews subscriptions. No data of a card comes here.
 *
 * @source https://docs.stripe.com/payments/checkout; https://docs.stripe.com/billing/subscriptions/overview
 */
export const createStripe = ({ call, publicUrl }: StripePorts): PaymentProvider => ({
  async begin(order, offer) {
    const page = await call(
      'POST',
      '/v1/checkout/sessions',
      sessionOf(order, offer, publicUrl()),
      keyOf('order', order.id),
    );
    return httpsUrl(page.url);
  },

  async payment(pageId) {
    const page = await call('GET', `/v1/checkout/sessions/${idOf(pageId)}`);
    const isPaid = page.payment_status === 'paid' || page.payment_status === 'no_payment_required';
    if (page.status !== 'complete' || !isPaid) return null;
    return { paymentId: reference(page.payment_intent), billingId: reference(page.subscription) };
  },

  async billing(id) {
    return billingOf(await call('GET', `/v1/subscriptions/${idOf(id)}`, { 'expand[]': 'latest_invoice' }));
  },

  async isRefunded(chargeId) {
    return (await call('GET', `/v1/charges/${idOf(chargeId)}`)).refunded === true;
  },

  async refund(order) {
    // No renewal comes between the last payment and its return.
    if (order.billingId !== null) await stop(call, order.billingId, true);
    const payment = order.paymentId ?? (await latestPayment(call, order));
    if (payment === null) return;
    const key = keyOf('refund', order.id);
    await done(call('POST', '/v1/refunds', { payment_intent: payment }, key), 'charge_already_refunded');
  },

  stop: (billingId, atOnce) => stop(call, billingId, atOnce),

  async change(billingId, { skuId, name, price }) {
    const { items } = await call('GET', `/v1/subscriptions/${idOf(billingId)}`);
    const item = isRecord(items) && Array.isArray(items.data) ? items.data[0] : null;
    if (!isRecord(item)) throw new StripeFault('The subscription has no item.');
    const product = await productOf(call, skuId, name);
    await call('POST', `/v1/subscriptions/${idOf(billingId)}`, {
      'items[0][id]': idOf(item.id),
      ...priceFields('items[0][price_data]', price, true),
      'items[0][price_data][product]': product,
      // The present period is paid; the next one costs what the other SKU costs.
      proration_behavior: 'none',
      [`metadata[${SKU}]`]: skuId,
    });
  },
});

const keyOf = (what: string, id: string): string => `guildhall-${what}-${id}`;

const priceFields = (at: string, { amount, currency, days }: Price, isSubscription: boolean) => ({
  [`${at}[currency]`]: currency,
  [`${at}[unit_amount]`]: amount,
  ...(isSubscription && {
    [`${at}[recurring][interval]`]: 'day',
    [`${at}[recurring][interval_count]`]: days,
  }),
});

function sessionOf(order: Order, { name, isSubscription, price, skuId }: Offer, publicUrl: string) {
  const store = `${publicUrl}/store/${order.applicationId}`;
  const marks = [
    [ORDER, order.id],
    [APPLICATION, order.applicationId],
    [SKU, skuId],
  ] as const;
  const marked = (at: string) => Object.fromEntries(marks.map(([mark, value]) => [`${at}[${mark}]`, value]));
  return {
    mode: isSubscription ? 'subscription' : 'payment',
    'line_items[0][quantity]': 1,
    'line_items[0][price_data][product_data][name]': name,
    ...priceFields('line_items[0][price_data]', price, isSubscription),
    client_reference_id: order.id,
    success_url: `${store}?paid=1`,
    cancel_url: store,
    ...marked('metadata'),
    ...marked(isSubscription ? 'subscription_data[metadata]' : 'payment_intent_data[metadata]'),
  };
}

/** @source https://docs.stripe.com/api/subscriptions/object */
function billingOf(subscription: StripeObject): Billing {
  const { id, status, items, metadata, latest_invoice: invoice, cancel_at: cancelAt } = subscription;
  const item = isRecord(items) && Array.isArray(items.data) ? items.data[0] : null;
  const skuId = isRecord(metadata) ? metadata[SKU] : null;
  if (!isRecord(item) || !isSkuId(skuId)) throw new StripeFault('The subscription is not one of ours.');
  const [periodStartMs, periodEndMs] = [msOf(item.current_period_start), msOf(item.current_period_end)];
  const isPaid =
    isRecord(invoice) && invoice.status === 'paid' && (status === 'active' || status === 'trialing');
  const cancelMs = typeof cancelAt === 'number' ? msOf(cancelAt) : Infinity;
  const endMs = Math.min(periodEndMs, cancelMs);
  const isEnding = subscription.cancel_at_period_end === true || cancelMs <= periodEndMs;
  const isOver = status === 'canceled' || status === 'incomplete_expired';
  return {
    id: idOf(id),
    state: isOver ? 'over' : isEnding ? 'ending' : 'running',
    ...{ skuId, periodStartMs, periodEndMs },
    paidUntilMs: isPaid || isOver ? endMs : periodStartMs,
    endedMs: typeof subscription.ended_at === 'number' ? msOf(subscription.ended_at) : null,
  };
}

function stop(call: StripeCall, billingId: string, atOnce: boolean): Promise<void> {
  const path = `/v1/subscriptions/${idOf(billingId)}`;
  return done(
    atOnce ? call('DELETE', path) : call('POST', path, { cancel_at_period_end: true }),
    'resource_missing',
  );
}

/** Waits for a call; a refusal with this code says that it has been done before. */
async function done(call: Promise<unknown>, code: string): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof StripeFault) || error.code !== code) throw error;
  }
}

/** The latest payment for a subscription. */
async function latestPayment(call: StripeCall, { billingId }: Order): Promise<string | null> {
  if (billingId === null) return null;
  const { latest_invoice: invoice } = await call('GET', `/v1/subscriptions/${idOf(billingId)}`);
  const invoiceId = reference(invoice);
  if (invoiceId === null) return null;
  const { data } = await call('GET', '/v1/invoice_payments', { invoice: invoiceId, status: 'paid' });
  const first = Array.isArray(data) ? data[0] : null;
  return isRecord(first) && isRecord(first.payment) ? reference(first.payment.payment_intent) : null;
}

/**
 * The product of a SKU, created if missing: the price of a subscription can be changed only to a price of a product.
 */
async function productOf(call: StripeCall, skuId: string, name: string): Promise<string> {
  const id = `guildhall_${skuId}`;
  await done(call('POST', '/v1/products', { id, name }), 'resource_already_exists');
  return id;
}

/** An id of Stripe's, which is put into paths. */
function idOf(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_]{1,255}$/.test(value)) return value;
  throw new StripeFault('An id of Stripe is malformed.');
}

/** The id of another object, which may be there instead of it. */
function reference(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return idOf(isRecord(value) ? value.id : value);
}

function msOf(sec: unknown): number {
  if (typeof sec === 'number' && Number.isSafeInteger(sec) && sec >= 0) return sec * 1_000;
  throw new StripeFault('A time of Stripe is malformed.');
}

function httpsUrl(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))
    return value;
  throw new StripeFault('The page of the payment has no address.');
}

const ABOUT: Readonly<Record<string, Notice['about']>> = {
  'checkout.session.completed': 'payment',
  'checkout.session.async_payment_succeeded': 'payment',
  'customer.subscription.updated': 'billing',
  'customer.subscription.deleted': 'billing',
  'customer.subscription.paused': 'billing',
  'customer.subscription.resumed': 'billing',
  'invoice.paid': 'billing',
  'charge.refunded': 'refund',
};

/**
 * The notice in an event; null for events of other kinds and of objects that this server has not made.
 *
 * @source https://docs.stripe.com/api/events/types
 */
export function noticeOf(event: unknown): Notice | null {
  if (!isRecord(event) || typeof event.type !== 'string' || !isRecord(event.data)) return null;
  const about = Object.hasOwn(ABOUT, event.type) ? ABOUT[event.type] : undefined;
  const { object } = event.data;
  if (about === undefined || !isRecord(object)) return null;
  // An invoice names its subscription, and repeats the metadata of that.
  const details = isRecord(object.parent) ? object.parent.subscription_details : null;
  const named = event.type === 'invoice.paid' ? details : object;
  if (!isRecord(named) || !isRecord(named.metadata)) return null;
  const id = event.type === 'invoice.paid' ? named.subscription : object.id;
  const { [ORDER]: orderId, [APPLICATION]: applicationId } = named.metadata;
  if (!isSnowflake(orderId) || !isApplicationId(applicationId) || typeof id !== 'string') return null;
  return { applicationId, orderId, about, id };
}
