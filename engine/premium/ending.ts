import { isInForce } from '../../protocol/dates.ts';
import type { Entitlement } from '../../protocol/premium.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { PremiumFact } from './premium.ts';

type EntitlementFact = Extract<PremiumFact, { readonly type: 'entitlementWritten' }>;

/** Entitlements of subscriptions have no end while these run; before the migration they ended with their period. */
export const shownEnd = (periodEndMs: number, { rulesMs }: Pick<Env, 'rulesMs'>): number | null =>
  isInForce('subscriptions_have_no_end', rulesMs) ? null : periodEndMs;

/**
 * Extends an entitlement to another period; null when nothing of it changes. Before the migration its application
 * receives an update for each new end. Afterwards nothing changes, except that an entitlement from before is migrated
 * and announced as a new one.
 */
export function renewed(
  before: Entitlement,
  periodEndMs: number,
  env: Pick<Env, 'rulesMs'>,
): EntitlementFact | null {
  const endsMs = shownEnd(periodEndMs, env);
  if (endsMs === before.endsMs) return null;
  const change = endsMs === null ? 'CREATE' : 'UPDATE';
  return { type: 'entitlementWritten', entitlement: { ...before, endsMs }, change };
}

/** The entitlement ends at this time; its application receives an update, unless it knows this end. */
export const ended = (before: Entitlement, atMs: number): PremiumFact => ({
  type: 'entitlementWritten',
  entitlement: { ...before, endsMs: atMs, untilMs: atMs },
  change: before.endsMs === atMs ? null : 'UPDATE',
});
