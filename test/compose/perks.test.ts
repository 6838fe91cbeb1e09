// Goal: SKUs to which the operator gave perks raise the tier of a guild and the premium type of a person for as long as they give access.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { movableClock } from '../../actors/runtime/clock.ts';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { GuildId, SkuId, UserId } from '../../protocol/ids.ts';
import type { Perks } from '../../protocol/premium.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { ownUser } from '../../transports/rest/accounts.ts';

const DAY_MS = 86_400_000;
const soon = { timeout: 10_000, interval: 50 };
let engine: Engine;
let application: NewApplication;
let owner: UserId;
let guildId: GuildId;
const clock = movableClock();

beforeAll(async () => {
  engine = await createEngine({ clock, config: { listen_port: 0, voice: false, log_level: 'silent' } });
  owner = (await engine.admin.createUser({ username: 'ada' })).user.id as UserId;
  application = await engine.admin.createApplication({ name: 'Patrons', ownerId: owner });
  guildId = (await engine.admin.createGuild({ name: 'Hall', ownerId: owner })).id as GuildId;
}, 60_000);
afterAll(() => engine?.close());

const run = (command: Parameters<Engine['admin']['premium']>[1]) =>
  engine.admin.premium(application.application.id, command);

async function skuWith(type: 'durable' | 'consumable' | 'subscription', perks: Perks): Promise<SkuId> {
  const { skus } = await run({ kind: 'createSku', name: 'Patron', type, owner: 'guild' });
  await run({ kind: 'setPerks', skuId: skus[0]!.id, perks });
  return skus[0]!.id;
}

const grant = (skuId: SkuId, guild: GuildId | null) =>
  run({ kind: 'grant', skuId, to: { userId: owner, guildId: guild }, gifterId: null, days: 30 });
const tier = async () => {
  const { premium_tier, premium_subscription_count } = await engine.api.get_guild(
    { params: { guild_id: guildId } },
    { as: owner },
  );
  return [premium_tier, premium_subscription_count];
};
const premiumType = async () => (await engine.api.get_my_user({}, { as: owner })).premium_type;

describe('the perks of a SKU', () => {
  test('raise a guild to the highest tier of its subscriptions, until their last periods end', async () => {
    const [silver, gold] = [
      await skuWith('subscription', { guildTier: 1, premiumType: 0 }),
      await skuWith('subscription', { guildTier: 3, premiumType: 0 }),
    ];
    const { subscriptions } = await grant(silver, guildId);
    expect(await tier()).toEqual([1, 2]);
    const best = await grant(gold, guildId);
    expect(await tier()).toEqual([3, 14]);
    await run({ kind: 'refund', entitlementId: best.entitlements[0]!.id });
    expect(await tier()).toEqual([1, 2]);
    await run({ kind: 'cancel', subscriptionId: subscriptions[0]!.id, atOnce: false });
    await engine.admin.moveClock(29 * DAY_MS);
    expect(await tier()).toEqual([1, 2]);
    await engine.admin.moveClock(2 * DAY_MS);
    await expect.poll(tier, soon).toEqual([0, 0]);
  });

  test('set the premium type of a person, which only that person sees', async () => {
    const skuId = await skuWith('durable', { guildTier: 0, premiumType: 2 });
    expect(await premiumType()).toBe(0);
    const { entitlements } = await grant(skuId, null);
    expect(await premiumType()).toBe(2);
    expect(await engine.api.get_user({ params: { user_id: owner } }, { as: owner })).not.toHaveProperty(
      'premium_type',
      2,
    );
    await run({ kind: 'refund', entitlementId: entitlements[0]!.id });
    expect(await premiumType()).toBe(0);
  });

  test('are not given for test entitlements, which an application can create for anybody', async () => {
    const test = (skuId: SkuId, guild: GuildId | null) =>
      run({ kind: 'test', skuId, to: { userId: owner, guildId: guild } });
    await test(await skuWith('durable', { guildTier: 0, premiumType: 3 }), null);
    expect(await premiumType()).toBe(0);
    const before = await tier();
    await test(await skuWith('subscription', { guildTier: 3, premiumType: 0 }), guildId);
    expect(await tier()).toEqual(before);
  });

  test('change for existing owners of the SKU when the operator changes them', async () => {
    const skuId = await skuWith('subscription', { guildTier: 0, premiumType: 0 });
    await grant(skuId, guildId);
    expect(await tier()).toEqual([0, 0]);
    await run({ kind: 'setPerks', skuId, perks: { guildTier: 2, premiumType: 0 } });
    expect(await tier()).toEqual([2, 7]);
  });

  test.each([
    ['consumable', { guildTier: 0, premiumType: 1 }],
    ['durable', { guildTier: 1, premiumType: 0 }],
    ['subscription', { guildTier: 0, premiumType: 1 }],
  ] as const)('are rejected for a %s with %j', async (type, perks) => {
    await expect(skuWith(type, perks)).rejects.toMatchObject({ refusal: { code: 50_057 } });
  });
});

test.each([
  [null, 2],
  [['identify'], 0],
  [['identify', 'identify.premium'], 2],
] as const)('an application with the scopes %j sees premium type %i', async (scopes, seen) => {
  const user = { id: owner, username: 'ada', discriminator: '0', global_name: null, avatar: null };
  const ports = {
    accounts: { profile: async () => null as never },
    premium: { premiumTypeOf: async () => 2 as const },
  };
  const own = await ownUser(user, scopes && new Set<Scope>(scopes), ports);
  expect(own.premium_type).toBe(seen);
});
