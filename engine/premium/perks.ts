import { type Entitlement, NO_PERKS, type Perks, type Sku } from '../../protocol/premium.ts';
import { givesAccess } from './premium.ts';

/**
 * The perks of a receiver: the best of each among its entitlements. Entitlements of a guild give tiers, those of a person give
 * a premium type. A test entitlement gives none: every application makes its own, and perks are of the whole server.
 */
export function perksOf(
  held: readonly Entitlement[],
  perks: ReadonlyMap<Sku['id'], Perks>,
  nowMs: number,
): Perks {
  let best = NO_PERKS;
  for (const entitlement of held) {
    const given = perks.get(entitlement.skuId);
    if (!given || entitlement.test || !givesAccess(entitlement, nowMs)) continue;
    const isForGuild = entitlement.guildId !== null;
    best = {
      guildTier: isForGuild && given.guildTier > best.guildTier ? given.guildTier : best.guildTier,
      premiumType: !isForGuild && given.premiumType > best.premiumType ? given.premiumType : best.premiumType,
    };
  }
  return best;
}
