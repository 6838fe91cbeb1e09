/** Goal: components come from applications only, are whole when they are answered, and crash no stock client. */
import { Client, Message } from 'discord.js';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Guild, StoredMessage } from '../../../../engine/guild/guild.ts';
import type { UserId } from '../../../../protocol/ids.ts';
import type { MessageStore } from '../../../../storage/message/port.ts';
import { messages } from '../../../../transports/rest/resources/messages.ts';
import { backed, foundedGuild } from '../../../support/backed.ts';
import {
  everyComponent,
  IS_COMPONENTS_V2,
  messageComponents,
  type Tree,
  UPLOADS,
} from '../../../support/components.ts';
import { user } from '../../../support/guild.ts';
import { validateResponse } from '../../../support/openapi.ts';

const BOT = '11';

function storeOf(guild: Guild): Partial<MessageStore> {
  return {
    get: async (_owner, ids) => ids.flatMap(({ id }) => guild.messages.get(id) ?? []),
    reactionsOf: async () => new Map(),
    list: async () => [...guild.messages.values()].filter((one): one is StoredMessage => one !== null),
  };
}

function arrange() {
  const guild = foundedGuild();
  const whole = { ...user(BOT), public_flags: 0, flags: 0, primary_guild: null };
  guild.members.set(BOT as UserId, { ...guild.members.get(BOT as UserId)!, user: whole });
  const files = new Map<string, Uint8Array>();
  const blobs = {
    put: async (key: string, bytes: Uint8Array) => void files.set(key, bytes),
    delete: async (key: string) => void files.delete(key),
    head: async (key: string) => (files.has(key) ? { size: 1, contentType: 'image/png' } : null),
    read: async (key: string) => [files.get(key)!],
  };
  const api = backed(messages, guild, { read: { messages: storeOf(guild) }, blobs });
  const channel_id = [...guild.channels.values()].find(({ type }) => (type as number) === 0)!.id;
  const as =
    (userId: string, kind: 'bot' | 'user') =>
    async (operation: string, body?: unknown, more: { files?: object[]; message_id?: string } = {}) => {
      const { message_id, ...rest } = more;
      const params = { channel_id, ...(message_id === undefined ? {} : { message_id }) };
      const { status, body: answer } = await api.as(userId, kind)(operation, {
        params,
        body,
        ...rest,
      } as never);
      return { status, body: answer as Tree & { id: string; components: Tree[] } };
    };
  return { ...api, guild, files, bot: as(BOT, 'bot'), person: as(BOT, 'user'), other: as('2', 'user') };
}

let on: ReturnType<typeof arrange>;
beforeEach(() => {
  on = arrange();
});

const uploads = () =>
  UPLOADS.map((filename, index) => ({
    field: `files[${index}]`,
    filename,
    contentType: filename.endsWith('.png') ? 'image/png' : 'text/plain',
    bytes: new TextEncoder().encode(filename),
  }));
const v2 = (...components: object[]) => ({ flags: IS_COMPONENTS_V2, components });
const text = (content = 'x') => ({ type: 10, content });
const row = (...components: object[]) => ({ content: 'x', components: [{ type: 1, components }] });
const file = (name: string) => ({ type: 13, file: { url: `attachment://${name}` } });

/** Reads an answer as an unmodified library does, down to every component. */
const client = new Client({ intents: [] });
function readByClient(body: Tree): unknown[] {
  const message = new (Message as unknown as new (client: Client, data: Tree) => Message)(client, body);
  return message.components.map((component) => component.toJSON());
}

describe('malformed components', () => {
  it.each([
    ['a container without components', v2({ type: 17 })],
    ['a section without texts', v2({ type: 9 })],
    ['a gallery without items', v2({ type: 12 })],
    ['a row without components', { content: 'x', components: [{ type: 1 }] }],
    ['a file without a file', v2({ type: 13 })],
    ['a thumbnail at the top', v2({ type: 11, media: { url: 'https://example.com' } })],
    ['a container in a container', v2({ type: 17, components: [{ type: 17, components: [text()] }] })],
    [
      'a section with a file for an accessory',
      v2({ type: 9, components: [text()], accessory: file('a.txt') }),
    ],
    ['a link that runs a script', row({ type: 2, style: 5, url: 'javascript:alert(1)' })],
    ['an image with a file: URL', v2({ type: 12, items: [{ media: { url: 'file:///etc/passwd' } }] })],
    ['a text of 60,000 characters', v2(text('x'.repeat(60_000)))],
    ['a radio group', v2({ type: 21, custom_id: 'r', options: [] })],
    ['a text input', row({ type: 4, custom_id: 't', style: 1 })],
    ['a label', v2({ type: 18, label: 'l', component: { type: 4, custom_id: 't', style: 1 } })],
    ['a select without options', row({ type: 3, custom_id: 's', options: [] })],
    ['a button without a style', row({ type: 2, custom_id: 'b', label: 'x' })],
    ['a premium button without a SKU', row({ type: 2, style: 6, sku_id: '1' })],
    [
      'six rows',
      {
        content: 'x',
        components: Array(6).fill({ type: 1, components: [{ type: 2, style: 5, url: 'https://a.b' }] }),
      },
    ],
  ])('are refused from users and from bots: %s', async (_, body) => {
    for (const send of [on.person, on.bot]) {
      const { status, body: answer } = await send('create_message', body);
      expect({ status, code: answer.code }).toEqual({ status: 400, code: 50035 });
      expect(answer).toHaveProperty('errors');
    }
    expect(on.guild.messages.size).toBe(0);
  });

  it('are refused in edits as well', async () => {
    const { body } = await on.bot('create_message', { content: 'x' });
    const at = { message_id: body.id };
    for (const change of [v2({ type: 17 }), { components: [{ type: 1 }] }, { flags: IS_COMPONENTS_V2 }])
      expect(await on.bot('update_message', change, at)).toMatchObject({
        status: 400,
        body: { code: 50035 },
      });
    expect(on.guild.messages.get(body.id as never)).toMatchObject({ flags: 0, components: [] });
  });
});

describe('components of people', () => {
  it('are rows of link buttons; interactive and layout components are rejected', async () => {
    const link = { type: 2, style: 5, url: 'https://example.com', label: 'Rules' };
    expect(await on.person('create_message', row(link))).toMatchObject({ status: 200 });
    for (const body of [
      row({ type: 2, style: 1, custom_id: 'b', label: 'x' }),
      row({ type: 5, custom_id: 's' }),
      v2(text()),
    ]) {
      expect(await on.person('create_message', body)).toMatchObject({ status: 400, body: { code: 50035 } });
      expect(await on.bot('create_message', body)).toMatchObject({ status: 200 });
    }
  });

  it('cannot be added by an edit, and a moderator cannot change the components of another user’s message', async () => {
    const { body } = await on.person('create_message', { content: 'x' });
    const at = { message_id: body.id };
    const change = { ...v2(text()), content: null };
    expect(await on.person('update_message', change, at)).toMatchObject({
      status: 400,
      body: { code: 50035 },
    });
    expect(await on.other('update_message', { flags: IS_COMPONENTS_V2 }, at)).toMatchObject({
      body: { code: 50005 },
    });
    expect(await on.other('update_message', { flags: 4 }, at)).toMatchObject({
      status: 200,
      body: { flags: 4 },
    });
  });
});

describe('a message with the flag IS_COMPONENTS_V2', () => {
  it.each([
    ['content', { content: 'x' }],
    ['embeds', { embeds: [{ title: 'x' }] }],
    ['poll', { poll: { question: { text: 'q' }, answers: [{ poll_media: { text: 'a' } }] } }],
    ['sticker_ids', { sticker_ids: ['1'] }],
  ])('has no %s', async (field, more) => {
    const { status, body } = await on.bot('create_message', { ...v2(text()), ...more });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 50035, errors: { [field]: { _errors: [{}] } } });
  });

  it('keeps its flag, whatever flags an edit has', async () => {
    const { body } = await on.bot('create_message', v2(text('one')));
    const at = { message_id: body.id };
    const edited = await on.bot('update_message', { flags: 0, components: [text('two')] }, at);
    expect(edited.body).toMatchObject({
      flags: IS_COMPONENTS_V2,
      components: [{ type: 10, content: 'two' }],
    });
    expect(await on.bot('update_message', { content: 'x' }, at)).toMatchObject({ status: 400 });
    expect(await on.bot('update_message', { embeds: [{ title: 't' }] }, at)).toMatchObject({ status: 400 });
    expect(await on.bot('update_message', { components: [] }, at)).toMatchObject({ body: { code: 50006 } });
  });

  it('returns the files of its components with signed URLs, lists no attachments, and drops other files', async () => {
    const made = await on.bot('create_message', v2(file('notes.txt')), { files: uploads() });
    expect(made.status).toBe(200);
    expect(made.body.attachments).toEqual([]);
    const [shown] = made.body.components as [Tree & { file: Tree }];
    expect(shown).toMatchObject({ name: 'notes.txt', size: 9, spoiler: false });
    expect(shown.file).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1\/attachments\/\d+\/\d+\/notes\.txt\?signed$/),
      proxy_url: expect.stringMatching(/\?signed$/),
      content_type: 'text/plain',
      size: 9,
      attachment_id: shown.file.id,
    });
    expect([...on.files.keys()]).toEqual([expect.stringContaining(String(shown.file.id))]);
    const none = await on.bot('create_message', { flags: IS_COMPONENTS_V2 }, { files: uploads() });
    expect(none).toMatchObject({ status: 400, body: { code: 50006 } });
  });

  it('keeps the files that an edit refers to, by name or URL, and drops the others', async () => {
    const gallery = { type: 12, items: UPLOADS.map((name) => ({ media: { url: `attachment://${name}` } })) };
    const { body } = await on.bot('create_message', v2(gallery, text('a')), { files: uploads() });
    const at = { message_id: body.id };
    const untouched = await on.bot('update_message', { flags: 4 | IS_COMPONENTS_V2 }, at);
    expect(untouched.body.components).toEqual(body.components);
    const back = await on.bot('update_message', { components: body.components }, at);
    expect(back.body.components).toEqual(body.components);
    const named = await on.bot('update_message', { components: [file('map.png')] }, at);
    expect(named.body.components).toMatchObject([{ name: 'map.png', size: 7 }]);
    const stored = on.guild.messages.get(body.id as never)!;
    expect(stored.files).toMatchObject([{ filename: 'map.png' }]);
    const gone = await on.bot('update_message', { components: [file('notes.txt')] }, at);
    expect(gone).toMatchObject({
      status: 400,
      body: { errors: { components: { 0: { file: { url: {} } } } } },
    });
  });

  it('signs no URL that a client supplies', async () => {
    const foreign = 'http://127.0.0.1/attachments/1/2/secret.png';
    const forged = { url: foreign, attachment_id: '2', proxy_url: foreign };
    const { body } = await on.bot('create_message', v2({ type: 12, items: [{ media: forged }] }));
    expect(JSON.stringify(body)).not.toContain('?signed');
  });

  it('is forwarded completely, with copies of its files', async () => {
    const { body } = await on.bot('create_message', v2({ type: 17, components: [file('map.png')] }), {
      files: uploads(),
    });
    const message_reference = { type: 1, message_id: body.id, channel_id: body.channel_id };
    const forward = await on.other('create_message', { message_reference });
    expect(forward.status).toBe(200);
    const [{ message: snapshot }] = forward.body.message_snapshots as [
      { message: Tree & { components: Tree[] } },
    ];
    const [shown] = everyComponent(snapshot.components).filter(({ type }) => type === 13) as [
      Tree & { file: Tree },
    ];
    const [original] = everyComponent(body.components).filter(({ type }) => type === 13) as [
      Tree & { file: Tree },
    ];
    expect(snapshot).toMatchObject({ flags: IS_COMPONENTS_V2, attachments: [] });
    expect(shown.file.id).not.toBe(original.file.id);
    expect(shown.file.attachment_id).toBe(shown.file.id);
    expect(shown.file.url).toContain(`/${shown.file.id}/map.png?signed`);
    expect(on.files.size).toBe(2);
    const wrong = validateResponse('create_message', 200, forward.body);
    expect(wrong.filter((one) => one.includes('/message_snapshots'))).toEqual([]);
    const beside = await on.bot('create_message', { message_reference, flags: IS_COMPONENTS_V2 });
    expect(beside).toMatchObject({ status: 400, body: { code: 50035 } });
  });
});

describe('any valid components', () => {
  it('are returned as the published schema requires, and parsed completely by a stock client', async () => {
    await fc.assert(
      fc.asyncProperty(messageComponents(), async ({ flags, components }) => {
        const body = { flags, components, ...(flags === 0 ? { content: 'x' } : {}) };
        const made = await on.bot('create_message', body, { files: uploads() });
        expect(made.status, JSON.stringify(made.body)).toBe(200);
        expect(validateResponse('create_message', 200, made.body)).toEqual([]);
        expect(readByClient(made.body)).toEqual(made.body.components);
        expect(everyComponent(made.body.components).map(({ type }) => type)).toEqual(
          everyComponent(components).map(({ type }) => type),
        );
      }),
      { numRuns: 60 },
    );
  });
});
