import type { EntitlementId, SkuId, SubscriptionId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import {
  type Billing,
  type Entitlement,
  type Perks,
  type Price,
  type Receiver,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  type Subscription,
} from '../../protocol/premium.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, refused } from '../kernel/aggregate.ts';
import { nameObjection } from '../user/user.ts';
import { follow, lapse } from './billing.ts';
import { orderOf, paid, refunded } from './orders.ts';
import type { PremiumFact } from './premium.ts';
import { type Decision, obtainable, type Shelf } from './shelf.ts';
import { begin, cancel, change, endedAtOnce, settle } from './subscriptions.ts';

/** Most SKUs of one application, with the groups of its subscriptions. */
const SKUS_MAX = 100;
/** Commands about the SKUs of an application. */
export type PremiumCommand =
  | {
      readonly kind: 'createSku';
      readonly name: string;
      readonly type: 'durable' | 'consumable' | 'subscription';
      /** Receiver of a subscription. */
      readonly owner: 'user' | 'guild';
      /** Whether people can get it at once; absent: yes. */
      readonly available?: boolean;
    }
  /** Changes the fields that are given. */
  | {
      readonly kind: 'editSku';
      readonly skuId: SkuId;
      readonly name?: string;
      readonly available?: boolean;
    }
  | { readonly kind: 'setPrice'; readonly skuId: SkuId; readonly price: Price | null }
  /** Perks of the SKU on this server; decided by the operator. */
  | { readonly kind: 'setPerks'; readonly skuId: SkuId; readonly perks: Perks }
  | { readonly kind: 'test'; readonly skuId: SkuId; readonly to: Receiver }
  | {
      readonly kind: 'grant';
      readonly skuId: SkuId;
      readonly to: Receiver;
      readonly gifterId: UserId | null;
      /** Length of a period of a subscription. */
      readonly days: number;
    }
  | { readonly kind: 'deleteTest'; readonly entitlementId: EntitlementId }
  | { readonly kind: 'refund'; readonly entitlementId: EntitlementId }
  | { readonly kind: 'consume'; readonly entitlementId: EntitlementId }
  | { readonly kind: 'cancel'; readonly subscriptionId: SubscriptionId; readonly atOnce: boolean }
  | { readonly kind: 'change'; readonly subscriptionId: SubscriptionId; readonly skuId: SkuId }
  | { readonly kind: 'settle'; readonly subscriptionId: SubscriptionId }
  | { readonly kind: 'order'; readonly skuId: SkuId; readonly to: Receiver; readonly payerId: UserId }
  /** The provider says that an order was paid; `billing` of a subscription. */
  | {
      readonly kind: 'paid';
      readonly orderId: string;
      readonly paymentId: string | null;
      readonly billing: Billing | null;
    }
  | { readonly kind: 'refunded'; readonly orderId: string }
  | { readonly kind: 'follow'; readonly orderId: string; readonly billing: Billing }
  /** The provider could not be asked: it is asked again at this time, Unix milliseconds. */
  | { readonly kind: 'postpone'; readonly subscriptionId: SubscriptionId; readonly checkMs: number };

type CommandOf<Kind extends PremiumCommand['kind']> = Extract<PremiumCommand, { kind: Kind }>;

/** Decides a command about the SKUs of an application. */
export function decidePremium(shelf: Shelf, command: PremiumCommand, env: Env): Decision {
  switch (command.kind) {
    case 'createSku':
      return createSku(shelf, command, env);
    case 'editSku':
      return editSku(shelf, command);
    case 'setPrice':
      return setPrice(shelf, command);
    case 'setPerks':
      return setPerks(shelf, command);
    case 'order':
      return orderOf(shelf, command, env);
    case 'paid':
      return paid(shelf, command, env);
    case 'refunded':
      return refunded(shelf, takeBack(shelf, { kind: 'refund' }, env));
    case 'follow':
      return follow(shelf, command.billing, env);
    case 'postpone':
      return ofSubscription(shelf, (subscription) => {
        const later = { ...subscription, checkMs: command.checkMs };
        return accepted(null, [{ type: 'subscriptionWritten', subscription: later, change: null }]);
      });
    case 'test':
    case 'grant':
      return grant(shelf, command, env);
    case 'deleteTest':
    case 'refund':
      return takeBack(shelf, command, env);
    case 'consume':
      return consume(shelf);
    case 'cancel':
      return ofSubscription(shelf, (subscription, last) => cancel(subscription, last, command.atOnce, env));
    case 'change':
      return ofSubscription(shelf, (subscription) => {
        const sku = shelf.skus.find(({ id }) => id === command.skuId);
        return sku ? change(subscription, sku) : refused(refusal('UNKNOWN_SKU'));
      });
    case 'settle':
      return ofSubscription(shelf, (subscription, last) =>
        (subscription.orderId === undefined ? settle : lapse)(subscription, last, env),
      );
  }
}

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** The refusal of a SKU's name: the rule of every other name. Null for a valid one. */
function nameRefusal(name: string): Refusal | null {
  const { sku_name_chars_max: max } = LIMITS;
  if (name.length <= max) return nameObjection(name, 'name');
  return invalidField(['name'], 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
}

/** A subscription comes with a group, which is not for sale. */
function createSku(
  { applicationId, skus }: Shelf,
  { name, type, owner, available = true }: CommandOf<'createSku'>,
  env: Env,
): Decision {
  if (skus.length + 2 > SKUS_MAX) return refused(refusal('INVALID_SKU'));
  const malformed = nameRefusal(name);
  if (malformed) return refused(malformed);
  const base = { application_id: applicationId, name, slug: slugOf(name) };
  const { DURABLE, CONSUMABLE, SUBSCRIPTION, GROUP } = SKU_TYPE;
  const { GUILD, USER } = SKU_FLAG;
  const shown = available ? SKU_FLAG.AVAILABLE : 0;
  const made = (given: Pick<Sku, 'type' | 'flags'>): PremiumFact => ({
    type: 'skuWritten',
    sku: { id: env.nextId(), ...base, ...given },
  });
  if (type !== 'subscription')
    return accepted(null, [made({ type: type === 'durable' ? DURABLE : CONSUMABLE, flags: shown })]);
  const flags = owner === 'guild' ? GUILD : USER;
  return accepted(null, [made({ type: SUBSCRIPTION, flags: flags | shown }), made({ type: GROUP, flags })]);
}

function editSku({ skus }: Shelf, { skuId, name, available }: CommandOf<'editSku'>): Decision {
  const before = skus.find(({ id }) => id === skuId);
  if (!before || before.type === SKU_TYPE.GROUP) return refused(refusal('UNKNOWN_SKU'));
  const { AVAILABLE } = SKU_FLAG;
  const flags =
    available === undefined ? before.flags : available ? before.flags | AVAILABLE : before.flags & ~AVAILABLE;
  const isRenamed = name !== undefined && name !== before.name;
  const malformed = isRenamed ? nameRefusal(name) : null;
  if (malformed) return refused(malformed);
  if (flags === before.flags && !isRenamed) return accepted(null);
  const named = isRenamed ? { name, slug: slugOf(name) } : {};
  return accepted(null, [{ type: 'skuWritten', sku: { ...before, ...named, flags } }]);
}

function setPrice({ skus }: Shelf, { skuId, price }: CommandOf<'setPrice'>): Decision {
  const before = skus.find(({ id }) => id === skuId);
  if (!before || before.type === SKU_TYPE.GROUP) return refused(refusal('UNKNOWN_SKU'));
  return accepted(null, [{ type: 'skuWritten', sku: { ...before, price } }]);
}

/** A guild has perks by subscriptions alone: everything else is for people. */
function setPerks({ skus }: Shelf, { skuId, perks }: CommandOf<'setPerks'>): Decision {
  const before = skus.find(({ id }) => id === skuId);
  if (!before || before.type === SKU_TYPE.GROUP) return refused(refusal('UNKNOWN_SKU'));
  const isForGuilds = (before.flags & SKU_FLAG.GUILD) !== 0;
  if (before.type === SKU_TYPE.CONSUMABLE || (isForGuilds ? perks.premiumType : perks.guildTier) !== 0)
    return refused(refusal('INVALID_SKU'));
  return accepted(null, [{ type: 'skuWritten', sku: { ...before, perks } }]);
}

function grant(shelf: Shelf, command: CommandOf<'test' | 'grant'>, env: Env): Decision {
  const isTest = command.kind === 'test';
  const found = obtainable(shelf, { ...command, isTest }, env);
  if (!found.ok) return refused(found.refusal);
  const { sku } = found;
  const entitlement: Entitlement = {
    ...{ id: env.nextId(), applicationId: shelf.applicationId, skuId: sku.id, ...command.to },
    gifterId: command.kind === 'grant' ? command.gifterId : null,
    test: isTest,
    startsMs: isTest ? null : env.nowMs,
    ...{ endsMs: null, untilMs: null, deleted: false, consumed: false, subscriptionId: null },
  };
  if (command.kind === 'grant' && sku.type === SKU_TYPE.SUBSCRIPTION)
    return begin(entitlement, command.days, env);
  return accepted(null, [{ type: 'entitlementWritten', entitlement, change: 'CREATE' }]);
}

/** @source https://docs.discord.com/developers/resources/entitlement#delete-test-entitlement */
function takeBack(
  shelf: Shelf,
  { kind }: Pick<CommandOf<'deleteTest' | 'refund'>, 'kind'>,
  env: Env,
): Decision {
  const { entitlement, subscription } = shelf;
  if (!entitlement || entitlement.deleted) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  if (kind === 'deleteTest' && !entitlement.test) return refused(refusal('ONLY_SANDBOX_ENTITLEMENTS'));
  const gone: PremiumFact = {
    type: 'entitlementWritten',
    entitlement: { ...entitlement, deleted: true },
    change: 'DELETE',
  };
  const isLast = subscription?.entitlementIds.at(-1) === entitlement.id;
  if (!subscription || !isLast) return accepted(null, [gone]);
  return accepted(null, [...endedAtOnce(subscription, env), gone]);
}

/** @source https://docs.discord.com/developers/resources/entitlement#consume-an-entitlement */
function consume({ entitlement, skus }: Shelf): Decision {
  if (!entitlement || entitlement.deleted) return refused(refusal('UNKNOWN_ENTITLEMENT'));
  const sku = skus.find(({ id }) => id === entitlement.skuId);
  if (sku?.type !== SKU_TYPE.CONSUMABLE) return refused(refusal('ONLY_CONSUMABLE_SKUS'));
  if (entitlement.consumed) return accepted(null);
  return accepted(null, [
    { type: 'entitlementWritten', entitlement: { ...entitlement, consumed: true }, change: 'UPDATE' },
  ]);
}

function ofSubscription(
  { subscription, entitlement }: Shelf,
  decide: (subscription: Subscription, last: Entitlement) => Decision,
): Decision {
  return subscription && entitlement
    ? decide(subscription, entitlement)
    : refused(refusal('UNKNOWN_ENTITLEMENT'));
}
