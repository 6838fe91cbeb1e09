import type { Entitlement, Order, Sku, Subscription } from '../../protocol/premium.ts';
import type { FactOf } from '../kernel/aggregate.ts';

/** The change of an entitlement or subscription, which is the last word of the dispatch's name; null without a dispatch. */
type Change = 'CREATE' | 'UPDATE' | 'DELETE';

export type PremiumFacts = {
  skuWritten: { readonly sku: Sku };
  entitlementWritten: { readonly entitlement: Entitlement; readonly change: Change | null };
  subscriptionWritten: { readonly subscription: Subscription; readonly change: Change | null };
  orderWritten: { readonly order: Order };
};
export type PremiumFact = FactOf<PremiumFacts>;

/** Whether an entitlement gives access at this time, Unix milliseconds. */
export const givesAccess = ({ deleted, consumed, startsMs, untilMs }: Entitlement, nowMs: number): boolean =>
  !deleted && !consumed && (startsMs === null || startsMs <= nowMs) && (untilMs === null || nowMs < untilMs);
