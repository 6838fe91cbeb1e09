import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { CommitAndNotify, DirectDispatch } from '../../actors/user/notifier.ts';
import { type WebhookEventFact, webhookEvent } from '../../engine/application/webhookevents.ts';
import { hasPremiumButton } from '../../engine/channel/premiumbuttons.ts';
import { ALL_SESSIONS } from '../../engine/fanout/direct.ts';
import type { Env, Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { PremiumFact } from '../../engine/premium/premium.ts';
import { decidePremium, type PremiumCommand } from '../../engine/premium/rules.ts';
import type { Shelf } from '../../engine/premium/shelf.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, FreshId, SkuId } from '../../protocol/ids.ts';
import {
  type Entitlement,
  entitlementObject,
  type Order,
  type Sku,
  type Subscription,
  subscriptionObject,
} from '../../protocol/premium.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import { skusForSale } from './forsale.ts';
import type { PerkKeeper } from './perks.ts';

export interface PremiumPorts {
  readonly storage: Pick<Storage, 'applications' | 'premium' | 'users'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly commitAndNotify: CommitAndNotify;
  readonly routing: Pick<Routing, 'ask'>;
  readonly perks: PerkKeeper;
  readonly onFault: (error: unknown, where: string) => void;
  nextId(): FreshId;
  nowMs(): number;
  /** A moment of the day whose dated rules apply at a time, Unix milliseconds. */
  rulesMs(nowMs: number): number;
}

/** The records that a command wrote, each in its new state. */
export interface PremiumChange {
  readonly skus: readonly Sku[];
  readonly entitlements: readonly Entitlement[];
  readonly subscriptions: readonly Subscription[];
  readonly orders: readonly Order[];
}

/** Changes what an application sells, and who has it. */
export interface Premium {
  run(applicationId: ApplicationId, command: PremiumCommand): Promise<Reply<PremiumChange>>;
  /** A person's premium type by what they have. */
  readonly premiumTypeOf: PerkKeeper['premiumTypeOf'];
  /**
   * SKUs of the author's application, for the premium buttons among the components that it sends. Reads nothing where
   * there are none, as in nearly all messages.
   */
  forButtons(applicationId: ApplicationId | null, components: unknown): Promise<readonly string[]>;
}

/** Runs the commands of an application one after another, on the owner shard of the application. */
export function createPremium(ports: PremiumPorts): Premium {
  const { storage, routing } = ports;
  const mutex = keyedMutex<ApplicationId>();
  const run: Premium['run'] = (applicationId, command) =>
    mutex(applicationId, async () => {
      const application = await storage.applications.get(applicationId);
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const no = await receiverRefusal(ports, command);
      if (no) return { ok: false, refusal: no };
      const nowMs = ports.nowMs();
      const env: Env = { nowMs, nextId: ports.nextId, rulesMs: ports.rulesMs(nowMs) };
      const outcome = decidePremium(await shelfOf(storage.premium, applicationId, command), command, env);
      if (!outcome.ok) return outcome;
      const { facts } = outcome;
      if (facts.length > 0) {
        const stored = [...facts, ...eventsOf(application, facts, env)];
        const notify = await ports.commitAndNotify(applicationId, stored, dispatchesOf(application, facts));
        notify();
      }
      await applyPerks(ports, facts, command);
      return { ok: true, value: changeOf(facts) };
    });
  return {
    run: routing.ask('premium.run', run),
    premiumTypeOf: ports.perks.premiumTypeOf,
    forButtons: async (applicationId, components) =>
      applicationId !== null && hasPremiumButton(components)
        ? skusForSale(storage.premium, applicationId)
        : [],
  };
}

/** A fault here is no fault of the command, which is durable: the clock applies all perks again within the hour. */
async function applyPerks(
  { perks, onFault }: Pick<PremiumPorts, 'perks' | 'onFault'>,
  facts: readonly PremiumFact[],
  { kind }: PremiumCommand,
): Promise<void> {
  const written = facts.flatMap((fact) => (fact.type === 'entitlementWritten' ? [fact.entitlement] : []));
  try {
    if (kind === 'setPerks') await perks.applyAll();
    else if (written.length > 0) await perks.apply(written);
  } catch (error) {
    onFault(error, 'perks');
  }
}

/** The refusal for a receiver that does not exist. */
async function receiverRefusal(
  { storage, guilds }: Pick<PremiumPorts, 'storage' | 'guilds'>,
  command: PremiumCommand,
): Promise<Refusal | null> {
  if (!('to' in command)) return null;
  const { userId, guildId } = command.to;
  const [user] = await storage.users.get([userId]);
  if (!user || user.bot) return refusal('UNKNOWN_USER');
  if (guildId === null) return null;
  const guild = await guilds.call(guildId, 'getGuild', { withCounts: false }, SYSTEM);
  return guild.ok ? null : guild.refusal;
}

/** Above every bound on one receiver's entitlements to one SKU. */
const HELD_MAX = 200;

async function shelfOf(
  store: PremiumPorts['storage']['premium'],
  applicationId: ApplicationId,
  command: PremiumCommand,
): Promise<Shelf> {
  const skus = await store.skus(applicationId);
  const base: Shelf = { applicationId, skus, entitlement: null, subscription: null, held: [], order: null };
  if ('orderId' in command) return ofOrder(store, base, command.orderId);
  if ('to' in command) {
    const order = command.kind === 'order' ? await store.openOrder(applicationId, command) : null;
    return { ...base, held: await heldBy(store, applicationId, command), order };
  }
  if ('entitlementId' in command) {
    const entitlement = await store.entitlement(applicationId, command.entitlementId);
    const id = entitlement?.subscriptionId ?? null;
    const subscription = id === null ? null : await store.subscription(applicationId, id);
    return { ...base, entitlement, subscription };
  }
  if (!('subscriptionId' in command)) return base;
  const subscription = await store.subscription(applicationId, command.subscriptionId);
  const lastId = subscription?.entitlementIds.at(-1);
  const entitlement = lastId === undefined ? null : await store.entitlement(applicationId, lastId);
  return { ...base, subscription, entitlement };
}

/** A receiver's entitlement to a SKU. One that the operator cancelled does not count and can be granted again. */
async function heldBy(
  store: PremiumPorts['storage']['premium'],
  applicationId: ApplicationId,
  { skuId, to: { guildId, userId } }: { readonly skuId: SkuId; readonly to: Order['to'] },
): Promise<readonly Entitlement[]> {
  const held = await store.entitlements({
    ...{ applicationId, guildId, userId: guildId === null ? userId : null, skuIds: [skuId] },
    ...{ before: null, after: null, limit: HELD_MAX, endedByMs: null, activeAtMs: null },
    ...{ withDeleted: false, withConsumed: false },
  });
  return held.filter(
    ({ guildId: of, untilMs, orderId }) => of === guildId && (untilMs === null || orderId !== undefined),
  );
}

/** An order with what it gave. */
async function ofOrder(store: PremiumPorts['storage']['premium'], base: Shelf, id: string): Promise<Shelf> {
  const { applicationId } = base;
  const order = await store.order(applicationId, id);
  if (!order) return base;
  const { subscriptionId } = order;
  const subscription =
    subscriptionId === null ? null : await store.subscription(applicationId, subscriptionId);
  const lastId = subscription?.entitlementIds.at(-1) ?? order.entitlementId;
  const entitlement = lastId === null ? null : await store.entitlement(applicationId, lastId);
  return { ...base, order, subscription, entitlement, held: await heldBy(store, applicationId, order) };
}

/** @source https://docs.discord.com/developers/events/webhook-events#entitlement-create */
const eventsOf = (application: Application, facts: readonly PremiumFact[], env: Env): WebhookEventFact[] =>
  facts.flatMap((fact) =>
    fact.type === 'entitlementWritten' && fact.change !== null
      ? webhookEvent(application, `ENTITLEMENT_${fact.change}`, entitlementObject(fact.entitlement), env)
      : [],
  );

/** The application's bot receives every change, and the receiver's own sessions what the receiver gets and loses. */
const dispatchesOf = ({ bot_id: botId }: Application, facts: readonly PremiumFact[]): DirectDispatch[] =>
  facts.flatMap((fact): DirectDispatch[] => {
    const botIds = botId === null ? [] : [botId];
    if (fact.type === 'entitlementWritten' && fact.change !== null) {
      const { entitlement, change } = fact;
      const userIds = [...botIds, entitlement.userId];
      const d = entitlementObject(entitlement);
      return [{ userIds, filter: ALL_SESSIONS, t: `ENTITLEMENT_${change}`, d }];
    }
    if (fact.type === 'subscriptionWritten' && fact.change !== null && botIds.length > 0) {
      const { subscription, change } = fact;
      const d = subscriptionObject(subscription);
      return [{ userIds: botIds, filter: ALL_SESSIONS, t: `SUBSCRIPTION_${change}`, d }];
    }
    return [];
  });

const changeOf = (facts: readonly PremiumFact[]): PremiumChange => ({
  skus: facts.flatMap((fact) => (fact.type === 'skuWritten' ? [fact.sku] : [])),
  entitlements: facts.flatMap((fact) => (fact.type === 'entitlementWritten' ? [fact.entitlement] : [])),
  subscriptions: facts.flatMap((fact) => (fact.type === 'subscriptionWritten' ? [fact.subscription] : [])),
  orders: facts.flatMap((fact) => (fact.type === 'orderWritten' ? [fact.order] : [])),
});
