import type { Guilds } from '../../actors/guild/guilds.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { perksOf } from '../../engine/premium/perks.ts';
import type { ApplicationId, GuildId, SkuId, UserId } from '../../protocol/ids.ts';
import type { Entitlement, Perks, Sku } from '../../protocol/premium.ts';
import type { PremiumStore } from '../../storage/premium/port.ts';

interface PerkPorts {
  readonly store: Pick<PremiumStore, 'skusWithPerks' | 'entitlements'>;
  readonly guilds: Pick<Guilds, 'call'>;
  nowMs(): number;
}

/** Guild tiers and premium types that follow from what people and guilds have of SKUs with perks. */
export interface PerkKeeper {
  /** Sets the tiers of the guilds of these entitlements, which have changed. */
  apply(entitlements: readonly Entitlement[]): Promise<void>;
  /** Sets the tiers of all guilds that ever had a SKU with perks: after a crash between a purchase and its perk. */
  applyAll(): Promise<void>;
  /** A person's premium type now. It is read and not kept, so that others never see it. */
  premiumTypeOf(userId: UserId): Promise<Perks['premiumType']>;
}

const HELD_MAX = 200;
/** SKUs with perks are read again after this time: few, and asked for at every IDENTIFY. */
const SKUS_KEPT_MS = 5_000;
const PAGE = 500;

export function createPerks(ports: PerkPorts): PerkKeeper {
  let kept: { readonly untilMs: number; readonly skus: Promise<readonly Sku[]> } | null = null;
  const keptSkus = (): Promise<readonly Sku[]> => {
    if (kept === null || ports.nowMs() >= kept.untilMs) {
      const skus = ports.store.skusWithPerks();
      kept = { untilMs: ports.nowMs() + SKUS_KEPT_MS, skus };
      skus.catch(() => {
        kept = null;
      });
    }
    return kept.skus;
  };
  const query = (applicationId: ApplicationId, skuIds: readonly SkuId[]) => ({
    ...{ applicationId, skuIds, userId: null, guildId: null, before: null, after: null, limit: HELD_MAX },
    ...{ endedByMs: null, activeAtMs: null, withDeleted: true, withConsumed: true },
  });

  async function bestOf(
    receiver: { userId: UserId } | { guildId: GuildId },
    skus: readonly Sku[],
  ): Promise<Perks> {
    const perks = new Map<SkuId, Perks>(skus.flatMap((sku) => (sku.perks ? [[sku.id, sku.perks]] : [])));
    const held: Entitlement[] = [];
    for (const applicationId of new Set(skus.map((sku) => sku.application_id))) {
      const of = query(applicationId, [...perks.keys()]);
      held.push(...(await ports.store.entitlements({ ...of, ...receiver, activeAtMs: ports.nowMs() })));
    }
    return perksOf(held, perks, ports.nowMs());
  }

  async function applyTo(guildId: GuildId, skus: readonly Sku[]): Promise<void> {
    const { guildTier: tier } = await bestOf({ guildId }, skus);
    await ports.guilds.call(guildId, 'setPremiumTier', { tier }, SYSTEM);
  }

  async function applyPage(sku: Sku, skus: readonly Sku[], after: string | null): Promise<string | null> {
    const page = { ...query(sku.application_id, [sku.id]), after, limit: PAGE };
    const found = await ports.store.entitlements(page);
    for (const guildId of guildsOf(found)) await applyTo(guildId, skus);
    return found.length < PAGE ? null : (found.at(-1)?.id ?? null);
  }

  return {
    async apply(entitlements) {
      const skus = await ports.store.skusWithPerks();
      const ids = new Set(skus.map(({ id }) => id));
      for (const guildId of guildsOf(entitlements.filter(({ skuId }) => ids.has(skuId))))
        await applyTo(guildId, skus);
    },
    async applyAll() {
      kept = null;
      const skus = await ports.store.skusWithPerks();
      for (const sku of skus) {
        let after: string | null = null;
        do after = await applyPage(sku, skus, after);
        while (after !== null);
      }
    },
    async premiumTypeOf(userId) {
      const skus = (await keptSkus()).filter(({ perks }) => perks?.premiumType);
      return skus.length === 0 ? 0 : (await bestOf({ userId }, skus)).premiumType;
    },
  };
}

const guildsOf = (entitlements: readonly Entitlement[]): ReadonlySet<GuildId> =>
  new Set(entitlements.flatMap(({ guildId }) => (guildId === null ? [] : [guildId])));
