import assert from 'node:assert/strict';
import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { PremiumCommand } from '../../engine/premium/rules.ts';
import type { ApplicationId, EntitlementId, SkuId, SubscriptionId, UserId } from '../../protocol/ids.ts';
import {
  type Billing,
  type Entitlement,
  type Order,
  type Price,
  type Receiver,
  SKU_FLAG,
  SKU_TYPE,
  type Subscription,
} from '../../protocol/premium.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Premium, PremiumChange } from './premium.ts';

/** The purchase as the provider's page shows it. */
export interface Offer {
  readonly skuId: SkuId;
  readonly name: string;
  readonly isSubscription: boolean;
  readonly price: Price;
}

/** A provider's notification of a change. The current state is read from the provider. */
export interface Notice {
  readonly applicationId: ApplicationId;
  readonly orderId: string;
  readonly about: 'payment' | 'billing' | 'refund';
  /** The provider's id of the payment page, the subscription or the charge. */
  readonly id: string;
}

/** A service that takes payments. All calls throw when it cannot be reached or refuses, and may be repeated. */
export interface PaymentProvider {
  /** @returns the address of its page where the order is paid. */
  begin(order: Order, offer: Offer): Promise<string>;
  /** Null while it is not paid. */
  payment(
    pageId: string,
  ): Promise<{ readonly paymentId: string | null; readonly billingId: string | null } | null>;
  billing(id: string): Promise<Billing>;
  isRefunded(chargeId: string): Promise<boolean>;
  /** Pays everything back that was paid last, and ends the subscription. */
  refund(order: Order): Promise<void>;
  stop(billingId: string, atOnce: boolean): Promise<void>;
  /** From the next period on it is another SKU. */
  change(billingId: string, offer: Offer): Promise<void>;
}

type Wish = { readonly skuId: SkuId; readonly to: Receiver; readonly payerId: UserId };

/** How what applications sell is paid for. */
export interface Payments {
  /** Whether people can buy here; otherwise the operator gives by hand what was sold. */
  readonly takesMoney: boolean;
  /** @returns the address of the page where it is paid. */
  buy(applicationId: ApplicationId, wish: Wish): Promise<Reply<{ readonly url: string }>>;
  /** Runs a command. Money goes back, and renewals stop, before anything is taken back here. */
  run(applicationId: ApplicationId, command: PremiumCommand): Promise<Reply<PremiumChange>>;
  /** Applies the due renewal, end or cancellation of a subscription. */
  settle(applicationId: ApplicationId, subscriptionId: SubscriptionId): Promise<Reply<PremiumChange>>;
  notice(notice: Notice): Promise<Reply<PremiumChange>>;
}

/** Without a provider the operator grants. Grants are renewed until the operator cancels them. */
export const byHand = (premium: Premium): Payments => ({
  takesMoney: false,
  buy: async () => ({ ok: false, refusal: refusal('INVALID_SKU') }),
  run: premium.run,
  settle: (applicationId, subscriptionId) => premium.run(applicationId, { kind: 'settle', subscriptionId }),
  notice: async () => ({ ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') }),
});

type PaymentRequest =
  | { readonly kind: 'buy'; readonly wish: Wish }
  | { readonly kind: 'run'; readonly command: PremiumCommand }
  | { readonly kind: 'settle'; readonly subscriptionId: SubscriptionId }
  | { readonly kind: 'notice'; readonly notice: Notice };

interface ProviderPorts {
  readonly premium: Premium;
  readonly provider: PaymentProvider;
  readonly storage: Pick<Storage, 'premium'>;
  readonly routing: Pick<Routing, 'ask'>;
  nowMs(): number;
}

/** An unreachable provider is asked again after this time. */
const AGAIN_MS = 10 * 60_000;
const NOTHING: Reply<PremiumChange> = {
  ok: true,
  value: { skus: [], entitlements: [], subscriptions: [], orders: [] },
};
const no = (refused: Refusal) => ({ ok: false, refusal: refused }) as const;

/**
 * Payments that a provider takes. The owner shard of the application asks the provider. Requests about one order run one
 * after another, each with the provider's present word, so its messages may come twice, late, in any sequence or not at all.
 */
export function byProvider(given: ProviderPorts): Payments {
  const mutex = keyedMutex<string>();
  const ports: LockedPorts = { ...given, locked: mutex };
  const ask = ports.routing.ask('payments.run', (applicationId: ApplicationId, request: PaymentRequest) =>
    answer(ports, applicationId, request),
  );
  const changed = async (applicationId: ApplicationId, request: PaymentRequest) => {
    const reply = await ask(applicationId, request);
    if (!reply.ok) return reply;
    assert(!('url' in reply.value), 'Only a purchase is answered with a page.');
    return { ok: true as const, value: reply.value };
  };
  return {
    takesMoney: true,
    async buy(applicationId, wish) {
      const reply = await ask(applicationId, { kind: 'buy', wish });
      if (!reply.ok) return reply;
      assert('url' in reply.value, 'A purchase is answered with a page.');
      return { ok: true, value: reply.value };
    },
    run: (applicationId, command) => changed(applicationId, { kind: 'run', command }),
    settle: (applicationId, subscriptionId) => changed(applicationId, { kind: 'settle', subscriptionId }),
    notice: (notice) => changed(notice.applicationId, { kind: 'notice', notice }),
  };
}

interface LockedPorts extends ProviderPorts {
  /** Runs jobs with the same key one after another. */
  locked<Value>(key: string, job: () => Promise<Value>): Promise<Value>;
}

async function answer(
  ports: LockedPorts,
  applicationId: ApplicationId,
  request: PaymentRequest,
): Promise<Reply<PremiumChange | { readonly url: string }>> {
  switch (request.kind) {
    case 'buy':
      return ports.locked(request.wish.payerId, () => buy(ports, applicationId, request.wish));
    case 'run':
      return run(ports, applicationId, request.command);
    case 'settle':
      return settle(ports, applicationId, request.subscriptionId);
    case 'notice':
      return ports.locked(request.notice.orderId, () => heed(ports, applicationId, request.notice));
  }
}

async function buy(
  { premium, provider, storage }: ProviderPorts,
  applicationId: ApplicationId,
  wish: Wish,
): Promise<Reply<{ readonly url: string }>> {
  // The order is durable before the request to the provider, so no payment is ever without one.
  const ordered = await premium.run(applicationId, { kind: 'order', ...wish });
  if (!ordered.ok) return ordered;
  const [order] = ordered.value.orders;
  const offer = order && (await offerOf({ storage }, applicationId, order.skuId, order.price));
  if (!offer) return no(refusal('UNKNOWN_SKU'));
  return { ok: true, value: { url: await provider.begin(order, offer) } };
}

async function offerOf(
  { storage }: Pick<ProviderPorts, 'storage'>,
  applicationId: ApplicationId,
  skuId: SkuId,
  agreed: Price | null,
): Promise<Offer | null> {
  const sku = (await storage.premium.skus(applicationId)).find(({ id }) => id === skuId);
  const price = agreed ?? sku?.price;
  if (!sku || !price) return null;
  return { skuId, name: sku.name, isSubscription: sku.type === SKU_TYPE.SUBSCRIPTION, price };
}

/** The provider acts first: if this server then fails, repeating the command completes it. */
async function run(
  ports: LockedPorts,
  applicationId: ApplicationId,
  command: PremiumCommand,
): Promise<Reply<PremiumChange>> {
  const bought = await boughtBy(ports, applicationId, command);
  const { orderId } = bought ?? {};
  if (orderId === undefined) return ports.premium.run(applicationId, command);
  return ports.locked(orderId, async () => {
    const order = await ports.storage.premium.order(applicationId, orderId);
    if (!order) return ports.premium.run(applicationId, command);
    return command.kind === 'refund'
      ? refund(ports, applicationId, order, command.entitlementId)
      : stopOrChange(ports, applicationId, order, command);
  });
}

/** The entitlement or subscription of a command that the provider must be called for; null for other commands. */
async function boughtBy(
  { storage }: Pick<ProviderPorts, 'storage'>,
  applicationId: ApplicationId,
  command: PremiumCommand,
): Promise<Entitlement | Subscription | null> {
  if (command.kind === 'refund') return storage.premium.entitlement(applicationId, command.entitlementId);
  if (command.kind === 'cancel' || command.kind === 'change')
    return storage.premium.subscription(applicationId, command.subscriptionId);
  return null;
}

async function refund(
  ports: ProviderPorts,
  applicationId: ApplicationId,
  order: Order,
  entitlementId: EntitlementId,
): Promise<Reply<PremiumChange>> {
  const { premium, storage } = ports;
  const { subscriptionId } = order;
  const subscription =
    subscriptionId === null ? null : await storage.premium.subscription(applicationId, subscriptionId);
  const latest = subscription?.entitlementIds.at(-1) ?? entitlementId;
  // An earlier entitlement, before the subscription changed to another SKU: no money goes back for it.
  if (order.state !== 'paid' || latest !== entitlementId)
    return premium.run(applicationId, { kind: 'refund', entitlementId });
  return repay(ports, applicationId, order);
}

async function repay(
  { premium, provider }: ProviderPorts,
  applicationId: ApplicationId,
  order: Order,
): Promise<Reply<PremiumChange>> {
  await provider.refund(order);
  return premium.run(applicationId, { kind: 'refunded', orderId: order.id });
}

async function stopOrChange(
  ports: ProviderPorts,
  applicationId: ApplicationId,
  order: Order,
  command: PremiumCommand,
): Promise<Reply<PremiumChange>> {
  const { billingId, subscriptionId } = order;
  if (billingId === null || subscriptionId === null) return ports.premium.run(applicationId, command);
  // A period that began unnoticed is noticed first: the other SKU is that of the period after it.
  await follow(ports, applicationId, order);
  if (command.kind === 'cancel') await ports.provider.stop(billingId, command.atOnce);
  if (command.kind === 'change') {
    const subscription = await ports.storage.premium.subscription(applicationId, subscriptionId);
    const refused = await change(ports, applicationId, billingId, subscription, command.skuId);
    if (refused) return no(refused);
  }
  return follow(ports, applicationId, order);
}

/** Periods of another length would begin at once, so they are refused. */
async function change(
  { provider, storage }: ProviderPorts,
  applicationId: ApplicationId,
  billingId: string,
  subscription: Subscription | null,
  skuId: SkuId,
): Promise<Refusal | null> {
  if (!subscription) return refusal('UNKNOWN_ENTITLEMENT');
  const { periodMs, guildId, skuId: ownSkuId } = subscription;
  const offer = await offerOf({ storage }, applicationId, skuId, null);
  if (!offer) return refusal('UNKNOWN_SKU');
  const sku = (await storage.premium.skus(applicationId)).find(({ id }) => id === skuId);
  const isFor = ((sku?.flags ?? 0) & (guildId === null ? SKU_FLAG.USER : SKU_FLAG.GUILD)) !== 0;
  const isSameLength = offer.price.days * DAY_MS === periodMs;
  const isForSale = skuId === ownSkuId || ((sku?.flags ?? 0) & SKU_FLAG.AVAILABLE) !== 0;
  if (!offer.isSubscription || !isFor || !isSameLength || !isForSale) return refusal('INVALID_SKU');
  await provider.change(billingId, offer);
  return null;
}

const DAY_MS = 86_400_000;

async function follow(
  { premium, provider }: ProviderPorts,
  applicationId: ApplicationId,
  { id: orderId, billingId }: Order,
): Promise<Reply<PremiumChange>> {
  if (billingId === null) return NOTHING;
  return premium.run(applicationId, { kind: 'follow', orderId, billing: await provider.billing(billingId) });
}

async function settle(
  ports: LockedPorts,
  applicationId: ApplicationId,
  subscriptionId: SubscriptionId,
): Promise<Reply<PremiumChange>> {
  const { premium, storage, nowMs } = ports;
  const orderId = (await storage.premium.subscription(applicationId, subscriptionId))?.orderId;
  if (orderId === undefined) return premium.run(applicationId, { kind: 'settle', subscriptionId });
  return ports.locked(orderId, async () => {
    // Written first, so that a provider that does not answer is not asked at every look of the clock.
    await premium.run(applicationId, { kind: 'postpone', subscriptionId, checkMs: nowMs() + AGAIN_MS });
    const order = await storage.premium.order(applicationId, orderId);
    if (!order) return NOTHING;
    try {
      return await follow(ports, applicationId, order);
    } catch (error) {
      // Access has ended by itself; its application is notified without the provider.
      await premium.run(applicationId, { kind: 'settle', subscriptionId });
      throw error;
    }
  });
}

async function heed(
  ports: ProviderPorts,
  applicationId: ApplicationId,
  { orderId, about, id }: Notice,
): Promise<Reply<PremiumChange>> {
  const { premium, provider, storage } = ports;
  const order = await storage.premium.order(applicationId, orderId);
  // Another system may use the same account of the provider.
  if (!order) return NOTHING;
  // An earlier try to pay it back has failed.
  if (order.state === 'surplus') return repay(ports, applicationId, order);
  if (about === 'refund')
    return (await provider.isRefunded(id))
      ? premium.run(applicationId, { kind: 'refunded', orderId })
      : NOTHING;
  if (about === 'billing') return order.state === 'paid' ? follow(ports, applicationId, order) : NOTHING;
  if (order.state !== 'open') return NOTHING;
  const payment = await provider.payment(id);
  if (!payment) return NOTHING;
  const { paymentId, billingId } = payment;
  const billing = billingId === null ? null : await provider.billing(billingId);
  const reply = await premium.run(applicationId, { kind: 'paid', orderId, paymentId, billing });
  const surplus = reply.ok ? reply.value.orders.find(({ state }) => state === 'surplus') : undefined;
  return surplus ? repay(ports, applicationId, surplus) : reply;
}
