// Goal: an application receives each interaction completely, messages name the interaction behind them, and nothing outlives the token.
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { PremiumCommand } from '../../engine/premium/rules.ts';
import type { UserId } from '../../protocol/ids.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import { P } from '../../protocol/permissions.ts';
import { createCommandNotices } from '../../services/applications/commandnotices.ts';
import type { Invocation } from '../../services/interactions/ports.ts';
import { asking } from '../services/oauth/flows.ts';
import { codeOf, openInteractions, wellDone } from '../support/interactioninstance.ts';

const MINUTE_MS = 60_000;
const EPHEMERAL = 1 << 6;
const PING = { name: 'ping', description: 'Answers.' };
const BUTTON = { type: 1, components: [{ type: 2, style: 1, label: 'Go', custom_id: 'go' }] };

let at: Awaited<ReturnType<typeof openInteractions>>;
beforeAll(async () => (await openInteractions()).instance.close(), 60_000);
afterEach(() => at.instance.close());

describe('the interaction object', () => {
  test('names the guild, the channel, the member with permissions, the bot’s permissions and both locales', async () => {
    at = await openInteractions();
    const { instance, channelId } = at;
    const sent = await at.use(await at.command(PING));
    const everything = BigInt((sent.member as { permissions: string }).permissions);
    expect(sent).toMatchObject({
      ...{ application_id: at.own.id, type: 2, version: 1, context: 0, locale: 'de', guild_locale: 'en-US' },
      guild: { id: instance.guildId, locale: 'en-US', features: expect.any(Array) },
      ...{ guild_id: instance.guildId, channel_id: channelId, entitlements: [] },
      channel: { id: channelId, type: 0, permissions: String(everything) },
      member: { user: { id: instance.ownerId }, roles: [] },
      authorizing_integration_owners: { 0: instance.guildId },
      attachment_size_limit: 10 << 20,
    });
    expect(Object.keys(sent)).not.toContain('user');
    expect([everything & P.ADMINISTRATOR, everything & P.SEND_MESSAGES]).toEqual([
      P.ADMINISTRATOR,
      P.SEND_MESSAGES,
    ]);
    expect(BigInt(sent.app_permissions as string) & P.ADMINISTRATOR).toBe(P.ADMINISTRATOR);
    expect(String(sent.token)).not.toContain(sent.id);
  });

  test('names the user, owner "0" and the fixed permissions in the direct messages of the bot', async () => {
    at = await openInteractions();
    const { instance } = at;
    const one = await at.command(PING);
    const dm = wellDone(await instance.openPrivate(instance.ownerId, instance.botId as UserId)) as {
      id: string;
    };
    const place = { ownerId: dm.id, guildId: null, channelId: dm.id as never };
    const sent = await at.send({ type: INTERACTION.COMMAND, data: at.dataOf(one), ...place });
    const fixed = P.ATTACH_FILES | P.EMBED_LINKS | P.MENTION_EVERYONE | P.USE_EXTERNAL_EMOJIS;
    expect(sent).toMatchObject({
      ...{ context: 1, user: { id: instance.ownerId }, app_permissions: String(fixed) },
      authorizing_integration_owners: { 0: '0' },
      channel: { id: dm.id, type: 1 },
    });
    for (const key of ['member', 'guild', 'guild_id', 'guild_locale'])
      expect(Object.keys(sent)).not.toContain(key);
  });

  test('resolves members without their user, and channels with the permissions of the member and of the bot', async () => {
    at = await openInteractions();
    const { instance, channelId } = at;
    const one = await at.command({
      ...PING,
      options: [
        { type: 6, name: 'who', description: 'w' },
        { type: 7, name: 'where', description: 'w' },
      ],
    });
    const options = [
      { type: 6, name: 'who', value: instance.botId },
      { type: 7, name: 'where', value: channelId },
    ];
    const sent = await at.use(one, { options });
    const { resolved } = sent.data as { resolved: Record<string, Record<string, Record<string, unknown>>> };
    expect(Object.keys(resolved).sort()).toEqual(['channels', 'members', 'users']);
    const member = resolved.members![instance.botId]!;
    expect(member).toMatchObject({ permissions: expect.stringMatching(/^\d+$/), roles: expect.any(Array) });
    for (const key of ['user', 'deaf', 'mute']) expect(Object.keys(member)).not.toContain(key);
    const channel = resolved.channels![channelId]!;
    expect(channel).toMatchObject({
      ...{ id: channelId, type: 0, permissions: (sent.member as { permissions: string }).permissions },
      app_permissions: sent.app_permissions,
    });
    expect(Object.keys(channel)).not.toContain('permission_overwrites');
  });
});

describe('the limit of attachments', () => {
  const MIB = 1 << 20;

  test('is the greater limit of the guild’s tier and the invoker’s premium type, up to request_bytes_max', async () => {
    at = await openInteractions({ request_bytes_max: 200 * MIB });
    const { instance, own } = at;
    const run = async (command: PremiumCommand) =>
      wellDone(await instance.features.premium.run(own.id, command));
    const one = await at.command(PING);
    const limit = async (place: Partial<Invocation> = {}) => {
      instance.clock.advance(6_000);
      const sent = await at.send({ type: INTERACTION.COMMAND, data: at.dataOf(one), ...place });
      return Number(sent.attachment_size_limit) / MIB;
    };
    const patron = async (premiumType: 1 | 2) => {
      const sku = { kind: 'createSku', name: 'Patron', type: 'durable', owner: 'user' } as const;
      const skuId = (await run(sku)).skus[0]!.id;
      await run({ kind: 'setPerks', skuId, perks: { guildTier: 0, premiumType } });
      const to = { userId: instance.ownerId, guildId: null };
      await run({ kind: 'grant', skuId, to, gifterId: null, days: 30 });
    };
    const dm = wellDone(await instance.openPrivate(instance.ownerId, instance.botId as UserId)) as {
      id: string;
    };
    const place = { ownerId: dm.id, guildId: null, channelId: dm.id as never };
    expect([await limit(), await limit(place)]).toEqual([10, 10]);
    await patron(1);
    expect([await limit(), await limit(place)]).toEqual([50, 50]);
    wellDone(await instance.guilds.call(instance.guildId, 'setPremiumTier', { tier: 3 }, SYSTEM));
    expect([await limit(), await limit(place)]).toEqual([100, 50]);
    await patron(2);
    expect([await limit(), await limit(place)]).toEqual([200, 200]);
  });
});

describe('the metadata of messages', () => {
  test('name the command, the original of a follow-up, the message of a component and the trigger of a form', async () => {
    at = await openInteractions();
    const { instance, bot, person } = at;
    const sent = await at.use(await at.command(PING));
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'first', components: [BUTTON] }));
    const first = await at.shown(person.sink, 'MESSAGE_CREATE');
    const command = { id: sent.id, type: 2, authorizing_integration_owners: { 0: instance.guildId } };
    expect(first.interaction_metadata).toMatchObject({ ...command, user: { id: instance.ownerId } });
    expect(Object.keys(first.interaction_metadata!).sort()).toEqual(
      ['authorizing_integration_owners', 'id', 'type', 'user'].sort(),
    );
    wellDone(await at.followUp(sent, { content: 'second' }));
    const second = await at.shown(person.sink, 'MESSAGE_CREATE', ({ content }) => content === 'second');
    expect(second.interaction_metadata).toMatchObject({ ...command, original_response_message_id: first.id });

    const pressed = await at.send(at.click(first.id, 'go'));
    expect(pressed).toMatchObject({
      type: 3,
      message: { id: first.id },
      data: { custom_id: 'go', component_type: 2 },
    });
    const words = { type: 4, custom_id: 'words', style: 1 };
    const form = {
      custom_id: 'form',
      title: 'Form',
      components: [{ type: 18, label: 'Words', component: words }],
    };
    wellDone(await at.answer(pressed, CALLBACK.MODAL, form));
    const components = [{ type: 18, component: { type: 4, custom_id: 'words', value: 'hello' } }];
    const submitted = await at.send({
      type: INTERACTION.MODAL_SUBMIT,
      data: { id: pressed.id, custom_id: 'form', components },
    });
    expect(submitted).toMatchObject({
      ...{ type: 5, message: { id: first.id } },
      data: { custom_id: 'form', components: [{ type: 18, component: { type: 4, value: 'hello' } }] },
    });
    wellDone(await at.answer(submitted, CALLBACK.MESSAGE, { content: 'third' }));
    const third = await at.shown(bot.sink, 'MESSAGE_CREATE', ({ content }) => content === 'third');
    expect(third.interaction_metadata).toMatchObject({
      ...{ id: submitted.id, type: 5 },
      triggering_interaction_metadata: { id: pressed.id, type: 3, interacted_message_id: first.id },
    });
    expect(Object.keys(third)).not.toContain('interaction');
  });

  test('name the target of a context menu command', async () => {
    at = await openInteractions();
    const { instance, person } = at;
    const greeted = await at.use(await at.command({ type: 2, name: 'Greet' }), { target_id: instance.botId });
    expect(greeted.data).toMatchObject({
      target_id: instance.botId,
      resolved: { users: { [instance.botId]: {} } },
    });
    wellDone(await at.answer(greeted, CALLBACK.MESSAGE, { content: 'hello' }));
    const hello = await at.shown(person.sink, 'MESSAGE_CREATE');
    expect(hello.interaction_metadata).toMatchObject({ target_user: { id: instance.botId } });
    const quoted = await at.use(await at.command({ type: 3, name: 'Quote' }), { target_id: hello.id });
    expect(quoted.data).toMatchObject({ resolved: { messages: { [hello.id]: { content: 'hello' } } } });
    wellDone(await at.answer(quoted, CALLBACK.MESSAGE, { content: 'so it said' }));
    const quote = await at.shown(person.sink, 'MESSAGE_CREATE', ({ content }) => content === 'so it said');
    expect(quote.interaction_metadata).toMatchObject({ target_message_id: hello.id });
  });
});

describe('an answer', () => {
  test('keeps only the flags that applications may set, and mentions only users by default', async () => {
    at = await openInteractions();
    const { instance, person } = at;
    const one = await at.command(PING);
    const sent = await at.use(one);
    const flags = (1 << 2) | (1 << 4) | (1 << 12) | (1 << 7);
    const content = `@everyone <@${instance.ownerId}>`;
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content, flags }));
    const quiet = await at.shown(person.sink, 'MESSAGE_CREATE');
    expect([quiet.flags, quiet.mention_everyone]).toEqual([(1 << 2) | (1 << 12), false]);
    expect(quiet.mentions.map(({ id }) => id)).toEqual([instance.ownerId]);
    const loud = await at.use(one);
    wellDone(
      await at.answer(loud, CALLBACK.MESSAGE, {
        content: '@everyone',
        allowed_mentions: { parse: ['everyone'] },
      }),
    );
    await at.shown(person.sink, 'MESSAGE_CREATE', (message) => message.mention_everyone);
  });

  test('is completed by the first follow-up when it was deferred, and the second follow-up is a new message', async () => {
    at = await openInteractions();
    const sent = await at.use(await at.command(PING));
    const deferred = wellDone(await at.answer(sent, CALLBACK.DEFERRED_MESSAGE));
    const first = wellDone(await at.followUp(sent, { content: 'first' })).message;
    const second = wellDone(await at.followUp(sent, { content: 'second' })).message;
    expect([deferred.isLoading, first.id, first.flags]).toEqual([true, deferred.written?.message.id, 0]);
    expect(second.id).not.toBe(first.id);
  });

  test('is deleted with its interaction when it is ephemeral and the token expires', async () => {
    at = await openInteractions();
    const { instance, person, bot } = at;
    const one = await at.command(PING);
    const sent = await at.use(one);
    const draft = { content: 'secret', flags: EPHEMERAL, components: [BUTTON] };
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, draft));
    const secret = await at.shown(person.sink, 'MESSAGE_CREATE');
    /** Thirty seconds, in which expired interactions are deleted. */
    const rest = async () => {
      for (let second = 0; second < 30; second += 1) {
        instance.clock.advance(1_000);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    };
    const stored = () => instance.storage.interactions.get(instance.guildId, sent.id);
    instance.clock.advance(14 * MINUTE_MS);
    await rest();
    expect(await stored()).not.toBeNull();
    instance.clock.advance(29_000);
    expect(person.sink.names).not.toContain('MESSAGE_DELETE');
    expect(codeOf(await at.followUp(sent, { content: 'late', flags: EPHEMERAL }))).toBeNull();
    await rest();
    const gone = await at.shown(person.sink, 'MESSAGE_DELETE', ({ id }) => id === secret.id);
    expect(gone).toEqual({ id: secret.id, channel_id: at.channelId, guild_id: instance.guildId });
    expect(await stored()).toBeNull();
    expect(await instance.storage.interactions.ephemeral(instance.guildId, secret.id as never)).toBeNull();
    await expect(at.followUp(sent, { content: 'late' })).rejects.toThrow('opens nothing');
    expect(codeOf(await at.answer(sent, CALLBACK.MESSAGE, { content: 'late' }))).toBe(10_062);
    expect(codeOf(await at.ask({ ...at.click(secret.id, 'go'), isEphemeral: true }))).toBe(10_008);
    expect(JSON.stringify(bot.sink.dispatches)).not.toContain('"content":"secret"');
  });
});

describe('an application that is not in the guild', () => {
  /** An application that the owner of the guild has installed to the account, and its bot's session. */
  async function tool() {
    const { instance } = at;
    const { application: made, botToken } = await instance.operator.createApplication({ name: 'Tool' });
    const id = made.id as typeof at.own.id;
    const config = { 0: {}, 1: {} };
    wellDone(await instance.features.endpoints.update(id, { integration_types_config: config }));
    const { sink } = await instance.connect(botToken);
    const one = await at.command(PING, { id });
    const application = { ...at.own, id };
    const use = (by: Partial<Invocation> = {}) =>
      at.send({ type: INTERACTION.COMMAND, data: at.dataOf(one), ...by }, { application, sink });
    const ask = () => at.ask({ type: INTERACTION.COMMAND, data: at.dataOf(one) }, { ...at.own, id });
    const install = async (userId = instance.ownerId) => {
      const query = asking({
        ...{ client_id: id, response_type: null, redirect_uri: null, state: null },
        ...{ scope: 'applications.commands', integration_type: '1' },
      });
      const decision = { authorize: true, permissions: null, guildId: null, integrationType: 1 as const };
      const decided = await instance.features.oauth.consents.decide(userId, query, decision);
      if (decided.kind !== 'decided') throw new Error(JSON.stringify(decided));
    };
    return { id, use, ask, install };
  }

  test('is unknown until a user installs it, and then sends that user an answer and at most five follow-ups', async () => {
    at = await openInteractions();
    const { instance, person } = at;
    const { id, use, ask, install } = await tool();
    expect(codeOf(await ask())).toBe(10_063);
    await install();
    const sent = await use();
    expect(sent).toMatchObject({ context: 0, authorizing_integration_owners: { 1: instance.ownerId } });
    expect(BigInt(sent.app_permissions as string) & P.SEND_MESSAGES).toBe(0n);
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'seen by all', components: [BUTTON] }));
    const answer = await at.shown(person.sink, 'MESSAGE_CREATE');
    expect(answer.flags & EPHEMERAL).toBe(0);
    expect(codeOf(await at.followUp(sent, { content: 'x'.repeat(2_001) }))).toBe(50_035);
    for (let n = 0; n < 5; n += 1)
      wellDone(await at.followUp(sent, { content: `follow-up ${n}`, flags: n % 2 === 0 ? EPHEMERAL : 0 }));
    expect(codeOf(await at.followUp(sent, { content: 'one too many' }))).toBe(40_094);
    expect(codeOf(await at.followUp(sent, { content: 'hidden too', flags: EPHEMERAL }))).toBe(40_094);
    const pressed = at.ask(at.click(answer.id, 'go'), { ...at.own, id });
    expect(codeOf(await pressed)).toBeNull();
    await instance.features.oauth.deauthorize(instance.ownerId, id);
    expect(codeOf(await at.ask(at.click(answer.id, 'go'), { ...at.own, id }))).toBe(10_005);
    expect(codeOf(await ask())).toBe(10_063);
  });

  test('is rejected in a private channel where one person may not write to the other', async () => {
    at = await openInteractions();
    const { instance } = at;
    const { use, install, id } = await tool();
    await install();
    const { user: bob } = await instance.operator.createUser({ username: 'bob' });
    const userId = bob.id as UserId;
    const dm = wellDone(await instance.openPrivate(instance.ownerId, userId)) as { id: string };
    const place = { ownerId: dm.id, guildId: null, channelId: dm.id as never };
    const one = await at.command({ ...PING, name: 'say', integration_types: [1], contexts: [2] }, { id });
    const data = at.dataOf(one);
    const ask = () => at.ask({ type: INTERACTION.COMMAND, data, ...place }, { ...at.own, id }).then(codeOf);
    expect(await ask()).toBe(50_278);
    await instance.operator.addMember({ guildId: instance.guildId, userId });
    expect(await ask()).toBeNull();
    const sent = await use({ ...place, data });
    expect(sent).toMatchObject({ context: 2, authorizing_integration_owners: { 1: instance.ownerId } });
    const draft = { content: 'hello', components: [BUTTON] };
    const { written } = wellDone(await at.answer(sent, CALLBACK.MESSAGE, draft));
    const press = () =>
      at.ask({ ...at.click(written!.message.id, 'go'), ...place }, { ...at.own, id }).then(codeOf);
    expect(await press()).toBeNull();
    const bobs = { userId, authorization: null } as const;
    wellDone(await instance.features.social.relationships.block(bobs, instance.ownerId));
    expect([await ask(), await press()]).toEqual([50_007, 50_007]);
  });

  test('answers ephemerally without the permission for external apps, and mentions only what the invoker may', async () => {
    at = await openInteractions();
    const { instance, bot } = at;
    const { use, install } = await tool();
    const { user: bob } = await instance.operator.createUser({ username: 'bob' });
    const userId = bob.id as UserId;
    await instance.operator.addMember({ guildId: instance.guildId, userId });
    const hers = await instance.connect((await instance.identity.issue(userId, 'user')).reveal());
    await install(userId);
    const authority = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
    const permissions = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.USE_APPLICATION_COMMANDS;
    const role = { roleId: instance.guildId as never, draft: { permissions: String(permissions) } };
    wellDone(await instance.guilds.call(instance.guildId, 'updateRole', role as never, authority));
    const sent = await use({ userId, sessionId: hers.session.id });
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'for one', components: [BUTTON] }));
    const answer = await at.shown(hers.sink, 'MESSAGE_CREATE');
    expect(answer.flags & EPHEMERAL).toBe(EPHEMERAL);
    const loud = { content: '@everyone', allowed_mentions: { parse: ['everyone'] } };
    const { message } = wellDone(await at.followUp(sent, loud));
    expect([Number(message.flags) & EPHEMERAL, message.mention_everyone]).toEqual([EPHEMERAL, false]);
    const made = await instance.guilds.call(
      instance.guildId,
      'createRole',
      { draft: {} } as never,
      authority,
    );
    const { id: roleId } = wellDone(made) as { readonly id: string };
    const toRole = { content: `<@&${roleId}>`, allowed_mentions: { roles: [roleId] } };
    expect(wellDone(await at.followUp(sent, toRole)).message.mention_roles).toEqual([]);
    for (const { sink } of [bot, at.person]) {
      const seen = sink.dispatches.map(({ d }) => (d as { content?: string }).content);
      expect(seen.filter((content) => content === 'for one' || content === '@everyone')).toEqual([]);
    }
  });
});

test('permission overwrites of a command are dispatched to its bot and written to the audit log', async () => {
  at = await openInteractions();
  const { instance, bot } = at;
  const { id } = await at.command(PING);
  const notices = createCommandNotices({ ...instance, onFault: (error) => expect.fail(String(error)) });
  const overwrite = { id: instance.guildId as string, type: 1, permission: false } as const;
  const named = { id, application_id: at.own.id, guild_id: instance.guildId };
  notices.permitted(instance.ownerId, null, { ...named, permissions: [overwrite] });
  const told = await at.shown(bot.sink, 'APPLICATION_COMMAND_PERMISSIONS_UPDATE');
  expect(told).toEqual({ ...named, permissions: [overwrite] });
  const entry = await at.shown(bot.sink, 'GUILD_AUDIT_LOG_ENTRY_CREATE');
  expect(entry).toMatchObject({
    ...{ action_type: 121, user_id: instance.ownerId, target_id: id },
    changes: [{ key: instance.guildId, new_value: overwrite }],
    options: { application_id: at.own.id },
  });
});

test('a repeated nonce begins no second interaction when the first commit lost its answer', async () => {
  at = await openInteractions();
  const { instance, bot } = at;
  const one = await at.command(PING);
  const use = () => at.ask({ type: INTERACTION.COMMAND, data: at.dataOf(one), nonce: 'twice' });
  instance.steer.lose = 'interactionWritten';
  const ended = await Promise.allSettled([use(), use()]);
  const values = ended.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)));
  expect(values).toHaveLength(2);
  expect(values).toEqual(
    expect.arrayContaining([expect.stringContaining('gone'), { ok: true, value: 'repeated' }]),
  );
  expect(bot.sink.names).not.toContain('INTERACTION_CREATE');
});
