import type {
  ApplicationId,
  EntitlementId,
  GuildId,
  SkuId,
  SubscriptionId,
  UserId,
} from '../../protocol/ids.ts';
import type { Entitlement, Order, Receiver, Sku, Subscription } from '../../protocol/premium.ts';

/** Filter of entitlements of an application; null: any. */
interface EntitlementQuery {
  readonly applicationId: ApplicationId;
  readonly userId: UserId | null;
  readonly guildId: GuildId | null;
  readonly skuIds: readonly SkuId[] | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly limit: number;
  /** Leaves out what has ended by this time, Unix milliseconds. */
  readonly endedByMs: number | null;
  /** Leaves out what gives no access at this time, Unix milliseconds. */
  readonly activeAtMs: number | null;
  readonly withDeleted: boolean;
  readonly withConsumed: boolean;
}

interface SubscriptionQuery {
  readonly applicationId: ApplicationId;
  readonly skuId: SkuId;
  readonly userId: UserId;
  readonly before: string | null;
  readonly after: string | null;
  readonly limit: number;
}

export interface PremiumStore {
  sku(id: SkuId): Promise<Sku | null>;
  /** Oldest first. */
  skus(applicationId: ApplicationId): Promise<Sku[]>;
  /** The SKUs of all applications that the operator gave perks. */
  skusWithPerks(): Promise<Sku[]>;
  entitlement(applicationId: ApplicationId, id: EntitlementId): Promise<Entitlement | null>;
  /** By ascending id; with `before` alone those closest to it. */
  entitlements(query: EntitlementQuery): Promise<Entitlement[]>;
  subscription(applicationId: ApplicationId, id: SubscriptionId): Promise<Subscription | null>;
  /** By ascending id; with `before` alone those closest to it. */
  subscriptions(query: SubscriptionQuery): Promise<Subscription[]>;
  order(applicationId: ApplicationId, id: string): Promise<Order | null>;
  /** The latest open order of this payer for this SKU and receiver. */
  openOrder(
    applicationId: ApplicationId,
    wish: { readonly skuId: SkuId; readonly payerId: UserId; readonly to: Receiver },
  ): Promise<Order | null>;
  /** Deletes orders that were made before this time, Unix milliseconds, and never paid. @returns how many, at most `limit`. */
  forgetOrders(beforeMs: number, limit: number): Promise<number>;
  /** Subscriptions whose period has ended, by ascending end. */
  due(
    nowMs: number,
    limit: number,
  ): Promise<
    { readonly applicationId: ApplicationId; readonly id: SubscriptionId; readonly dueMs: number }[]
  >;
  /** Unix milliseconds; null when no subscription runs. */
  nextDueMs(): Promise<number | null>;
}
