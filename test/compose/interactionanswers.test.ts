// Goal: an application receives what people choose in selects and write in forms, with the objects that they name, and answers by each kind of callback.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, RoleId, UserId } from '../../protocol/ids.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import { leavesOf } from '../support/errortree.ts';
import { codeOf, openInteractions, wellDone } from '../support/interactioninstance.ts';

const EPHEMERAL = 1 << 6;
const PING = { name: 'ping', description: 'Answers.' };
const [STRING, USER, ROLE, MENTIONABLE, CHANNEL] = [3, 5, 6, 7, 8];
const [TEXT, VOICE] = [0, 2];

let at: Awaited<ReturnType<typeof openInteractions>>;
let roleId: RoleId;
let voiceId: ChannelId;
/** A person who is in no guild of the bot. */
let strangerId: UserId;
/** A role of another guild. */
let foreignRoleId: string;

beforeAll(async () => {
  at = await openInteractions();
  const { instance } = at;
  const by = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
  const role = await instance.guilds.call(
    instance.guildId,
    'createRole',
    { draft: { name: 'Crew' } } as never,
    by,
  );
  roleId = (wellDone(role) as { readonly id: RoleId }).id;
  const draft = { name: 'Calls', type: VOICE };
  const channel = await instance.guilds.call(instance.guildId, 'createChannel', { draft } as never, by);
  voiceId = (wellDone(channel) as { readonly id: ChannelId }).id;
  strangerId = (await instance.operator.createUser({ username: 'stranger' })).user.id as UserId;
  foreignRoleId = (await instance.operator.createGuild({ name: 'Next', ownerId: instance.ownerId })).id;
}, 60_000);
afterAll(() => at.instance.close());

/** A message of the bot with these components. */
async function shown(...components: readonly object[]) {
  const sent = await at.use(await at.command(PING));
  const { written } = wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'choose', components }));
  return { sent, id: written!.message.id };
}

const row = (component: object) => ({ type: 1, components: [component] });
const BUTTON = row({ type: 2, style: 1, label: 'Go', custom_id: 'go' });
const chosen = (messageId: string, type: number, values: readonly string[]) => ({
  type: INTERACTION.COMPONENT,
  messageId: messageId as never,
  data: { component_type: type, custom_id: 'c', values },
});
const wrongIn = (reply: Awaited<ReturnType<typeof at.ask>>) =>
  reply.ok ? [] : leavesOf(reply.refusal.errors ?? {});

const original = async ({ token }: { readonly token: string }) => {
  const { tokenMessages } = at.instance.features.interactions;
  return wellDone((await tokenMessages.find(at.own.id as never, token))!);
};
const edit = { keep: null, attachments: [], withComponents: true };

describe('a select of a message', () => {
  test('sends the chosen values with their resolved objects', async () => {
    const { instance, channelId } = at;
    const options = [
      { label: 'A', value: 'a' },
      { label: 'B', value: 'b' },
    ];
    const cases: readonly [number, readonly string[], object | undefined][] = [
      [STRING, ['a', 'b'], undefined],
      [
        USER,
        [instance.botId],
        { users: { [instance.botId]: { bot: true } }, members: { [instance.botId]: {} } },
      ],
      [ROLE, [roleId], { roles: { [roleId]: { name: 'Crew' } } }],
      [
        MENTIONABLE,
        [roleId, instance.ownerId],
        { roles: { [roleId]: {} }, users: { [instance.ownerId]: {} }, members: { [instance.ownerId]: {} } },
      ],
      [
        CHANNEL,
        [channelId, voiceId],
        { channels: { [channelId]: { type: TEXT }, [voiceId]: { type: VOICE } } },
      ],
    ];
    for (const [type, values, resolved] of cases) {
      const select = { type, custom_id: 'c', max_values: 2, ...(type === STRING && { options }) };
      const { id } = await shown(row(select));
      const { data } = await at.send(chosen(id, type, values));
      expect(data).toMatchObject({
        component_type: type,
        custom_id: 'c',
        values,
        ...(resolved && { resolved }),
      });
      const kinds = Object.keys((data.resolved as object | undefined) ?? {}).sort();
      expect(kinds).toEqual(Object.keys(resolved ?? {}).sort());
    }
  });

  test('is rejected with a value outside the guild or of another type', async () => {
    const select = async (type: number, value: string, more: object = {}) => {
      const { id } = await shown(row({ type, custom_id: 'c', ...more }));
      return wrongIn(await at.ask(chosen(id, type, [value])));
    };
    expect(await select(ROLE, foreignRoleId)).toEqual(['data.values.0: INVALID_ROLE']);
    expect(await select(USER, '123')).toEqual(['data.values.0: INVALID_USER']);
    expect(await select(MENTIONABLE, foreignRoleId)).toEqual(['data.values.0: INVALID_MENTIONABLE']);
    expect(await select(CHANNEL, roleId)).toEqual(['data.values.0: INVALID_CHANNEL']);
    expect(await select(CHANNEL, at.channelId, { channel_types: [VOICE] })).toEqual([
      'data.values.0: CHANNEL_TYPE_INVALID',
    ]);
    expect(await select(CHANNEL, voiceId, { channel_types: [VOICE] })).toEqual([]);
  });
});

describe('a form', () => {
  const label = (component: object) => ({ type: 18, label: 'l', component });
  const select = (type: number) => label({ type, custom_id: `s${type}`, max_values: 2 });
  const file = {
    ...{ id: '900', filename: 'plan.pdf', size: 3, content_type: 'application/pdf' },
    ...{ url: 'http://test/plan.pdf', proxy_url: 'http://test/plan.pdf' },
  };

  async function opened(...components: readonly object[]) {
    const sent = await at.use(await at.command(PING));
    wellDone(await at.answer(sent, CALLBACK.MODAL, { custom_id: 'f', title: 'F', components }));
    return sent;
  }
  const submission = (id: string, components: readonly object[], more: object = {}) => ({
    ...{ type: INTERACTION.MODAL_SUBMIT, data: { id, custom_id: 'f', components } },
    ...more,
  });

  test('sends the values of each kind of select and the files, with their resolved objects', async () => {
    const { instance, channelId } = at;
    const { id } = await opened(
      ...[USER, ROLE, MENTIONABLE, CHANNEL].map(select),
      label({ type: 19, custom_id: 'files', file_types: ['.PDF'] }),
    );
    const given = (custom_id: string, values: readonly string[]) => ({
      type: 18,
      component: { custom_id, values },
    });
    const components = [
      given('s5', [instance.botId]),
      given('s6', [roleId]),
      given('s7', [instance.ownerId, roleId]),
      given('s8', [channelId]),
      given('files', ['0']),
    ];
    const wrongFile = { uploads: { 0: { ...file, filename: 'plan.exe' } } };
    expect(wrongIn(await at.ask(submission(id, components, wrongFile) as never))).toEqual([
      'data.components.4.component.values.0: FILE_TYPE_INVALID',
    ]);
    const { data } = await at.send(submission(id, components, { uploads: { 0: file } }) as never);
    expect(data).toMatchObject({
      components: [
        { type: 18, component: { type: 5, custom_id: 's5', values: [instance.botId] } },
        { type: 18, component: { type: 6, custom_id: 's6', values: [roleId] } },
        { type: 18, component: { type: 7, custom_id: 's7', values: [instance.ownerId, roleId] } },
        { type: 18, component: { type: 8, custom_id: 's8', values: [channelId] } },
        { type: 18, component: { type: 19, custom_id: 'files', values: ['900'] } },
      ],
      resolved: {
        users: { [instance.botId]: {}, [instance.ownerId]: {} },
        members: { [instance.botId]: {}, [instance.ownerId]: {} },
        roles: { [roleId]: { name: 'Crew' } },
        channels: { [channelId]: { type: TEXT } },
        attachments: { 900: { filename: 'plan.pdf' } },
      },
    });
  });

  test('accepts text inputs in action rows as older libraries send them, and keeps text between fields', async () => {
    const input = { type: 4, custom_id: 'words', label: 'Words', style: 1 };
    const { id } = await opened(
      row(input),
      { type: 10, content: 'More below.' },
      label({ type: 23, custom_id: 'ok' }),
    );
    const components = [{ type: 1, components: [{ type: 4, custom_id: 'words', value: 'hello' }] }];
    const { data } = await at.send(submission(id, components) as never);
    expect(data.components).toMatchObject([
      { type: 1, components: [{ type: 4, custom_id: 'words', value: 'hello' }] },
      { type: 10 },
      { type: 18, component: { type: 23, custom_id: 'ok', value: false } },
    ]);
  });

  test('resolves people outside of the guild as users, and rejects unknown ids', async () => {
    const { id } = await opened(select(USER));
    const named = (userId: string) =>
      submission(id, [{ type: 18, component: { custom_id: 's5', values: [userId] } }]) as never;
    expect(wrongIn(await at.ask(named('123')))).toEqual([
      'data.components.0.component.values.0: INVALID_USER',
    ]);
    expect(
      codeOf(await at.ask({ ...(named(strangerId) as object), userId: strangerId, sessionId: '' } as never)),
    ).toBe(10_062);
    const { data } = await at.send(named(strangerId));
    expect(data.resolved).toEqual({ users: { [strangerId]: expect.objectContaining({ id: strangerId }) } });
  });
});

describe('the press of a button', () => {
  test('changes nothing when it is only acknowledged, and its @original is the message of the button', async () => {
    const { id } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    const before = at.person.sink.dispatches.length;
    const { written } = wellDone(await at.answer(pressed, CALLBACK.DEFERRED_UPDATE));
    expect(written).toBeNull();
    const messages = await original(pressed);
    expect(wellDone(await messages.get('@original', undefined))).toMatchObject({ id, content: 'choose' });
    expect(at.person.sink.names.slice(before)).toEqual(['INTERACTION_SUCCESS']);
    wellDone(await messages.edit('@original', { ...edit, edit: { content: 'chosen' } }));
    await at.shown(at.person.sink, 'MESSAGE_UPDATE', (one) => one.id === id && one.content === 'chosen');
    const { message } = wellDone(await at.followUp(pressed, { content: 'more' }));
    expect(message).toMatchObject({ message_reference: { message_id: id } });
  });

  test('updates the message of the button with its answer, and keeps fields that the answer omits', async () => {
    const { id } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    const { written } = wellDone(await at.answer(pressed, CALLBACK.UPDATE_MESSAGE, { content: 'pressed' }));
    expect(written?.message).toMatchObject({ id, content: 'pressed', components: [{ type: 1 }] });
    expect(written?.message.edited_timestamp).not.toBeNull();
    expect(written?.message.interaction_metadata).toMatchObject({ type: INTERACTION.COMMAND });
  });

  test('counts as answered when the answer updates nothing', async () => {
    const { id } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    wellDone(await at.answer(pressed, CALLBACK.UPDATE_MESSAGE));
    const stored = await at.instance.storage.interactions.get(at.instance.guildId, pressed.id);
    expect(stored?.state).toMatchObject({ kind: 'answered', original: { messageId: id } });
  });

  test('is not answered when the update of its ephemeral message could not be stored', async () => {
    const { id } = await shown(BUTTON);
    const first = await at.send(at.click(id, 'go'));
    const draft = { content: 'hidden', flags: EPHEMERAL, components: [BUTTON] };
    const { written } = wellDone(await at.answer(first, CALLBACK.MESSAGE, draft));
    const hiddenId = written!.message.id;
    const pressed = await at.send({ ...at.click(hiddenId, 'go'), isEphemeral: true });
    at.instance.steer.drop = 'ephemeralWritten';
    await expect(at.answer(pressed, CALLBACK.UPDATE_MESSAGE, { content: 'lost' })).rejects.toThrow('gone');
    wellDone(await at.answer(pressed, CALLBACK.UPDATE_MESSAGE, { content: 'pressed' }));
    const { instance } = at;
    const stored = await instance.storage.interactions.get(instance.guildId, pressed.id);
    expect(stored?.state).toMatchObject({ kind: 'answered', original: { messageId: hiddenId } });
    const message = await instance.storage.interactions.ephemeral(instance.guildId, hiddenId);
    expect(message?.message.content).toBe('pressed');
  });

  test('opens a form whose submission updates the message of the button', async () => {
    const { id } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    const input = { type: 18, label: 'l', component: { type: 4, custom_id: 'w', style: 1, required: false } };
    wellDone(await at.answer(pressed, CALLBACK.MODAL, { custom_id: 'f', title: 'F', components: [input] }));
    const data = {
      id: pressed.id,
      custom_id: 'f',
      components: [{ component: { custom_id: 'w', value: '' } }],
    };
    const submitted = await at.send({ type: INTERACTION.MODAL_SUBMIT, data });
    const answered = await at.answer(submitted, CALLBACK.UPDATE_MESSAGE, {
      content: 'filled in',
      components: [],
    });
    expect(wellDone(answered).written?.message).toMatchObject({ id, content: 'filled in', components: [] });
  });

  test('is rejected when the message was deleted meanwhile, and so is an update of that message', async () => {
    const { id, sent } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    wellDone(await (await original(sent)).delete('@original', undefined));
    expect(codeOf(await at.ask(at.click(id, 'go')))).toBe(10_008);
    expect(codeOf(await at.answer(pressed, CALLBACK.UPDATE_MESSAGE, { content: 'x' }))).toBe(10_008);
    expect(codeOf(await at.answer(pressed, CALLBACK.MESSAGE, { content: 'gone' }))).toBeNull();
  });
});

test('a first answer writes no message when its interaction could not be stored', async () => {
  const { instance, person } = at;
  const sent = await at.use(await at.command(PING));
  const before = person.sink.dispatches.length;
  instance.steer.drop = 'interactionChanged';
  await expect(at.answer(sent, CALLBACK.MESSAGE, { content: 'lost' })).rejects.toThrow('gone');
  wellDone(await at.answer(sent, CALLBACK.MESSAGE, { content: 'answered' }));
  const messages = person.sink.dispatches.slice(before).filter(({ t }) => t === 'MESSAGE_CREATE');
  expect(messages.map(({ d }) => d)).toMatchObject([{ content: 'answered' }]);
});

describe('a follow-up', () => {
  const deferred = async (flags = 0) => {
    const sent = await at.use(await at.command(PING));
    const { written } = wellDone(await at.answer(sent, CALLBACK.DEFERRED_MESSAGE, { flags }));
    return { sent, id: written!.message.id, messages: await original(sent) };
  };

  test.each([
    ['a message of the channel', 0],
    ['a message that only its reader sees', EPHEMERAL],
  ])('overwrites no answer whose completion was stored before the server stopped: %s', async (_, flags) => {
    const { sent, id, messages } = await deferred(flags);
    at.instance.steer.drop = 'interactionChanged';
    await expect(messages.edit('@original', { ...edit, edit: { content: 'done' } })).rejects.toThrow('gone');
    const { message } = wellDone(await at.followUp(sent, { content: 'more', flags }));
    expect(message.id).not.toBe(id);
    expect(wellDone(await messages.get('@original', undefined))).toMatchObject({ id, content: 'done' });
  });

  test('is a new message when a moderator deleted the deferred answer', async () => {
    const { sent, id } = await deferred();
    const { instance, channelId } = at;
    const by = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
    wellDone(await instance.guilds.call(instance.guildId, 'deleteMessage', { channelId, messageId: id }, by));
    const { message } = wellDone(await at.followUp(sent, { content: 'more' }));
    expect([message.content, message.id === id]).toEqual(['more', false]);
  });
});

describe('a change of the message of a button, while the server stops', () => {
  // The guild starts again after a failed commit: each test has a server of its own.
  beforeEach(async () => {
    at.instance.close();
    at = await openInteractions();
  });

  test.each([
    ['stored', 'lose', 40_060],
    ['not stored', 'drop', null],
  ] as const)('is answered once when the change was %s', async (_, how, code) => {
    const { id } = await shown(BUTTON);
    const pressed = await at.send(at.click(id, 'go'));
    const press = () => at.answer(pressed, CALLBACK.UPDATE_MESSAGE, { content: 'pressed' });
    at.instance.steer[how] = 'messageUpdated';
    await expect(press()).rejects.toThrow('gone');
    const before = at.person.sink.dispatches.length;
    expect(codeOf(await press())).toBe(code);
    const [message] = await at.instance.storage.messages.get(at.instance.guildId, [
      { channelId: at.channelId, id: id as never },
    ]);
    expect(message?.content).toBe('pressed');
    const names = at.person.sink.names.slice(before);
    expect(names.filter((t) => t === 'INTERACTION_SUCCESS')).toHaveLength(1);
  });
});

test('a message that its reader dismissed is not dispatched as deleted again when the token expires', async () => {
  at.instance.close();
  at = await openInteractions();
  const { instance, channelId, person } = at;
  const sent = await at.use(await at.command(PING));
  const { written } = wellDone(
    await at.answer(sent, CALLBACK.MESSAGE, { content: 'hidden', flags: EPHEMERAL }),
  );
  const { id } = written!.message;
  const place = { ownerId: instance.guildId, guildId: instance.guildId, channelId };
  wellDone(await instance.features.interactions.dismiss(place, id, instance.ownerId));
  const stored = () => instance.storage.interactions.get(instance.guildId, sent.id);
  instance.clock.advance(15 * 60_000);
  for (let second = 0; second < 60 && (await stored()) !== null; second += 1) {
    instance.clock.advance(1_000);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  expect(await stored()).toBeNull();
  expect(person.sink.names.filter((t) => t === 'MESSAGE_DELETE')).toHaveLength(1);
});

test('an interaction answered by the callback route does not fail when its endpoint fails afterwards', async () => {
  const { instance, person } = at;
  /** By id of the interaction: ends the request with 500. */
  const fails = new Map<string, () => void>();
  const bodies: Parameters<typeof at.answer>[0][] = [];
  const endpoint = createServer(async (request, response) => {
    const sent = JSON.parse(await text(request));
    bodies.push(sent);
    fails.set(sent.id, () => void response.writeHead(500).end());
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const { port } = endpoint.address() as AddressInfo;
  const application = (await instance.storage.applications.get(at.own.id))!;
  const url = { interactions_endpoint_url: `http://127.0.0.1:${port}/` };
  await instance.commit(at.own.id, [{ type: 'applicationUpdated', application: { ...application, ...url } }]);
  instance.features.interactions.forget(at.own.id);
  const one = await at.command(PING);
  const used = async () => {
    const before = bodies.length;
    wellDone(await at.ask({ type: INTERACTION.COMMAND, data: at.dataOf(one) }));
    await vi.waitUntil(() => bodies.length > before, 5_000);
    return bodies.at(-1)!;
  };
  const answered = await used();
  wellDone(await at.answer(answered, CALLBACK.MESSAGE, { content: 'answered' }));
  fails.get(answered.id)?.();
  // The failure of a later interaction arrives after any effect of the earlier failure.
  const unanswered = await used();
  fails.get(unanswered.id)?.();
  await at.shown(person.sink, 'INTERACTION_FAILURE', ({ id }) => id === unanswered.id);
  await new Promise<void>((resolve) => endpoint.close(() => resolve()));
  const failed = person.sink.dispatches.filter(({ t }) => t === 'INTERACTION_FAILURE');
  expect(failed.map(({ d }) => (d as { readonly id: string }).id)).toEqual([unanswered.id]);
  wellDone(await at.followUp(answered, { content: 'more' }));
});
