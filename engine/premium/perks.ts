import { type Entitlement, NO_PERKS, type Perks, type Sku } from '../../protocol/premium.ts';
import { givesAccess } from './premium.ts';

/**
 * What a receiver has by the SKUs that the operator gave perks: the best of each. A guild has tiers by what was got for it, and
 * a person a premium type by what they have themselves.
 */
export function perksOf(
  held: readonly Entitlement[],
  perks: ReadonlyMap<Sku['id'], Perks>,
  nowMs: number,
): Perks {
  let best = NO_PERKS;
  for (const entitlement of held) {
    const given = perks.get(entitlement.skuId);
    if (!given || !givesAccess(entitlement, nowMs)) continue;
    const isForGuild = entitlement.guildId !== null;
    best = {
      guildTier: isForGuild && given.guildTier > best.guildTier ? given.guildTier : best.guildTier,
      premiumType: !isForGuild && given.premiumType > best.premiumType ? given.premiumType : best.premiumType,
    };
  }
  return best;
}
