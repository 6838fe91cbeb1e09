// Goal: an invocation names the session that receives its events, an application is added by its link, and each shard of a bot receives its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import { asking } from '../services/oauth/flows.ts';
import { until } from '../support/instance.ts';
import { openInteractions, wellDone } from '../support/interactioninstance.ts';

const PING = { name: 'ping', description: 'Answers.' };
const OWN = ['INTERACTION_CREATE', 'INTERACTION_SUCCESS', 'INTERACTION_MODAL_CREATE'];

let at: Awaited<ReturnType<typeof openInteractions>>;
beforeAll(async () => {
  at = await openInteractions();
}, 60_000);
afterAll(() => at.instance.close());

/** Another connection of a person; of the owner without an id. */
async function connected(userId: UserId = at.instance.ownerId) {
  return at.instance.connect((await at.instance.identity.issue(userId, 'user')).reveal());
}

describe('the session that an invocation names', () => {
  test('receives the events of the invocation, and no other session does', async () => {
    const others = [await connected(), at.bot];
    const sent = await at.use(await at.command(PING));
    const form = {
      ...{ custom_id: 'form', title: 'Form' },
      components: [{ type: 18, label: 'Words', component: { type: 4, custom_id: 'words', style: 1 } }],
    };
    wellDone(await at.answer(sent, CALLBACK.MODAL, form));
    await at.shown(at.person.sink, 'INTERACTION_SUCCESS');
    expect(OWN.every((t) => at.person.sink.names.includes(t))).toBe(true);
    expect(others[0]!.sink.names.filter((t) => OWN.includes(t))).toEqual([]);
    expect(others[1]!.sink.names.filter((t) => OWN.slice(1).includes(t))).toEqual([]);
  });

  test.each<[string, () => Promise<string>]>([
    ['unknown', async () => 'f'.repeat(32)],
    [
      'of another person',
      async () => {
        const { user } = await at.instance.operator.createUser({ username: 'bert' });
        return (await connected(user.id as UserId)).session.id;
      },
    ],
    ['of a bot', async () => at.bot.session.id],
  ])('is rejected when it is %s, and the application receives nothing', async (_, sessionOf) => {
    const one = await at.command(PING);
    const before = at.bot.sink.dispatches.length;
    const asked = { type: INTERACTION.COMMAND, data: at.dataOf(one), sessionId: await sessionOf() };
    expect(await at.ask(asked)).toMatchObject({
      ok: false,
      refusal: { code: 50_035, errors: { session_id: { _errors: [{ code: 'UNKNOWN_SESSION' }] } } },
    });
    expect(at.bot.sink.names.slice(before)).not.toContain('INTERACTION_CREATE');
  });

  test('may be omitted, and the answer is still sent to the channel', async () => {
    const one = await at.command(PING);
    const before = at.person.sink.dispatches.length;
    const sent = await at.send({ type: INTERACTION.COMMAND, data: at.dataOf(one), sessionId: '' });
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'for all' }));
    await at.shown(at.person.sink, 'MESSAGE_CREATE', ({ content }) => content === 'for all');
    expect(at.person.sink.names.slice(before).filter((t) => OWN.includes(t))).toEqual([]);
  });
});

test('an answer of 2,001 characters is rejected, and one of 2,000 is accepted afterwards', async () => {
  const sent = await at.use(await at.command(PING));
  const refused = await at.answer(sent, CALLBACK.MESSAGE, { content: 'x'.repeat(2_001) });
  const wrong = {
    code: 50_035,
    errors: { data: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } } },
  };
  expect(refused).toMatchObject({ ok: false, refusal: wrong });
  wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'x'.repeat(2_000) }));
});

describe('the link of an application', () => {
  const link = (id: string) =>
    asking({
      ...{ client_id: id, response_type: null, redirect_uri: null },
      ...{ state: null, scope: null },
    });
  const decision = { authorize: true, permissions: null, guildId: null, integrationType: null };

  async function made(config: object) {
    const { application, botToken } = await at.instance.operator.createApplication({ name: 'Linked' });
    const id = application.id as typeof at.own.id;
    const configured = { integration_types_config: config };
    wellDone(await at.instance.features.endpoints.update(id, configured));
    const { sink } = await at.instance.connect(botToken);
    const one = await at.command(PING, { id });
    return { id, sink, ask: { type: INTERACTION.COMMAND, data: at.dataOf(one) } };
  }

  test('adds the bot and the commands to the guild that its owner chooses', async () => {
    const { instance } = at;
    const scopes = ['bot', 'applications.commands'];
    const { id, sink, ask } = await made({ 0: { oauth2_install_params: { scopes, permissions: '2048' } } });
    expect(await at.ask(ask, { ...at.own, id })).toMatchObject({ ok: false, refusal: { code: 10_063 } });
    const chosen = { ...decision, guildId: instance.guildId };
    const decided = await instance.features.oauth.consents.decide(instance.ownerId, link(id), chosen);
    expect(decided).toMatchObject({ kind: 'decided' });
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const sent = await at.send(ask, { application: { ...at.own, id }, sink });
    expect(sent.authorizing_integration_owners).toEqual({ 0: instance.guildId });
  });

  test('installs the application to the account alone when only that is configured', async () => {
    const { instance } = at;
    const params = { scopes: ['applications.commands'], permissions: '0' };
    const { id, sink, ask } = await made({ 1: { oauth2_install_params: params } });
    const decided = await instance.features.oauth.consents.decide(instance.ownerId, link(id), decision);
    expect(decided).toMatchObject({ kind: 'decided' });
    const sent = await at.send(ask, { application: { ...at.own, id }, sink });
    expect(sent.authorizing_integration_owners).toEqual({ 1: instance.ownerId });
    expect(sink.names).not.toContain('GUILD_CREATE');
  });
});

test('a bot with two shards receives interactions of a guild on its shard, and of private channels on shard 0', async () => {
  const { instance } = at;
  const { application, bot, botToken } = await instance.operator.createApplication({ name: 'Sharded' });
  const botId = bot.id as UserId;
  const shardOf = (id: string) => Number((BigInt(id) >> 22n) % 2n);
  let guildId: GuildId;
  do {
    instance.clock.advance(1);
    guildId = (await instance.operator.createGuild({ name: 'Odd', ownerId: instance.ownerId })).id as GuildId;
  } while (shardOf(guildId) === 0);
  await instance.operator.addMember({ guildId, userId: botId });
  const channels = wellDone(await instance.guilds.call(guildId, 'listChannels', {}, SYSTEM));
  const channelId = channels.find(({ type }) => type === 0)!.id;
  const shards = await Promise.all(
    [0, 1].map((index) => instance.connect(botToken, ALL_INTENTS, [index, 2])),
  );
  const one = await at.command(PING, application);
  const dm = wellDone(await instance.openPrivate(instance.ownerId, botId)) as { readonly id: ChannelId };
  const places = [
    { ownerId: guildId, guildId, channelId },
    { ownerId: dm.id, guildId: null, channelId: dm.id },
  ];
  const receivers: number[][] = [];
  for (const place of places) {
    const before = shards.map(({ sink }) => sink.names.length);
    const asked = { type: INTERACTION.COMMAND, data: at.dataOf(one), ...place };
    wellDone(await at.ask(asked, application));
    const counts = () =>
      shards.map(
        ({ sink }, index) => sink.names.slice(before[index]).filter((t) => t === 'INTERACTION_CREATE').length,
      );
    await until(() => counts().includes(1), 'INTERACTION_CREATE');
    receivers.push(counts());
  }
  expect(receivers).toEqual([
    [0, 1],
    [1, 0],
  ]);
});
