import type { Command } from 'commander';
import { isRecord } from '../protocol/json.ts';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

type Fields = Record<string, unknown>;
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Adds `sku`, `grant`, `refund` and `subscription`, with which the operator manages what applications sell. */
export function addPremiumCommands(program: Command, world: World): void {
  const sku = program.command('sku').description('what applications sell');
  const made = remote(sku, 'create <application> <name>', world, 'add something to sell', createSku);
  made
    .option('--type <type>', 'durable, consumable or subscription', 'durable')
    .option('--owner <owner>', 'receiver of a subscription: user or guild', 'user');
  remote(sku, 'offer <application> <sku>', world, 'let people get it', (ask, names) =>
    setAvailable(ask, names, true),
  );
  remote(
    sku,
    'withdraw <application> <sku>',
    world,
    'let nobody get it any more; who has it keeps it',
    (ask, names) => setAvailable(ask, names, false),
  );
  remote(sku, 'rename <application> <sku> <name>', world, 'give it another name', rename);
  remote(
    sku,
    'price <application> <sku> <amount> <currency>',
    world,
    'let people buy it in the store, where payments are configured',
    setPrice,
  ).option('--days <n>', 'length of each period of a subscription', '30');
  remote(
    sku,
    'perks <application> <sku>',
    world,
    'let it give a guild a premium tier, or a person a premium type',
    setPerks,
  )
    .option('--guild-tier <tier>', 'of a subscription for guilds: 0 to 3', '0')
    .option('--premium-type <type>', 'of a person: 0 to 3', '0');
  remote(program, 'grant <application> <sku> <user>', world, 'give a person what an application sells', grant)
    .option('--guild <guild id>', 'the guild that the person gets it for')
    .option('--gift-of <user id>', 'who gives it')
    .option('--days <n>', 'length of each period of a subscription', '30');
  remote(program, 'refund <application> <entitlement>', world, 'take back what somebody got', refund);
  const subscription = program.command('subscription').description('subscriptions to what applications sell');
  remote(
    subscription,
    'cancel <application> <subscription>',
    world,
    'let it end with its period',
    cancel,
  ).option('--now', 'end it at once');
  remote(
    subscription,
    'change <application> <subscription> <sku>',
    world,
    'make it one to another SKU from its next period on',
    change,
  );
}

async function createSku(ask: Remote, [id, name]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/skus`, { name, type: flags.type, owner: flags.owner });
  const rows = listOf(value.skus).map((sku) => `SKU ${sku.name} (${sku.id}), type ${sku.type}`);
  return { value, lines: [...rows, `Next: guildhall grant ${id} ${listOf(value.skus)[0]?.id} <user id>`] };
}

async function setAvailable(
  ask: Remote,
  [id, skuId]: readonly string[],
  available: boolean,
): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/skus/available`, { sku_id: skuId, available });
  const state = available ? 'can be had.' : 'can no longer be had.';
  return {
    value,
    lines: [
      `SKU ${skuId} ${state}`,
      `Next: guildhall sku ${available ? 'withdraw' : 'offer'} ${id} ${skuId} turns that round.`,
    ],
  };
}

async function rename(ask: Remote, [id, skuId, name]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/skus/name`, { sku_id: skuId, name });
  return { value, lines: [`SKU ${skuId} is called ${name}.`, `Next: open /store/${id} on the server.`] };
}

/** @param amount Such as 4.99. It is sent in the smallest unit of the currency. */
async function setPrice(
  ask: Remote,
  [id, skuId, amount = '', currency = '']: readonly string[],
  flags: Flags,
): Promise<CommandOutput> {
  const price = { amount: smallestUnit(amount, currency), currency: currency.toLowerCase() };
  const value = await ask('POST', `/applications/${id}/skus/price`, {
    ...{ sku_id: skuId, price: { ...price, days: Number(flags.days) } },
  });
  return {
    value,
    lines: [
      `SKU ${skuId} costs ${amount} ${currency.toUpperCase()}.`,
      `Next: open /store/${id} on the server, where people buy it once stripe_key and stripe_webhook_secret are set.`,
    ],
  };
}

async function setPerks(ask: Remote, [id, skuId]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/skus/perks`, {
    ...{ sku_id: skuId, guild_tier: Number(flags.guildTier), premium_type: Number(flags.premiumType) },
  });
  return {
    value,
    lines: [
      `SKU ${skuId} gives guild tier ${flags.guildTier} and premium type ${flags.premiumType}.`,
      `Next: guildhall grant ${id} ${skuId} <user id>`,
    ],
  };
}

/** @throws CommandError when the text is not an amount of this currency. */
function smallestUnit(amount: string, currency: string): number {
  const isAmount = /^\d{1,8}(\.\d{1,3})?$/.test(amount);
  if (!isAmount || !/^[A-Za-z]{3}$/.test(currency))
    throw new CommandError('The price is not an amount and a currency.', 'Write it as in: 4.99 EUR');
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  const units = Number(amount) * 10 ** digits;
  if (Math.abs(units - Math.round(units)) > 1e-6)
    throw new CommandError(`${currency} has ${digits} digits after the point.`, 'Write it as in: 4.99 EUR');
  return Math.round(units);
}

async function grant(
  ask: Remote,
  [id, skuId, userId]: readonly string[],
  flags: Flags,
): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/grants`, {
    ...{ sku_id: skuId, user_id: userId, days: Number(flags.days) },
    ...(flags.guild && { guild_id: flags.guild }),
    ...(flags.giftOf && { gifter_user_id: flags.giftOf }),
  });
  const [entitlement] = listOf(value.entitlements);
  const [subscription] = listOf(value.subscriptions);
  return {
    value,
    lines: [
      `User ${userId} has SKU ${skuId}: entitlement ${entitlement?.id}.`,
      ...(subscription
        ? [`Subscription ${subscription.id}, renewed at ${subscription.current_period_end}.`]
        : []),
      `Next: guildhall refund ${id} ${entitlement?.id} takes it back.`,
    ],
  };
}

async function refund(ask: Remote, [id, entitlementId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/refunds`, { entitlement_id: entitlementId });
  return {
    value,
    lines: [`Entitlement ${entitlementId} is deleted.`, 'Next: guildhall grant --help gives another.'],
  };
}

async function cancel(
  ask: Remote,
  [id, subscriptionId]: readonly string[],
  flags: Flags,
): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/subscriptions/cancel`, {
    ...{ subscription_id: subscriptionId, at_once: flags.now === true },
  });
  const [subscription] = listOf(value.subscriptions).reverse();
  return {
    value,
    lines: [
      `Subscription ${subscriptionId} ends at ${subscription?.current_period_end ?? 'the time it was to end'}.`,
      'Next: guildhall grant --help begins another.',
    ],
  };
}

async function change(ask: Remote, [id, subscriptionId, skuId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/subscriptions/change`, {
    ...{ subscription_id: subscriptionId, sku_id: skuId },
  });
  return {
    value,
    lines: [
      `Subscription ${subscriptionId} is to SKU ${skuId} from its next period on.`,
      `Next: guildhall subscription cancel ${id} ${subscriptionId} lets it end.`,
    ],
  };
}
