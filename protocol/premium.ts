import type { ApplicationId, EntitlementId, GuildId, SkuId, SubscriptionId, UserId } from './ids.ts';

/** @source https://docs.discord.com/developers/resources/sku#sku-object-sku-types */
export const SKU_TYPE = { DURABLE: 2, CONSUMABLE: 3, SUBSCRIPTION: 5, GROUP: 6 } as const;
/** @source https://docs.discord.com/developers/resources/sku#sku-object-sku-flags */
export const SKU_FLAG = { AVAILABLE: 1 << 2, GUILD: 1 << 7, USER: 1 << 8 } as const;
/** @source https://docs.discord.com/developers/resources/subscription#subscription-statuses */
export const SUBSCRIPTION_STATUS = { ACTIVE: 0, INACTIVE: 1, ENDING: 2 } as const;
/** The type of every purchased entitlement. */
const APPLICATION_SUBSCRIPTION = 8;

/** The price of a SKU where payments are taken. */
export interface Price {
  /** In the smallest unit of the currency, as cents. */
  readonly amount: number;
  /** ISO 4217, lower case. */
  readonly currency: string;
  /** Length of a period of a subscription. */
  readonly days: number;
}

/** Perks of a SKU on this server, set by the operator, besides the ones its application gives. 0: none. */
export interface Perks {
  /** Premium tier of a guild. */
  readonly guildTier: 0 | 1 | 2 | 3;
  /** @source https://docs.discord.com/developers/resources/user#user-object-premium-types */
  readonly premiumType: 0 | 1 | 2 | 3;
}
export const NO_PERKS: Perks = { guildTier: 0, premiumType: 0 };

/** Something that an application offers. */
export interface Sku {
  readonly id: SkuId;
  readonly application_id: ApplicationId;
  readonly type: (typeof SKU_TYPE)[keyof typeof SKU_TYPE];
  readonly name: string;
  readonly slug: string;
  readonly flags: number;
  /** Absent: it is not for sale; the operator grants it by hand. */
  readonly price?: Price | null;
  readonly perks?: Perks;
}

/** The receiver: a person, or a guild for which a person buys. */
export interface Receiver {
  readonly userId: UserId;
  readonly guildId: GuildId | null;
}

/** A request to buy a SKU, and its state. It is stored before the payment provider is called. */
export interface Order {
  readonly id: string;
  readonly applicationId: ApplicationId;
  readonly skuId: SkuId;
  readonly payerId: UserId;
  readonly to: Receiver;
  readonly price: Price;
  readonly createdMs: number;
  /** `surplus`: paid, but the receiver has it already. Both it and `refunded` give nothing. */
  readonly state: 'open' | 'paid' | 'refunded' | 'surplus';
  /** The provider's id of the payment; null until it is paid, and for subscriptions. */
  readonly paymentId: string | null;
  /** The provider's id of the subscription. */
  readonly billingId: string | null;
  /** The entitlement that the purchase gave. */
  readonly entitlementId: EntitlementId | null;
  readonly subscriptionId: SubscriptionId | null;
}

/** State of a subscription as its payment provider reports it. Times are Unix milliseconds. */
export interface Billing {
  /** The provider's id. */
  readonly id: string;
  readonly state: 'running' | 'ending' | 'over';
  /** The SKU that is paid for from the next period on. */
  readonly skuId: SkuId;
  readonly periodStartMs: number;
  readonly periodEndMs: number;
  /** The end of what has been paid for. */
  readonly paidUntilMs: number;
  /** When it was over; null while it is not. */
  readonly endedMs: number | null;
}

/** An entitlement of a person or a guild. Times are Unix milliseconds. */
export interface Entitlement {
  readonly id: EntitlementId;
  readonly applicationId: ApplicationId;
  readonly skuId: SkuId;
  /** The user with the entitlement, or the user who bought it for the guild. */
  readonly userId: UserId;
  readonly guildId: GuildId | null;
  readonly gifterId: UserId | null;
  /** Made by the application to try itself out: has no times. */
  readonly test: boolean;
  readonly startsMs: number | null;
  /** The end that the application knows. */
  readonly endsMs: number | null;
  /** When access ends; known from the cancellation of a subscription on, before the application receives it. */
  readonly untilMs: number | null;
  readonly deleted: boolean;
  readonly consumed: boolean;
  readonly subscriptionId: SubscriptionId | null;
  /** The order that it was bought with; absent for what was given by hand. */
  readonly orderId?: string;
}

/** Times are Unix milliseconds. */
export interface Subscription {
  readonly id: SubscriptionId;
  readonly applicationId: ApplicationId;
  readonly userId: UserId;
  readonly guildId: GuildId | null;
  readonly skuId: SkuId;
  /** The SKU of the next period, when it is another one. */
  readonly renewalSkuId: SkuId | null;
  /** The latest, oldest first; the last one gives access. */
  readonly entitlementIds: readonly EntitlementId[];
  readonly periodStartMs: number;
  readonly periodEndMs: number;
  readonly periodMs: number;
  readonly status: (typeof SUBSCRIPTION_STATUS)[keyof typeof SUBSCRIPTION_STATUS];
  readonly canceledMs: number | null;
  /** The order that it was bought with: a payment provider renews it. Absent for what was given by hand. */
  readonly orderId?: string;
  /** When to ask the provider next. */
  readonly checkMs?: number;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/** @source https://docs.discord.com/developers/resources/sku#sku-object */
export const skuObject = ({ price: _, perks: __, ...sku }: Sku) => ({
  ...sku,
  ...{ dependent_sku_id: null, manifest_labels: null, access_type: 1, features: [], release_date: null },
  ...{ premium: false, show_age_gate: false },
});

/** @source https://docs.discord.com/developers/resources/entitlement#entitlement-object */
export const entitlementObject = (entitlement: Entitlement) => ({
  id: entitlement.id,
  sku_id: entitlement.skuId,
  application_id: entitlement.applicationId,
  user_id: entitlement.userId,
  ...(entitlement.guildId !== null && { guild_id: entitlement.guildId }),
  type: APPLICATION_SUBSCRIPTION,
  deleted: entitlement.deleted,
  consumed: entitlement.consumed,
  starts_at: isoOrNull(entitlement.startsMs),
  ends_at: isoOrNull(entitlement.endsMs),
  ...(entitlement.gifterId !== null && { gifter_user_id: entitlement.gifterId }),
  ...(entitlement.subscriptionId !== null && { subscription_id: entitlement.subscriptionId }),
});

/** @source https://docs.discord.com/developers/resources/subscription#subscription-object */
export const subscriptionObject = (subscription: Subscription) => ({
  id: subscription.id,
  user_id: subscription.userId,
  sku_ids: [subscription.skuId],
  renewal_sku_ids: subscription.renewalSkuId === null ? null : [subscription.renewalSkuId],
  entitlement_ids: subscription.entitlementIds,
  current_period_start: iso(subscription.periodStartMs),
  current_period_end: iso(subscription.periodEndMs),
  status: subscription.status,
  canceled_at: isoOrNull(subscription.canceledMs),
});
