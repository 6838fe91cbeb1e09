import { isInForce } from '../../protocol/dates.ts';
import type { Entitlement } from '../../protocol/premium.ts';
import type { Env } from '../kernel/outcome.ts';
import type { PremiumFact } from './premium.ts';

/** Entitlements of subscriptions have no end while these run; before the migration they ended with their period. */
export const shownEnd = (periodEndMs: number, { rulesMs }: Pick<Env, 'rulesMs'>): number | null =>
  isInForce('subscriptions_have_no_end', rulesMs) ? null : periodEndMs;

/**
 * The entitlement in another period. Before the migration its application is told of each new end. Afterwards it is told nothing,
 * but for an entitlement from before: that one is migrated, which looks like a new one.
 */
export function renewed(before: Entitlement, periodEndMs: number, env: Pick<Env, 'rulesMs'>): PremiumFact[] {
  const endsMs = shownEnd(periodEndMs, env);
  if (endsMs === before.endsMs) return [];
  const news = endsMs === null ? 'CREATE' : 'UPDATE';
  return [{ type: 'entitlementWritten', entitlement: { ...before, endsMs }, news }];
}

/** The entitlement ends at this time; its application is told, unless it knows this end. */
export const ended = (before: Entitlement, atMs: number): PremiumFact => ({
  type: 'entitlementWritten',
  entitlement: { ...before, endsMs: atMs, untilMs: atMs },
  news: before.endsMs === atMs ? null : 'UPDATE',
});
