import type { Reply } from '../../engine/kernel/aggregate.ts';
import { givesAccess } from '../../engine/premium/premium.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, GuildId, SkuId, SubscriptionId, UserId } from '../../protocol/ids.ts';
import {
  type Entitlement,
  type Price,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  SUBSCRIPTION_STATUS,
  type Subscription,
} from '../../protocol/premium.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Payments } from './payments.ts';

/** A SKU as a store lists it. */
export interface Good {
  readonly id: SkuId;
  readonly name: string;
  readonly kind: 'durable' | 'consumable' | 'subscription';
  readonly isForGuilds: boolean;
  readonly price: Price | null;
}

/** An entitlement or subscription of the viewer. */
export interface Possession {
  readonly id: string;
  readonly name: string;
  readonly guildId: GuildId | null;
  readonly sinceMs: number | null;
  /** Null for what is no subscription. */
  readonly subscription: Subscription | null;
  /** The SKUs that the subscription may change to. */
  readonly choices: readonly Good[];
}

export interface Shop {
  readonly application: Application;
  readonly takesMoney: boolean;
  readonly goods: readonly Good[];
  readonly yours: readonly Possession[];
  readonly guilds: readonly { readonly id: GuildId; readonly name: string }[];
}

interface Wish {
  readonly viewerId: UserId;
  readonly skuId: SkuId;
  /** For a SKU for guilds. */
  readonly guildId: GuildId | null;
  /** Username of somebody else who gets it; empty for the viewer. */
  readonly friend: string;
}

/** Actions of one person in the store of an application. */
export interface Store {
  /** Null for an unknown application. */
  shop(applicationId: ApplicationId, viewerId: UserId): Promise<Shop | null>;
  buy(applicationId: ApplicationId, wish: Wish): Promise<Reply<{ readonly url: string }>>;
  cancel(
    applicationId: ApplicationId,
    viewerId: UserId,
    subscriptionId: SubscriptionId,
  ): Promise<Reply<unknown>>;
  change(
    applicationId: ApplicationId,
    viewerId: UserId,
    to: { readonly subscriptionId: SubscriptionId; readonly skuId: SkuId },
  ): Promise<Reply<unknown>>;
}

interface StorePorts {
  readonly storage: Pick<Storage, 'applications' | 'premium' | 'users'>;
  readonly payments: Payments;
  guildsOf(userId: UserId): Promise<readonly { readonly id: GuildId; readonly name: string }[]>;
  nowMs(): number;
}

/** Most of a person's things that a store shows. */
const SHOWN_MAX = 100;

const KINDS: Readonly<Record<number, Good['kind']>> = {
  [SKU_TYPE.DURABLE]: 'durable',
  [SKU_TYPE.CONSUMABLE]: 'consumable',
  [SKU_TYPE.SUBSCRIPTION]: 'subscription',
};

export function createStore(ports: StorePorts): Store {
  const { storage, payments } = ports;
  const ownSubscription = async (applicationId: ApplicationId, viewerId: UserId, id: SubscriptionId) => {
    const subscription = await storage.premium.subscription(applicationId, id);
    return subscription && (await isPayer(ports, subscription, viewerId)) ? subscription : null;
  };
  const UNKNOWN = { ok: false, refusal: refusal('UNKNOWN_ENTITLEMENT') } as const;
  return {
    shop: (applicationId, viewerId) => shopOf(ports, applicationId, viewerId),

    async buy(applicationId, { viewerId, skuId, guildId, friend }) {
      const sku = await storage.premium.sku(skuId);
      if (sku?.application_id !== applicationId) return { ok: false, refusal: refusal('UNKNOWN_SKU') };
      if (guildId !== null && !(await ports.guildsOf(viewerId)).some(({ id }) => id === guildId))
        return { ok: false, refusal: refusal('UNKNOWN_GUILD') };
      const userId = friend === '' ? viewerId : await userNamed(ports, friend);
      if (userId === null)
        return { ok: false, refusal: invalidField(['friend'], 'USER_UNKNOWN', 'No user has this username.') };
      return payments.buy(applicationId, { skuId, payerId: viewerId, to: { userId, guildId } });
    },

    async cancel(applicationId, viewerId, subscriptionId) {
      const found = await ownSubscription(applicationId, viewerId, subscriptionId);
      if (!found) return UNKNOWN;
      return payments.run(applicationId, { kind: 'cancel', subscriptionId, atOnce: false });
    },

    async change(applicationId, viewerId, { subscriptionId, skuId }) {
      const found = await ownSubscription(applicationId, viewerId, subscriptionId);
      // A period that the operator gave costs nothing, so its owner may not choose a dearer one.
      if (found?.orderId === undefined) return UNKNOWN;
      return payments.run(applicationId, { kind: 'change', subscriptionId, skuId });
    },
  };
}

/** The payer may change it; for a grant of the operator, its receiver. */
async function isPayer(
  { storage }: Pick<StorePorts, 'storage'>,
  { applicationId, orderId, userId }: Subscription,
  viewerId: UserId,
): Promise<boolean> {
  if (orderId === undefined) return userId === viewerId;
  return (await storage.premium.order(applicationId, orderId))?.payerId === viewerId;
}

async function userNamed({ storage }: Pick<StorePorts, 'storage'>, name: string): Promise<UserId | null> {
  const [person, another] = await storage.users.peopleNamed(name.trim().toLowerCase());
  return person && !another ? person.id : null;
}

const goodOf = ({ id, name, type, flags, price = null }: Sku): Good[] => {
  const kind = KINDS[type];
  if (kind === undefined) return [];
  return [{ id, name, kind, price, isForGuilds: (flags & SKU_FLAG.GUILD) !== 0 }];
};

async function shopOf(
  ports: StorePorts,
  applicationId: ApplicationId,
  viewerId: UserId,
): Promise<Shop | null> {
  const { storage, payments, nowMs } = ports;
  const application = await storage.applications.get(applicationId);
  if (!application) return null;
  const [skus, held] = await Promise.all([
    storage.premium.skus(applicationId),
    storage.premium.entitlements({
      ...{ applicationId, userId: viewerId, guildId: null, skuIds: null, before: null, after: null },
      ...{ limit: SHOWN_MAX, endedByMs: null, activeAtMs: nowMs(), withDeleted: false, withConsumed: false },
    }),
  ]);
  const goods = skus.filter(({ flags }) => (flags & SKU_FLAG.AVAILABLE) !== 0).flatMap(goodOf);
  const mine = held.filter((each) => givesAccess(each, nowMs()));
  const names = new Map(skus.map(({ id, name }) => [id, name]));
  const yours = mine.map((entitlement) => possessionOf(ports, entitlement, { names, goods, viewerId }));
  const guilds = goods.some(({ isForGuilds }) => isForGuilds) ? await ports.guildsOf(viewerId) : [];
  return { application, takesMoney: payments.takesMoney, goods, yours: await Promise.all(yours), guilds };
}

async function possessionOf(
  ports: StorePorts,
  { id, applicationId, skuId, guildId, startsMs, subscriptionId }: Entitlement,
  known: {
    readonly names: ReadonlyMap<string, string>;
    readonly goods: readonly Good[];
    readonly viewerId: UserId;
  },
): Promise<Possession> {
  const found =
    subscriptionId === null ? null : await ports.storage.premium.subscription(applicationId, subscriptionId);
  const subscription = found && (await isPayer(ports, found, known.viewerId)) ? found : null;
  const isOpen = subscription?.orderId !== undefined && subscription.status === SUBSCRIPTION_STATUS.ACTIVE;
  const next = subscription?.renewalSkuId ?? subscription?.skuId;
  return {
    ...{ id, guildId, sinceMs: startsMs, subscription, name: known.names.get(skuId) ?? skuId },
    choices: known.goods.filter(
      (good) =>
        isOpen &&
        good.kind === 'subscription' &&
        good.id !== next &&
        good.isForGuilds === (guildId !== null) &&
        (good.price?.days ?? 0) * DAY_MS === subscription.periodMs,
    ),
  };
}

const DAY_MS = 86_400_000;
