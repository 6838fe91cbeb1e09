// Goal: an unmodified discord.js bot sells: it lists, tests, consumes and deletes entitlements, and receives an event
// for each.
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  type Entitlement,
  Events,
  GatewayIntentBits,
  REST,
  Routes,
  SKUFlags,
  type TextChannel,
} from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Made {
  readonly skus: readonly { readonly id: string; readonly type: number }[];
  readonly entitlements: readonly { readonly id: string; readonly ends_at: string | null }[];
  readonly subscriptions: readonly { readonly id: string; readonly status: number }[];
}

let server: TestServer;
let client: Client<true>;
let application: string;
/** Events that the bot received, in order. */
const heard: string[] = [];

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  const { api, cdn } = server.info;
  client = new Client({
    intents: [GatewayIntentBits.Guilds],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  }) as Client<true>;
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  client.on(Events.EntitlementCreate, ({ id }) => heard.push(`created ${id}`));
  client.on(Events.EntitlementUpdate, (_, { id }) => heard.push(`updated ${id}`));
  client.on(Events.EntitlementDelete, ({ id }) => heard.push(`deleted ${id}`));
  client.on(Events.SubscriptionCreate, ({ id }) => heard.push(`subscribed ${id}`));
  client.on(Events.SubscriptionUpdate, (_, { id, status }) => heard.push(`status ${id} ${status}`));
  await client.login(server.info.bot.token);
  await ready;
  application = `/applications/${server.info.application.id}`;
});
afterAll(async () => {
  await client?.destroy();
  await server?.finish();
});

const sku = async (name: string, type: string, owner = 'user') =>
  (await server.admin<Made>(`${application}/skus`, { name, type, owner })).skus[0]!.id;
const hears = (what: string) => expect.poll(() => heard, { timeout: 10_000 }).toContain(what);

test('SKUs are listed, a subscription with its group', async () => {
  await sku('Lantern', 'durable');
  await sku('Lighthouse', 'subscription');
  const skus = await client.application.fetchSKUs();
  expect(skus.map(({ name, type, slug }) => ({ name, type, slug }))).toEqual([
    { name: 'Lantern', type: 2, slug: 'lantern' },
    { name: 'Lighthouse', type: 5, slug: 'lighthouse' },
    { name: 'Lighthouse', type: 6, slug: 'lighthouse' },
  ]);
});

test('a test entitlement is made, read and deleted', async () => {
  const skuId = await sku('Compass', 'durable');
  const userId = server.info.users[0]!.id;
  const { entitlements } = client.application;
  const made: Entitlement = await entitlements.createTest({ sku: skuId, user: userId });
  expect(made).toMatchObject({ skuId, userId, startsAt: null, endsAt: null, deleted: false });
  await hears(`created ${made.id}`);
  expect(await entitlements.fetch({ entitlement: made.id, force: true, cache: false })).toMatchObject({
    skuId,
  });
  const found = await entitlements.fetch({ user: userId, skus: [skuId], excludeEnded: true, cache: false });
  expect([...found.keys()]).toEqual([made.id]);
  await entitlements.deleteTest(made.id);
  await hears(`deleted ${made.id}`);
  expect((await entitlements.fetch({ skus: [skuId], cache: false })).size).toBe(0);
  expect((await entitlements.fetch({ skus: [skuId], excludeDeleted: false, cache: false })).size).toBe(1);
});

test('a test entitlement of a guild is listed by its guild', async () => {
  const skuId = await sku('Harbour', 'subscription', 'guild');
  const { entitlements } = client.application;
  const made = await entitlements.createTest({ sku: skuId, guild: server.info.guild.id });
  expect(made).toMatchObject({ skuId, guildId: server.info.guild.id });
  const found = await entitlements.fetch({ guild: server.info.guild.id, cache: false });
  expect([...found.keys()]).toEqual([made.id]);
});

test('a consumable is consumed once, and no other entitlement can be', async () => {
  const [potion, sword] = [await sku('Potion', 'consumable'), await sku('Sword', 'durable')];
  const to = { user_id: server.info.users[0]!.id };
  const grant = async (skuId: string) =>
    (await server.admin<Made>(`${application}/grants`, { ...to, sku_id: skuId })).entitlements[0]!.id;
  const [drunk, kept] = [await grant(potion), await grant(sword)];
  await client.application.entitlements.consume(drunk);
  await hears(`updated ${drunk}`);
  await expect(client.application.entitlements.consume(kept)).rejects.toMatchObject({ code: 40018 });
  await expect(client.application.entitlements.deleteTest(kept)).rejects.toMatchObject({ code: 40019 });
  const owner = callerOf(server, `Bearer ${server.info.users[0]!.token}`);
  const ids = async (query: string) =>
    (await owner<{ id: string }[]>(`GET /users/@me${application}/entitlements${query}`)).map(({ id }) => id);
  expect(await ids('')).toEqual([drunk, kept]);
  expect(await ids(`?exclude_consumed=true&sku_ids=${potion},${sword}`)).toEqual([kept]);
  await server.admin(`${application}/refunds`, { entitlement_id: kept });
  await hears(`deleted ${kept}`);
});

test('a subscription begins, changes, is cancelled and ends', async () => {
  const [silver, gold] = [await sku('Silver', 'subscription'), await sku('Gold', 'subscription')];
  const userId = server.info.users[1]!.id;
  const path = `${application}/subscriptions`;
  const begun = await server.admin<Made>(`${application}/grants`, { sku_id: silver, user_id: userId });
  const [{ id }, entitlement] = [begun.subscriptions[0]!, begun.entitlements[0]!];
  await hears(`subscribed ${id}`);
  await hears(`created ${entitlement.id}`);
  await server.admin(`${path}/change`, { subscription_id: id, sku_id: gold });
  const bot = callerOf(server, `Bot ${server.info.bot.token}`);
  const list = `GET /skus/${silver}/subscriptions`;
  expect(await bot(`${list}?user_id=${userId}`)).toMatchObject([{ id, status: 0, renewal_sku_ids: [gold] }]);
  await server.admin(`${path}/cancel`, { subscription_id: id });
  await hears(`status ${id} 2`);
  expect(await bot(`${list}/${id}`)).toMatchObject({ id, status: 2, renewal_sku_ids: null });
  const read = () => client.application.entitlements.fetch({ entitlement: entitlement.id, force: true });
  expect((await read()).endsAt).toBeNull();
  await server.admin(`${path}/cancel`, { subscription_id: id, at_once: true });
  await hears(`status ${id} 1`);
  expect((await read()).endsAt).not.toBeNull();
});

test('an interaction carries the entitlements of its user and guild while they give access', async () => {
  const own = await sku('Own sail', 'durable');
  const shared = await sku('Shared sail', 'subscription', 'guild');
  const { entitlements, commands } = client.application;
  const mine = await entitlements.createTest({ sku: own, user: server.info.users[0]!.id });
  const ours = await entitlements.createTest({ sku: shared, guild: server.info.guild.id });
  const { id, version, name, type } = await commands.create({ name: 'sail', description: 's' });
  const command = { id, version: String(version), name, type };
  const people = [await Person.of(server), await Person.of(server, { index: 1 })];
  const told: string[][] = [];
  client.on(Events.InteractionCreate, async (interaction) => {
    told.push([...interaction.entitlements.values()].map(({ skuId }) => skuId));
    if (interaction.isChatInputCommand() && interaction.commandName === 'sail') await interaction.reply('x');
  });
  const uses = async (person: number): Promise<string[]> => {
    const before = told.length;
    await people[person]!.slash(command);
    await expect.poll(() => told.length, { timeout: 10_000 }).toBe(before + 1);
    return told.at(-1)!.filter((one) => [own, shared].includes(one));
  };
  expect(await uses(0)).toEqual([own, shared]);
  expect(await uses(1)).toEqual([shared]);
  await entitlements.deleteTest(mine.id);
  await entitlements.deleteTest(ours.id);
  expect(await uses(0)).toEqual([]);
  for (const person of people) person.close();
});

const shop = (skuId: string) => [
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setStyle(ButtonStyle.Premium).setSKUId(skuId),
  ),
];

test('the owner of the application adds a SKU without the operator, and its bot offers it once it is published', async () => {
  const [person] = server.info.users;
  await server.admin(`${application}/owner`, { user_id: person!.id });
  const owner = callerOf(server, `Bearer ${person!.token}`);
  type Sku = { id: string; name: string; flags: number };
  const made = await owner<Sku>(`POST ${application}/skus`, { name: 'Sextant', type: 'durable' });
  const channel = (await client.channels.fetch(server.info.guild.text_channel_id)) as TextChannel;
  await expect(channel.send({ components: shop(made.id) })).rejects.toMatchObject({ code: 50035 });
  const edited = await owner<Sku>(`PATCH ${application}/skus/${made.id}`, {
    name: 'Octant',
    available: true,
  });
  expect(edited).toMatchObject({ id: made.id, name: 'Octant', flags: 4 });
  expect((await channel.send({ components: shop(made.id) })).components).toHaveLength(1);
  expect((await client.application!.fetchSKUs()).get(made.id)?.name).toBe('Octant');
});

test('premium buttons name what the application sells', async () => {
  const [sold, withdrawn] = [await sku('Anchor', 'durable'), await sku('Old anchor', 'durable')];
  await server.admin(`${application}/skus/available`, { sku_id: withdrawn, available: false });
  const invalid = { code: 50035, message: expect.stringContaining('BUTTON_COMPONENT_INVALID_SKU') };
  const channel = (await client.channels.fetch(server.info.guild.text_channel_id)) as TextChannel;
  const message = await channel.send({ content: 'shop', components: shop(sold) });
  expect(message.components).toMatchObject([{ components: [{ data: { style: 6, sku_id: sold } }] }]);
  for (const unsold of [withdrawn, '123'])
    await expect(channel.send({ components: shop(unsold) })).rejects.toMatchObject(invalid);
  await expect(message.edit({ components: shop(withdrawn) })).rejects.toMatchObject(invalid);
  const forged = { content: 'x', sku_ids: ['123'], skuIds: ['123'], components: shop('123') };
  await expect(client.rest.post(Routes.channelMessages(channel.id), { body: forged })).rejects.toMatchObject(
    invalid,
  );
  const webhook = await channel.createWebhook({ name: 'shop' });
  expect((await webhook.send({ components: shop(sold) })).components).toHaveLength(1);
  await expect(webhook.send({ components: shop(withdrawn) })).rejects.toMatchObject(invalid);
});

test('an application answers with premium buttons for its SKUs; one for an unknown SKU is rejected', async () => {
  const sold = await sku('Rudder', 'durable');
  const steer = await client.application.commands.create({ name: 'steer', description: 's' });
  const person = await Person.of(server);
  const told: Promise<string>[] = [];
  client.on(Events.InteractionCreate, (interaction) => {
    if (!interaction.isChatInputCommand() || interaction.commandName !== 'steer') return;
    const answer = async () => {
      await interaction.reply({ content: 'first', components: shop(sold) });
      const more = await interaction.followUp({ content: 'more', components: shop(sold) });
      const changed = await interaction.editReply({ content: 'changed', components: shop(sold) });
      const { message } = await interaction.followUp({ components: shop('123') }).catch((fault) => fault);
      return JSON.stringify([more.components, changed.components, message]);
    };
    told.push(answer());
  });
  const { id, version, name, type } = steer;
  await person.slash({ id, version: String(version), name, type });
  await expect.poll(() => told.length, { timeout: 10_000 }).toBe(1);
  expect(await told[0]).toMatch(new RegExp(`${sold}.*${sold}.*BUTTON_COMPONENT_INVALID_SKU`));
  person.close();
});

test('PREMIUM_REQUIRED shows the invoker what the application sells, and needs something for sale', async () => {
  const [ours, other] = await Promise.all([Person.of(server), Person.of(server, { bot: 1 })]);
  const body = { type: 10 };
  const path = ({ id, token }: { id: string; token: string }) => Routes.interactionCallback(id, token);
  const answers = async (index: number, person: Person) => {
    const { token, application_id: applicationId } = server.info.bots[index]!;
    const bot = await GatewayClient.ready(server.info.gateway, { token });
    const rest = new REST({ api: server.info.api, version: '10' }).setToken(token);
    const route = Routes.applicationCommands(applicationId);
    const made = (await rest.post(route, { body: { name: 'pay', description: 'p' } })) as never;
    const { id } = await person.slash(made);
    const invoked = await bot.dispatch<{ id: string; token: string }>(
      'INTERACTION_CREATE',
      (d) => d.id === id,
    );
    bot.close();
    return { id, answered: rest.post(path(invoked), { body, auth: false }) };
  };
  const sold = (await client.application.fetchSKUs()).filter(({ flags }) => flags.has(SKUFlags.Available));
  const { id, answered } = await answers(0, ours);
  await answered;
  const shown = await ours.answer(id);
  expect(shown).toMatchObject({ type: 26, flags: 64, content: '' });
  const skuIds = [...sold.keys()].slice(0, 5);
  expect(shown.components).toMatchObject([
    { components: skuIds.map((skuId) => ({ style: 6, sku_id: skuId })) },
  ]);
  await expect((await answers(1, other)).answered).rejects.toMatchObject({ code: 50035 });
  for (const person of [ours, other]) person.close();
});
