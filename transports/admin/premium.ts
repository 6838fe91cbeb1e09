import { Type } from 'typebox';
import type { Admin } from '../../embedding.ts';
import type { PremiumCommand } from '../../engine/premium/rules.ts';
import type {
  ApplicationId,
  EntitlementId,
  GuildId,
  SkuId,
  SubscriptionId,
  UserId,
} from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { entitlementObject, skuObject, subscriptionObject } from '../../protocol/premium.ts';
import { type AdminAnswer, type AdminRoute, closed, post, Snowflake } from './route.ts';

const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

async function run(admin: Admin, id: ApplicationId, command: PremiumCommand): Promise<AdminAnswer> {
  const { skus, entitlements, subscriptions } = await admin.premium(id, command);
  return {
    status: 200,
    body: {
      skus: skus.map(skuObject),
      entitlements: entitlements.map(entitlementObject),
      subscriptions: subscriptions.map(subscriptionObject),
    },
  };
}

/** Premium level of a guild or of a person. */
const Level = Type.Enum([0, 1, 2, 3]);

/** Routes for what applications sell. Each answers with what it changed. */
export const premiumRoutes: readonly AdminRoute[] = [
  post(
    '/applications/:id/skus',
    Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: LIMITS.sku_name_chars_max }),
        type: Type.Enum(['durable', 'consumable', 'subscription']),
        owner: Type.Optional(Type.Enum(['user', 'guild'])),
      },
      closed,
    ),
    (admin, { name, type, owner = 'user' }, id) => run(admin, id, { kind: 'createSku', name, type, owner }),
  ),
  post(
    '/applications/:id/skus/available',
    Type.Object({ sku_id: Snowflake<SkuId>(), available: Type.Boolean() }, closed),
    (admin, { sku_id: skuId, available }, id) => run(admin, id, { kind: 'editSku', skuId, available }),
  ),
  post(
    '/applications/:id/skus/name',
    Type.Object(
      {
        sku_id: Snowflake<SkuId>(),
        name: Type.String({ minLength: 1, maxLength: LIMITS.sku_name_chars_max }),
      },
      closed,
    ),
    (admin, { sku_id: skuId, name }, id) => run(admin, id, { kind: 'editSku', skuId, name }),
  ),
  post(
    '/applications/:id/skus/price',
    Type.Object(
      {
        sku_id: Snowflake<SkuId>(),
        price: Type.Union([
          Type.Null(),
          Type.Object(
            {
              amount: Type.Integer({ minimum: 1, maximum: 99_999_999 }),
              currency: Type.String({ pattern: '^[a-z]{3}$' }),
              days: Type.Optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX })),
            },
            closed,
          ),
        ]),
      },
      closed,
    ),
    (admin, { sku_id: skuId, price }, id) =>
      run(admin, id, { kind: 'setPrice', skuId, price: price && { days: DAYS_DEFAULT, ...price } }),
  ),
  post(
    '/applications/:id/skus/perks',
    Type.Object(
      { sku_id: Snowflake<SkuId>(), guild_tier: Type.Optional(Level), premium_type: Type.Optional(Level) },
      closed,
    ),
    (admin, { sku_id: skuId, guild_tier: guildTier = 0, premium_type: premiumType = 0 }, id) =>
      run(admin, id, { kind: 'setPerks', skuId, perks: { guildTier, premiumType } }),
  ),
  post(
    '/applications/:id/grants',
    Type.Object(
      {
        sku_id: Snowflake<SkuId>(),
        user_id: Snowflake<UserId>(),
        guild_id: Type.Optional(Snowflake<GuildId>()),
        gifter_user_id: Type.Optional(Snowflake<UserId>()),
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX })),
      },
      closed,
    ),
    (admin, { sku_id: skuId, user_id: userId, guild_id, gifter_user_id, days = DAYS_DEFAULT }, id) => {
      const to = { userId, guildId: guild_id ?? null };
      return run(admin, id, { kind: 'grant', skuId, to, gifterId: gifter_user_id ?? null, days });
    },
  ),
  post(
    '/applications/:id/refunds',
    Type.Object({ entitlement_id: Snowflake<EntitlementId>() }, closed),
    (admin, { entitlement_id: entitlementId }, id) => run(admin, id, { kind: 'refund', entitlementId }),
  ),
  post(
    '/applications/:id/subscriptions/cancel',
    Type.Object(
      { subscription_id: Snowflake<SubscriptionId>(), at_once: Type.Optional(Type.Boolean()) },
      closed,
    ),
    (admin, { subscription_id: subscriptionId, at_once: atOnce = false }, id) =>
      run(admin, id, { kind: 'cancel', subscriptionId, atOnce }),
  ),
  post(
    '/applications/:id/subscriptions/change',
    Type.Object({ subscription_id: Snowflake<SubscriptionId>(), sku_id: Snowflake<SkuId>() }, closed),
    (admin, { subscription_id: subscriptionId, sku_id: skuId }, id) =>
      run(admin, id, { kind: 'change', subscriptionId, skuId }),
  ),
];
