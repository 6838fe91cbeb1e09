import type { Entitlement, Order, Sku, Subscription } from '../../protocol/premium.ts';
import type { FactOf } from '../kernel/topic.ts';

/** What became of an entitlement or a subscription: the last word of the dispatch; null where nobody is told. */
type News = 'CREATE' | 'UPDATE' | 'DELETE';

export type PremiumFacts = {
  skuWritten: { readonly sku: Sku };
  entitlementWritten: { readonly entitlement: Entitlement; readonly news: News | null };
  subscriptionWritten: { readonly subscription: Subscription; readonly news: News | null };
  orderWritten: { readonly order: Order };
};
export type PremiumFact = FactOf<PremiumFacts>;

/** Whether an entitlement gives access at this time, Unix milliseconds. */
export const givesAccess = ({ deleted, consumed, startsMs, untilMs }: Entitlement, nowMs: number): boolean =>
  !deleted && !consumed && (startsMs === null || startsMs <= nowMs) && (untilMs === null || nowMs < untilMs);
