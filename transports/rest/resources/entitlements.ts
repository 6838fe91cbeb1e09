import type { ApplicationAction } from '../../../engine/application/teams.ts';
import {
  type ApplicationId,
  type EntitlementId,
  type FreshId,
  type GuildId,
  type SkuId,
  snowflakeOf,
  type UserId,
} from '../../../protocol/ids.ts';
import { entitlementObject, SKU_FLAG, skuObject, subscriptionObject } from '../../../protocol/premium.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import { PricedSku, Sku } from '../../../protocol/schemas/extension.ts';
import { Entitlement, Subscription } from '../../../protocol/schemas/premium.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Nullable,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none, oneOf } from '../../../protocol/schemas/schema.ts';
import { idsOf } from '../idlist.ts';
import { type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { pricedSku } from './skus.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 30, windowMs: 10_000 } as const;
const WRITE = { per: null, limit: 30, windowMs: 10_000 } as const;

const SCOPE = 'applications.entitlements';
const PAGE_MAX = 100;
const PAGE_SUBSCRIPTIONS = 50;
const SKU_IDS_MAX = 100;
const SKU_IDS_LENGTH_MAX = 2_100;
const OWNER = { GUILD: 1, USER: 2 } as const;

const SkuIds = () => Optional(OneOf(Str(0, SKU_IDS_LENGTH_MAX), Arr(Nullable(Snowflake()), SKU_IDS_MAX)));
const Page = {
  before: Optional(Snowflake()),
  after: Optional(Snowflake()),
  limit: Optional(Int(1, PAGE_MAX)),
};

/** Operations on entitlements: the products of an application that people and guilds own. */
export const entitlements = resource({
  get_entitlements: op({
    method: 'GET',
    path: '/applications/:application_id/entitlements',
    auth: 'any',
    scope: SCOPE,
    bucket: READ,
    query: Obj({
      user_id: Optional(Snowflake<UserId>()),
      guild_id: Optional(Snowflake<GuildId>()),
      sku_ids: SkuIds(),
      ...Page,
      exclude_ended: Optional(Bool()),
      exclude_deleted: Optional(Bool()),
      only_active: Optional(Bool()),
    }),
    status: 200,
    reply: list(Entitlement),
    handle: async ({ params, query, caller }, services) => {
      const { applicationAccess, read, nowMs } = services;
      const scope = await applicationAccess.entitlements(caller, params.application_id, 'viewEntitlements');
      if (!scope.ok) return scope;
      const { userId } = scope.value;
      if (userId !== null && (query.user_id ?? userId) !== userId) return { ok: true, value: [] };
      const found = await read.premium.entitlements({
        applicationId: params.application_id,
        userId: userId ?? query.user_id ?? null,
        guildId: query.guild_id ?? null,
        skuIds: query.sku_ids === undefined ? null : idsOf(query.sku_ids),
        ...pageOf(query),
        limit: query.limit ?? PAGE_MAX,
        endedByMs: query.exclude_ended ? nowMs() : null,
        activeAtMs: query.only_active ? nowMs() : null,
        withDeleted: query.exclude_deleted === false,
        withConsumed: true,
      });
      return { ok: true, value: found.map(entitlementObject) };
    },
  }),

  get_entitlement: op({
    method: 'GET',
    path: '/applications/:application_id/entitlements/:entitlement_id',
    auth: 'any',
    scope: SCOPE,
    bucket: READ,
    status: 200,
    reply: Entitlement,
    handle: async ({ params, caller }, services) => {
      const found = await reached(caller, params, services);
      return found.ok ? { ok: true, value: entitlementObject(found.entitlement) } : found;
    },
  }),

  create_entitlement: op({
    method: 'POST',
    path: '/applications/:application_id/entitlements',
    auth: 'bot',
    bucket: WRITE,
    body: Obj({
      sku_id: Snowflake<SkuId>(),
      owner_id: Snowflake<FreshId>(),
      owner_type: Choice(OWNER.GUILD, OWNER.USER),
    }),
    status: 200,
    reply: Entitlement,
    handle: async ({ params, body, caller }, services) => {
      const { application_id: id } = params;
      const scope = await services.applicationAccess.entitlements(caller, id, 'changeEntitlements');
      if (!scope.ok) return scope;
      const ownerId = body.owner_id;
      const application = await services.read.applications.get(id);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      // The published schema demands a person. For a guild it is the owner of the application, who tries it out.
      const isGuild = body.owner_type === OWNER.GUILD;
      const to = { userId: isGuild ? application.owner_id : ownerId, guildId: isGuild ? ownerId : null };
      const reply = await services.premium.run(id, { kind: 'test', skuId: body.sku_id, to });
      if (!reply.ok) return reply;
      const [made] = reply.value.entitlements;
      return { ok: true, value: made && entitlementObject(made) };
    },
  }),

  delete_entitlement: op({
    method: 'DELETE',
    path: '/applications/:application_id/entitlements/:entitlement_id',
    auth: 'any',
    scope: SCOPE,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, caller }, services) => {
      const { application_id: id } = params;
      const scope = await services.applicationAccess.entitlements(caller, id, 'changeEntitlements');
      if (!scope.ok) return scope;
      if (scope.value.userId !== null)
        return { ok: false, refusal: refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION') };
      const command = { kind: 'deleteTest', entitlementId: params.entitlement_id } as const;
      const reply = await services.premium.run(params.application_id, command);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  consume_entitlement: op({
    method: 'POST',
    path: '/applications/:application_id/entitlements/:entitlement_id/consume',
    auth: 'any',
    scope: SCOPE,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: async ({ params, caller }, services) => {
      const found = await reached(caller, params, services, 'changeEntitlements');
      if (!found.ok) return found;
      const command = { kind: 'consume', entitlementId: params.entitlement_id } as const;
      const reply = await services.premium.run(params.application_id, command);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  get_current_user_application_entitlements: op({
    method: 'GET',
    path: '/users/@me/applications/:application_id/entitlements',
    auth: 'user',
    scope: 'any',
    bucket: READ,
    query: Obj({ sku_ids: SkuIds(), exclude_consumed: Optional(Bool()) }),
    status: 200,
    reply: list(Entitlement),
    handle: async ({ params, query, caller }, { applicationAccess, read, nowMs }) => {
      const no = applicationAccess.userOrApplicationRefusal(caller, params.application_id);
      if (no) return { ok: false, refusal: no };
      const found = await read.premium.entitlements({
        ...{ applicationId: params.application_id, userId: caller.userId, guildId: null },
        skuIds: query.sku_ids === undefined ? null : idsOf(query.sku_ids),
        ...{ before: null, after: null, limit: PAGE_MAX, endedByMs: nowMs(), activeAtMs: null },
        withDeleted: false,
        withConsumed: query.exclude_consumed !== true,
      });
      return { ok: true, value: found.map(entitlementObject) };
    },
  }),

  get_sku_subscriptions: op({
    method: 'GET',
    path: '/skus/:sku_id/subscriptions',
    auth: 'any',
    scope: 'any',
    bucket: READ,
    query: Obj({ ...Page, user_id: Optional(Snowflake<UserId>()) }),
    status: 200,
    reply: list(Subscription),
    handle: async ({ params, query, caller }, services) => {
      const found = await subscribers(caller, params.sku_id, query.user_id, services);
      if ('no' in found) return found.no;
      const limit = query.limit ?? PAGE_SUBSCRIPTIONS;
      const page = { ...found, skuId: params.sku_id, ...pageOf(query), limit };
      return { ok: true, value: (await services.read.premium.subscriptions(page)).map(subscriptionObject) };
    },
  }),

  get_sku_subscription: op({
    method: 'GET',
    path: '/skus/:sku_id/subscriptions/:subscription_id',
    auth: 'any',
    scope: 'any',
    bucket: READ,
    query: Obj({ user_id: Optional(Snowflake<UserId>()) }),
    status: 200,
    reply: Subscription,
    handle: async ({ params, query, caller }, services) => {
      const given = query.user_id ?? (caller.kind === 'bot' ? ANYBODY : undefined);
      const found = await subscribers(caller, params.sku_id, given, services);
      if ('no' in found) return found.no;
      const { applicationId, userId } = found;
      const subscription = await services.read.premium.subscription(applicationId, params.subscription_id);
      const isIt =
        subscription?.skuId === params.sku_id && (userId === ANYBODY || subscription.userId === userId);
      if (!isIt) return { ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') };
      return { ok: true, value: subscriptionObject(subscription) };
    },
  }),
});

/** Documented, and absent from the platform's OpenAPI. */
export const entitlementsUnlisted = resource({
  list_skus: op({
    method: 'GET',
    path: '/applications/:application_id/skus',
    auth: 'any',
    scope: 'any',
    bucket: READ,
    query: Obj({ withdrawn: Optional(Bool()) }),
    status: 200,
    reply: list(oneOf(Sku, PricedSku)),
    handle: async ({ params, query, caller }, services) => {
      const { application_id: id } = params;
      if (query.withdrawn === true && caller.kind === 'user' && !caller.authorization) {
        const all = await services.catalog.list(id, caller.userId);
        return all.ok ? { ok: true, value: all.value.map(pricedSku) } : all;
      }
      const no = services.applicationAccess.userOrApplicationRefusal(caller, id);
      if (no) return { ok: false, refusal: no };
      // People see what is for sale, as in the store.
      const isPerson = caller.kind === 'user';
      const skus = await services.read.premium.skus(id);
      const shown = isPerson ? skus.filter(({ flags }) => (flags & SKU_FLAG.AVAILABLE) !== 0) : skus;
      return { ok: true, value: shown.map((sku) => (isPerson ? pricedSku(sku) : skuObject(sku))) };
    },
  }),
});

const pageOf = ({ before, after }: { readonly before?: string; readonly after?: string }) => ({
  before: before ?? null,
  after: after ?? null,
});

/** The entitlement, if the caller reaches it. */
async function reached(
  caller: Caller,
  params: { readonly application_id: ApplicationId; readonly entitlement_id: EntitlementId },
  services: Services,
  action: ApplicationAction = 'viewEntitlements',
) {
  const { application_id: id, entitlement_id } = params;
  const scope = await services.applicationAccess.entitlements(caller, id, action);
  if (!scope.ok) return scope;
  const { userId } = scope.value;
  const entitlement = await services.read.premium.entitlement(id, entitlement_id);
  if (!entitlement || (userId !== null && entitlement.userId !== userId))
    return { ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') } as const;
  return { ok: true, entitlement } as const;
}

/** An id that no user has. */
const ANYBODY: UserId = snowflakeOf(0n);

/** The user whose subscriptions to a SKU are listed: a bot names the user, a person gets their own. */
async function subscribers(
  caller: Caller,
  skuId: SkuId,
  userId: UserId | undefined,
  { applicationAccess, read }: Services,
) {
  const sku = await read.premium.sku(skuId);
  if (!sku) return { no: { ok: false, refusal: refusal('UNKNOWN_SKU') } } as const;
  const applicationId = sku.application_id;
  const denied = applicationAccess.userOrApplicationRefusal(caller, applicationId);
  if (denied) return { no: { ok: false, refusal: denied } } as const;
  if (caller.kind === 'user') return { applicationId, userId: caller.userId };
  if (userId === undefined)
    return {
      no: { ok: false, refusal: invalidField(['user_id'], 'BASE_TYPE_REQUIRED', 'This field is required') },
    } as const;
  return { applicationId, userId };
}
