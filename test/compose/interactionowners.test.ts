// Goal: only the user and the application of an interaction use its messages, forms and token, and only in its channel.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { PremiumCommand } from '../../engine/premium/rules.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import { P } from '../../protocol/permissions.ts';
import { until } from '../support/instance.ts';
import { codeOf, openInteractions, wellDone } from '../support/interactioninstance.ts';

const EPHEMERAL = 1 << 6;
const PING = { name: 'ping', description: 'Answers.' };
const BUTTON = { type: 1, components: [{ type: 2, style: 1, label: 'Go', custom_id: 'go' }] };
const FORM = {
  ...{ custom_id: 'form', title: 'Form' },
  components: [{ type: 18, label: 'Words', component: { type: 4, custom_id: 'words', style: 1 } }],
};

let at: Awaited<ReturnType<typeof openInteractions>>;
let bert: { readonly userId: UserId; readonly sessionId: string };
let otherChannelId: ChannelId;

beforeAll(async () => {
  at = await openInteractions();
  const { instance } = at;
  const { user } = await instance.operator.createUser({ username: 'bert' });
  const userId = user.id as UserId;
  await instance.operator.addMember({ guildId: instance.guildId, userId });
  const { session } = await instance.connect((await instance.identity.issue(userId, 'user')).reveal());
  bert = { userId, sessionId: session.id };
  const made = await instance.guilds.call(
    instance.guildId,
    'createChannel',
    { draft: { name: 'elsewhere' } } as never,
    { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } },
  );
  otherChannelId = (wellDone(made) as { readonly id: ChannelId }).id;
}, 60_000);
afterAll(() => at.instance.close());

/** An interaction of the owner, answered with a message that only the owner sees. */
async function hidden() {
  const sent = await at.use(await at.command(PING));
  const draft = { content: 'hidden', flags: EPHEMERAL, components: [BUTTON] };
  const { written } = wellDone(await at.answer(sent, CALLBACK.MESSAGE, draft));
  return { sent, id: written!.message.id as MessageId };
}

const target = async (token: string) => {
  const found = await at.instance.features.interactions.tokenMessages.find(at.own.id as never, token);
  return wellDone(found!);
};

describe('an ephemeral message', () => {
  test('is read, edited and deleted only with tokens of its reader’s interactions', async () => {
    const { id } = await hidden();
    const [own, hers] = [
      await at.use(await at.command(PING)),
      await at.send({ type: INTERACTION.COMMAND, data: at.dataOf(await at.command(PING)), ...bert }),
    ];
    for (const sent of [own, hers]) wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'seen' }));
    const change = {
      edit: { content: 'changed' },
      keep: null,
      attachments: [],
      threadId: undefined,
    } as never;
    const by = async ({ token }: { readonly token: string }) => {
      const messages = await target(token);
      return [
        codeOf(await messages.get(id, undefined)),
        codeOf(await messages.edit(id, change)),
        codeOf(await messages.delete(id, undefined)),
      ];
    };
    expect(await by(hers)).toEqual([10_008, 10_008, 10_008]);
    expect(await by(own)).toEqual([null, null, null]);
  });

  test('is dismissed, and its button pressed, only by its reader and in its channel', async () => {
    const { instance, channelId } = at;
    const { id } = await hidden();
    const place = { ownerId: instance.guildId, guildId: instance.guildId, channelId };
    const dismiss = (where: object, userId = instance.ownerId) =>
      instance.features.interactions.dismiss({ ...place, ...where }, id, userId).then(codeOf);
    const press = (more: object) =>
      at.ask({ ...at.click(id, 'go'), isEphemeral: true, ...more }).then(codeOf);
    expect(await press({ channelId: otherChannelId })).toBe(10_008);
    expect(await press(bert)).toBe(10_008);
    expect(await press({})).toBeNull();
    expect(await dismiss({ channelId: otherChannelId })).toBe(10_008);
    expect(await dismiss({}, bert.userId)).toBe(10_008);
    expect(await dismiss({})).toBeNull();
  });
});

describe('concurrent requests', () => {
  test('answer an interaction once, and the other answers are rejected', async () => {
    const sent = await at.use(await at.command(PING));
    const before = at.person.sink.dispatches.length;
    const codes = await Promise.all([
      at.answer(sent, CALLBACK.MESSAGE, { content: 'first' }).then(codeOf),
      at.answer(sent, CALLBACK.DEFERRED_MESSAGE).then(codeOf),
      at.answer(sent, CALLBACK.MODAL, FORM).then(codeOf),
      at.answer(sent, CALLBACK.MESSAGE, { content: 'hidden', flags: EPHEMERAL }).then(codeOf),
    ]);
    expect(codes).toEqual([null, 40_060, 40_060, 40_060]);
    const names = () => at.person.sink.names.slice(before);
    await until(() => names().includes('INTERACTION_SUCCESS'), 'INTERACTION_SUCCESS');
    await at.instance.storage.writer.flush();
    expect(names().filter((t) => t === 'INTERACTION_SUCCESS')).toHaveLength(1);
    expect(names()).not.toContain('INTERACTION_MODAL_CREATE');
  });

  test('leave a dismissed ephemeral message deleted, although its application edits it', async () => {
    const { instance, channelId } = at;
    const { sent, id } = await hidden();
    const messages = await target(sent.token);
    const change = { edit: { content: 'changed' }, keep: null, attachments: [], withComponents: true };
    const place = { ownerId: instance.guildId, guildId: instance.guildId, channelId };
    const turns = async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    const before = at.person.sink.dispatches.length;
    instance.steer.hold = true;
    const dismissed = instance.features.interactions.dismiss(place, id, instance.ownerId).then(codeOf);
    await turns();
    const edited = messages.edit('@original', change).then(codeOf);
    await turns();
    instance.release();
    expect([await dismissed, await edited]).toEqual([null, 10_008]);
    expect((await instance.storage.interactions.ephemeral(instance.guildId, id))?.isGone).toBe(true);
    const told = at.person.sink.dispatches.slice(before).filter(({ t }) => t.startsWith('MESSAGE_'));
    expect(told.map(({ t }) => t)).toEqual(['MESSAGE_DELETE']);
  });
});

describe('a member', () => {
  const { system: _, ...nobody } = SYSTEM.by;
  const asOwner = () => ({ by: { ...nobody, userId: at.instance.ownerId }, requires: 0n });
  const change = async (
    type: 'updateMember' | 'updateRole' | 'updateChannel' | 'createThread',
    input: object,
  ) => wellDone(await at.instance.guilds.call(at.instance.guildId, type, input as never, asOwner()));
  const ask = async (place: object = {}) =>
    codeOf(
      await at.ask({ type: INTERACTION.COMMAND, data: at.dataOf(await at.command(PING)), ...bert, ...place }),
    );

  test('cannot use commands while timed out', async () => {
    const until = (ms: number) => new Date(at.instance.clock.now() + ms).toISOString();
    expect(await ask()).toBeNull();
    await change('updateMember', { userId: bert.userId, communicationDisabledUntil: until(60_000) });
    expect(await ask()).toBe(50_013);
    at.instance.clock.advance(61_000);
    expect(await ask()).toBeNull();
  });

  test('cannot use commands without USE_APPLICATION_COMMANDS, but still presses buttons in visible channels', async () => {
    const { instance } = at;
    const roles = wellDone(
      await instance.guilds.call(instance.guildId, 'listRoles', {}, SYSTEM),
    ) as readonly {
      readonly id: string;
      readonly permissions: string;
    }[];
    const everyone = roles.find(({ id }) => id === instance.guildId)!;
    const set = (permissions: bigint) =>
      change('updateRole', { roleId: instance.guildId, draft: { permissions: String(permissions) } });
    const sent = await at.use(await at.command(PING));
    const shown = wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'x', components: [BUTTON] }));
    const held = BigInt(everyone.permissions);
    await set(held & ~P.USE_APPLICATION_COMMANDS);
    expect(await ask()).toBe(50_013);
    expect(codeOf(await at.ask({ ...at.click(shown.written!.message.id, 'go'), ...bert }))).toBeNull();
    await set(held & ~P.VIEW_CHANNEL);
    expect(await ask()).toBe(50_001);
    expect(codeOf(await at.ask({ ...at.click(shown.written!.message.id, 'go'), ...bert }))).toBe(50_001);
    await set(held);
  });

  test('uses commands in a locked thread only as a moderator, and unarchives an archived thread by the answer', async () => {
    const draft = { name: 'Quiet', type: 11, auto_archive_duration: 60 };
    const made = (await change('createThread', { channelId: at.channelId, draft })) as {
      readonly id: ChannelId;
    };
    const channelId = made.id;
    const asks = () => ask({ channelId });
    expect(await asks()).toBeNull();
    await change('updateChannel', { channelId, draft: {}, threadChange: { locked: true } });
    expect(await asks()).toBe(160_005);
    expect(await ask({ channelId, userId: at.instance.ownerId, sessionId: at.person.session.id })).toBeNull();
    await change('updateChannel', { channelId, draft: {}, threadChange: { locked: false, archived: true } });
    const one = await at.command(PING);
    const sent = await at.send({ type: INTERACTION.COMMAND, data: at.dataOf(one), channelId, ...bert });
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'here' }));
    const authority = { ...SYSTEM, channelId };
    const found = await at.instance.guilds.call(at.instance.guildId, 'getChannel', { channelId }, authority);
    expect(wellDone(found)).toMatchObject({ thread_metadata: { archived: false } });
  });
});

describe('a form', () => {
  test('is submitted once, and only by its user, to its application and in its channel', async () => {
    const sent = await at.use(await at.command(PING));
    wellDone(await at.answer(sent, CALLBACK.MODAL, FORM));
    const components = [{ type: 18, component: { type: 4, custom_id: 'words', value: 'hello' } }];
    const submission = {
      type: INTERACTION.MODAL_SUBMIT,
      data: { id: sent.id, custom_id: 'form', components },
    };
    const { application } = await at.instance.operator.createApplication({ name: 'Other' });
    const other = { ...at.own, id: application.id as typeof at.own.id };
    expect(codeOf(await at.ask(submission, other))).toBe(10_062);
    expect(codeOf(await at.ask({ ...submission, ...bert }))).toBe(10_062);
    expect(codeOf(await at.ask({ ...submission, channelId: otherChannelId }))).toBe(10_062);
    expect(codeOf(await at.ask(submission))).toBeNull();
    expect(codeOf(await at.ask(submission))).toBe(10_062);
    const stored = await at.instance.storage.interactions.get(at.instance.guildId, sent.id);
    expect(stored?.modal).toBeNull();
  });

  test('is submitted once when it is sent twice at the same moment, and loses no follow-up', async () => {
    const sent = await at.use(await at.command(PING));
    wellDone(await at.answer(sent, CALLBACK.MODAL, FORM));
    const components = [{ type: 18, component: { type: 4, custom_id: 'words', value: 'hello' } }];
    const data = { id: sent.id, custom_id: 'form', components };
    const submit = () => at.ask({ type: INTERACTION.MODAL_SUBMIT, data }).then(codeOf);
    const before = at.bot.sink.dispatches.length;
    const codes = await Promise.all([
      submit(),
      at.followUp(sent, { content: 'more' }).then(codeOf),
      submit(),
    ]);
    expect(codes).toEqual([null, null, 10_062]);
    const submitted = at.bot.sink.names.slice(before).filter((t) => t === 'INTERACTION_CREATE');
    expect(submitted).toHaveLength(1);
  });
});

describe('a token', () => {
  const used = async () => at.use(await at.command(PING));

  test('answers only its own interaction, and only once', async () => {
    const [one, two] = [await used(), await used()];
    const swapped = { ...one, token: two.token };
    expect(codeOf(await at.answer(swapped, CALLBACK.MESSAGE, { content: 'x' }))).toBe(10_062);
    wellDone(await at.answer(one, CALLBACK.MESSAGE, { content: 'x' }));
    expect(codeOf(await at.answer(one, CALLBACK.MESSAGE, { content: 'x' }))).toBe(40_060);
  });

  test('accesses only messages of its application, under the id of that application', async () => {
    const { instance, channelId } = at;
    const sent = await used();
    wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'mine' }));
    const input = { channelId, draft: { content: 'theirs' }, attachments: [], forward: null };
    const by = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
    const made = await instance.guilds.call(instance.guildId, 'createMessage', input as never, by);
    const theirs = (wellDone(made) as { readonly message: { readonly id: MessageId } }).message.id;
    const messages = await target(sent.token);
    expect(codeOf(await messages.get(theirs, undefined))).toBe(10_008);
    expect(codeOf(await messages.delete(theirs, undefined))).toBe(10_008);
    const { application } = await instance.operator.createApplication({ name: 'Another' });
    const { tokenMessages } = instance.features.interactions;
    expect(await tokenMessages.find(application.id as never, sent.token)).toBeNull();
  });

  test('sends no messages when its interaction is an autocomplete', async () => {
    const options = [{ type: 3, name: 'text', description: 't', autocomplete: true }];
    const one = await at.command({ ...PING, name: 'complete', options });
    const typed = [{ type: 3, name: 'text', value: 'r', focused: true }];
    const sent = await at.send({ type: INTERACTION.AUTOCOMPLETE, data: at.dataOf(one, { options: typed }) });
    wellDone(await at.answer(sent, CALLBACK.CHOICES, { choices: [{ name: 'Red', value: 'red' }] }));
    const { tokenMessages } = at.instance.features.interactions;
    expect(codeOf((await tokenMessages.find(at.own.id as never, sent.token))!)).toBe(10_015);
  });

  test('opens its webhook with the first answer, and not when that answer is late', async () => {
    const { instance } = at;
    const { tokenMessages } = instance.features.interactions;
    const [sent, late] = [await used(), await used()];
    const found = async ({ token }: typeof sent) =>
      codeOf((await tokenMessages.find(at.own.id as never, token))!);
    expect(await found(sent)).toBe(10_015);
    wellDone(await at.answer(sent, CALLBACK.DEFERRED_MESSAGE));
    expect(await found(sent)).toBeNull();
    instance.clock.advance(4_000);
    await at.shown(at.person.sink, 'INTERACTION_FAILURE', ({ id }) => id === late.id);
    expect(await found(late)).toBe(10_015);
    expect(codeOf(await at.answer(late, CALLBACK.MESSAGE, { content: 'late' }))).toBe(10_062);
  });

  test('sends a new message after the deferred answer was deleted', async () => {
    const sent = await used();
    const deferred = wellDone(await at.answer(sent, CALLBACK.DEFERRED_MESSAGE));
    wellDone(await (await target(sent.token)).delete('@original', undefined));
    const { message } = wellDone(await at.followUp(sent, { content: 'more' }));
    expect(message.id).not.toBe(deferred.written?.message.id);
  });
});

test('a button is pressed only for its own application, and a reserved command is used only with permission', async () => {
  const { application } = await at.instance.operator.createApplication({ name: 'Third' });
  const other = { ...at.own, id: application.id as typeof at.own.id };
  const sent = await at.use(await at.command(PING));
  const shown = wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'x', components: [BUTTON] }));
  const press = at.click(shown.written!.message.id, 'go');
  expect(codeOf(await at.ask(press, other))).toBe(10_008);
  expect(codeOf(await at.ask(press))).toBeNull();
  const reserved = await at.command({ ...PING, name: 'reserved', default_member_permissions: '0' });
  const use = { type: INTERACTION.COMMAND, data: at.dataOf(reserved) };
  expect(codeOf(await at.ask({ ...use, ...bert }))).toBe(50_013);
  expect(codeOf(await at.ask(use))).toBeNull();
});

test('a command of one guild is unknown in another', async () => {
  const { instance, bot } = at;
  const one = await at.command({ ...PING, name: 'local' }, at.own, instance.guildId);
  const guild = await instance.operator.createGuild({ name: 'Next', ownerId: instance.ownerId });
  const guildId = guild.id as GuildId;
  await instance.operator.addMember({ guildId, userId: instance.botId as UserId });
  const news = () =>
    bot.sink.dispatches.find(({ t, d }) => t === 'GUILD_CREATE' && (d as { id: string }).id === guildId)?.d as
      | { readonly channels: readonly { readonly id: ChannelId; readonly type: number }[] }
      | undefined;
  await until(() => news() !== undefined, 'GUILD_CREATE');
  const { id: channelId } = news()!.channels.find(({ type }) => type === 0)!;
  const place = { ownerId: guildId, guildId, channelId };
  const ask = async (command: typeof one) =>
    codeOf(await at.ask({ type: INTERACTION.COMMAND, data: at.dataOf(command), ...place }));
  expect(await ask(one)).toBe(10_063);
  expect(await ask(await at.command(PING))).toBeNull();
});

test('an interaction carries the user’s entitlements for this guild, and not for another', async () => {
  const { instance, own } = at;
  const run = async (command: PremiumCommand) =>
    wellDone(await instance.features.premium.run(own.id, command));
  const { skus } = await run({ kind: 'createSku', name: 'Patron', type: 'subscription', owner: 'guild' });
  const skuId = skus[0]!.id;
  const other = await instance.operator.createGuild({ name: 'Elsewhere', ownerId: instance.ownerId });
  for (const guildId of [instance.guildId, other.id as GuildId]) {
    const to = { userId: instance.ownerId, guildId };
    await run({ kind: 'grant', skuId, to, gifterId: null, days: 30 });
  }
  const sent = await at.use(await at.command(PING));
  expect(sent.entitlements).toMatchObject([{ sku_id: skuId, guild_id: instance.guildId }]);
});
