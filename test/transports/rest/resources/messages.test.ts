/** Goal: requests about messages, pins and reactions reach the rules and the store, and come back as the platform's. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Guild, StoredMessage } from '../../../../engine/guild/guild.ts';
import {
  type ChannelId,
  compareIds,
  type MessageId,
  type RoleId,
  type UserId,
} from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import type { MessageStore } from '../../../../storage/message/port.ts';
import { pageOf } from '../../../../transports/rest/resources/messages.page.ts';
import { messages } from '../../../../transports/rest/resources/messages.ts';
import { reactions } from '../../../../transports/rest/resources/reactions.ts';
import { backed, foundedGuild } from '../../../support/backed.ts';
import { id, user } from '../../../support/guild.ts';
import { storedMessage } from '../../../support/messages.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { NOW_MS } from '../../../support/people.ts';

/** Reads of the guild's own window: what a store would answer once everything is written. */
function storeOf(guild: Guild, reacted: Map<string, Set<string>>) {
  const reads: string[] = [];
  const all = (channelId: string) =>
    [...guild.messages.values()]
      .filter((each): each is StoredMessage => each?.channel_id === channelId)
      .sort((a, b) => compareIds(b.id, a.id));
  const pinned = (channelId: string) =>
    all(channelId)
      .filter(({ pinned_ms }) => pinned_ms !== null)
      .sort((a, b) => b.pinned_ms! - a.pinned_ms!);
  const store: Partial<MessageStore> = {
    list: async (_owner, channelId, { before, limit }) => {
      reads.push('list');
      const found = all(channelId).filter(({ id }) => before === undefined || compareIds(id, before) < 0);
      return found.slice(0, limit);
    },
    get: async (_owner, ids) => {
      reads.push('get');
      return ids.flatMap(({ id }) => guild.messages.get(id) ?? []);
    },
    reactionsOf: async (_owner, userId, ids) => {
      reads.push('reactionsOf');
      return new Map(ids.map((id) => [id, reacted.get(`${id}:${userId}`) ?? new Set<string>()]));
    },
    reactors: async () => [user('11')],
    pins: async (_owner, channelId, beforeMs, limit) =>
      pinned(channelId)
        .filter(({ pinned_ms }) => beforeMs === null || pinned_ms! < beforeMs)
        .slice(0, limit),
    pinTimes: async (_owner, channelId) =>
      new Map(pinned(channelId).map(({ id, pinned_ms }) => [id, pinned_ms!])),
  };
  return { reads, store };
}

function arrange() {
  const guild = foundedGuild();
  const reacted = new Map<string, Set<string>>();
  const blobs = new Map<string, Uint8Array>();
  const { reads, store } = storeOf(guild, reacted);
  const api = backed({ ...messages, ...reactions }, guild, {
    read: { messages: store, expressions: { owner: async () => null } },
    blobs: {
      put: async (key: string, bytes: Uint8Array) => void blobs.set(key, bytes),
      delete: async (key: string) => void blobs.delete(key),
    },
  });
  const channelId = [...guild.channels.values()].find(({ type }) => (type as number) === 0)!.id;
  const call =
    (userId: string, kind?: 'bot') =>
    async (
      operation: string,
      more: { params?: object; body?: unknown; query?: object; files?: object[] } = {},
    ) => {
      const given = { ...more, params: { channel_id: channelId, ...more.params } };
      const { status, body } = await api.as(userId, kind)(operation, given as never);
      return { status, body: body as Record<string, unknown> };
    };
  const place = (more: Partial<StoredMessage> = {}, authorId = '2') => {
    const message = storedMessage(channelId, authorId, more);
    guild.messages.set(message.id, message);
    return message;
  };
  const everyone = (change: (bits: bigint) => bigint) => {
    const role = guild.roles.get('1' as RoleId)!;
    guild.roles.set('1' as RoleId, { ...role, permissions: String(change(BigInt(role.permissions))) });
  };
  return {
    ...api,
    guild,
    blobs,
    reads,
    reacted,
    channelId,
    place,
    everyone,
    owner: call('2'),
    plain: call('11'),
    bot: call('11', 'bot'),
  };
}

let on: ReturnType<typeof arrange>;
beforeEach(() => {
  on = arrange();
});

const file = (filename: string, text = 'hi', field = 'files[0]') => ({
  field,
  filename,
  contentType: 'text/plain',
  bytes: new TextEncoder().encode(text),
});

describe('create_message', () => {
  it('returns the message with its nonce', async () => {
    const { status, body } = await on.plain('create_message', { body: { content: 'hi', nonce: 12 } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      content: 'hi',
      nonce: 12,
      type: 0,
      author: { id: '11' },
      channel_id: on.channelId,
    });
    for (const key of ['pinned_ms', 'guild_id', 'member', 'reactions']) expect(body).not.toHaveProperty(key);
    expect(on.dispatches.at(-1)).toMatchObject({ t: 'MESSAGE_CREATE', d: { ...body, guild_id: '1' } });
    expect(on.reads).toEqual([]);
  });

  it('stores files under their attachments, and omits attachments that embeds use', async () => {
    const files = [file('a.txt'), { ...file('map.png', 'x', 'files[1]') }];
    const body = {
      embeds: [{ image: { url: 'attachment://map.png' } }],
      attachments: [{ id: '0', description: 'words' }],
    };
    const made = await on.plain('create_message', { body, files });
    expect(made.status).toBe(200);
    expect(made.body.attachments).toMatchObject([{ filename: 'a.txt', description: 'words', size: 2 }]);
    expect(made.body.embeds).toMatchObject([
      { image: { url: expect.stringMatching(/\/attachments\/.*\/map\.png$/) } },
    ]);
    expect(on.blobs.size).toBe(2);
  });

  it('deletes files when the message is refused, and stores none without permission', async () => {
    const body = { content: 'a'.repeat(2_001) };
    expect(await on.plain('create_message', { body, files: [file('a.txt')] })).toMatchObject({ status: 400 });
    expect(on.blobs.size).toBe(0);
    on.everyone((bits) => bits & ~P.ATTACH_FILES);
    const refused = await on.plain('create_message', { body: {}, files: [file('a.txt')] });
    expect(refused).toMatchObject({ status: 403, body: { code: 50013 } });
  });

  it.each([
    ['an attachment without its file', { content: 'a', attachments: [{ id: '3' }] }, 50146],
    ['a malformed form', { content: [], embeds: {} }, 50035],
    ['eleven embeds', { embeds: Array.from({ length: 11 }, () => ({ title: 't' })) }, 50035],
    ['a forward from nowhere', { message_reference: { type: 1, message_id: '5' } }, 10003],
  ])('refuses %s', async (_, body, code) => {
    expect(await on.plain('create_message', { body })).toMatchObject({ body: { code } });
  });

  it('returns a reply together with the referenced message', async () => {
    const { id } = on.place({ content: 'question' });
    const { body } = await on.plain('create_message', {
      body: { content: 'a', message_reference: { message_id: id } },
    });
    expect(body).toMatchObject({ type: 19, referenced_message: { id, content: 'question' } });
  });

  it('forwards only messages that the caller may read', async () => {
    const { id } = on.place({ content: 'news' });
    const message_reference = { type: 1, message_id: id, channel_id: on.channelId };
    const made = await on.plain('create_message', { body: { message_reference } });
    expect(made.body).toMatchObject({
      flags: 1 << 14,
      message_snapshots: [{ message: { content: 'news' } }],
    });
    const unknown = { ...message_reference, message_id: '404' };
    expect(await on.plain('create_message', { body: { message_reference: unknown } })).toMatchObject({
      body: { code: 10008 },
    });
    on.everyone((bits) => bits & ~P.READ_MESSAGE_HISTORY);
    expect(await on.plain('create_message', { body: { message_reference } })).toMatchObject({
      body: { code: 160009 },
    });
  });
});

describe('reading messages', () => {
  it('lists newest first, with replies and reactions of the reader', async () => {
    const first = on.place({ content: 'first' });
    const gone = { channel_id: on.channelId, message_id: '404' };
    const reply = on.place({
      type: 19,
      message_reference: { channel_id: on.channelId, message_id: first.id },
    });
    const orphan = on.place({
      type: 19,
      message_reference: gone,
      reactions: [{ key: '👍', emoji: { id: null, name: '👍' }, count: 3 }],
    });
    on.reacted.set(`${orphan.id}:11`, new Set(['👍']));
    const { body } = await on.plain('list_messages');
    expect(body).toMatchObject([
      {
        id: orphan.id,
        referenced_message: null,
        reactions: [
          { count: 3, me: true, me_burst: false, burst_colors: [], count_details: { burst: 0, normal: 3 } },
        ],
      },
      { id: reply.id, referenced_message: { id: first.id } },
      { id: first.id },
    ]);
    expect((await on.owner('list_messages')).body).toMatchObject([{ reactions: [{ me: false }] }, {}, {}]);
  });

  it('returns pages, and reads no more than the limit', async () => {
    const ids = [1, 2, 3].map(() => on.place().id);
    const { body } = await on.plain('list_messages', { query: { before: ids[2]!, limit: '1' } });
    expect(body).toMatchObject([{ id: ids[1] }]);
    expect(on.reads).toEqual(['list']);
    expect((await on.plain('list_messages', { query: { limit: '101' } })).body).toMatchObject({
      code: 50035,
    });
  });

  it('returns an empty list and refuses single messages without READ_MESSAGE_HISTORY', async () => {
    const { id } = on.place();
    on.everyone((bits) => bits & ~P.READ_MESSAGE_HISTORY);
    expect(await on.plain('list_messages')).toMatchObject({ status: 200, body: [] });
    expect(await on.plain('list_pins')).toMatchObject({ body: { items: [], has_more: false } });
    expect((await on.plain('get_message', { params: { message_id: id } })).status).toBe(403);
  });

  it('returns one message, or refuses an unknown one', async () => {
    const { id } = on.place();
    expect(await on.plain('get_message', { params: { message_id: id } })).toMatchObject({
      status: 200,
      body: { id },
    });
    expect(await on.plain('get_message', { params: { message_id: '404' } })).toMatchObject({
      status: 404,
      body: { code: 10008 },
    });
  });

  it('omits the embeds of a message with SUPPRESS_EMBEDS', async () => {
    on.place({ flags: 4, embeds: [{ title: 't' }] });
    expect((await on.plain('list_messages')).body).toMatchObject([{ embeds: [] }]);
  });

  it('uses one of before, after and around', () => {
    expect(pageOf({})).toEqual({ limit: 50 });
    expect(pageOf({ before: id('1'), after: id('2'), limit: 7 })).toEqual({ before: '1', limit: 7 });
    expect(pageOf({ around: id('3'), after: id('2') })).toEqual({ around: '3', limit: 50 });
    expect(pageOf({ after: id('2') })).toEqual({ after: '2', limit: 50 });
  });
});

describe('responses', () => {
  it('match the OpenAPI file, with every field that a message can have', async () => {
    const whole = { ...user('11'), public_flags: 0, flags: 0, primary_guild: null };
    on.guild.members.set('11' as UserId, { ...on.guild.members.get('11' as UserId)!, user: whole });
    const { id } = on.place({ author: whole });
    const button = { type: 2, style: 1, custom_id: 'go', label: 'Go', disabled: false };
    const embed = {
      title: 't',
      timestamp: '2026-03-01T12:00:00Z',
      image: { url: 'attachment://map.png' },
      fields: [{ name: 'n', value: 'v' }],
    };
    const bodies = [
      { content: 'a', message_reference: { message_id: id }, nonce: 'n', embeds: [embed] },
      { poll: { question: { text: 'q' }, answers: [{ poll_media: { text: 'a', emoji: { name: '👍' } } }] } },
      { content: 'a', components: [{ type: 1, components: [button] }] },
      { flags: 1 << 15, components: [{ type: 17, components: [{ type: 10, content: 'x' }] }] },
      { content: '<@11> @everyone', attachments: [{ id: '0', description: 'd', is_spoiler: true }] },
    ];
    const wrong: string[] = [];
    for (const body of bodies) {
      const files = [file('map.png')];
      const made = await on.bot('create_message', { body, files });
      expect(made.status).toBe(200);
      wrong.push(...validateResponse('create_message', made.status, made.body));
    }
    on.place({
      author: whole,
      reactions: [{ key: '👍', emoji: { id: null, name: '👍' }, count: 1 }],
      pinned_ms: 1,
    });
    for (const operation of ['list_messages', 'list_pins', 'deprecated_list_pins']) {
      const { status, body } = await on.plain(operation);
      wrong.push(...validateResponse(operation, status, body));
    }
    expect(wrong).toEqual([]);
  });
});

describe('changing messages', () => {
  it('edits, and returns the complete message', async () => {
    const { id } = on.place({}, '11');
    const changed = await on.plain('update_message', {
      params: { message_id: id },
      body: { content: 'new' },
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { id, content: 'new', edited_timestamp: expect.any(String) },
    });
  });

  it('keeps the files that an edit lists, and adds new ones', async () => {
    const made = await on.plain('create_message', {
      body: { content: 'a' },
      files: [file('a.txt'), file('b.txt', 'b', 'files[1]')],
    });
    const { id, attachments } = made.body as unknown as StoredMessage;
    const params = { message_id: id };
    const body = { attachments: [{ id: attachments[1]!.id }, { id: '0', description: 'third' }] };
    const changed = await on.plain('update_message', { params, body, files: [file('c.txt')] });
    expect(changed.body.attachments).toMatchObject([
      { filename: 'b.txt' },
      { filename: 'c.txt', description: 'third' },
    ]);
    const bare = await on.plain('update_message', { params, body: { attachments: null } });
    expect(bare.body).toMatchObject({ content: 'a', attachments: [] });
  });

  it('deletes one message, or several', async () => {
    const [a, b, c] = [on.place(), on.place(), on.place()];
    const params = { message_id: a.id };
    expect(await on.plain('delete_message', { params })).toMatchObject({ status: 403 });
    expect(await on.owner('delete_message', { params })).toMatchObject({ status: 204 });
    const body = { messages: [b.id, c.id] };
    expect(await on.plain('bulk_delete_messages', { body })).toMatchObject({ status: 403 });
    expect(await on.owner('bulk_delete_messages', { body })).toMatchObject({ status: 204 });
    expect((await on.owner('list_messages')).body).toEqual([]);
  });

  it('starts typing, and refuses to publish outside of announcement channels', async () => {
    expect(await on.plain('trigger_typing_indicator')).toMatchObject({ status: 204 });
    expect(on.dispatches.at(-1)).toMatchObject({ t: 'TYPING_START', d: { user_id: '11' } });
    const { id } = on.place({}, '11');
    const published = await on.plain('crosspost_message', { params: { message_id: id } });
    expect(published).toMatchObject({ status: 400, body: { code: 50024 } });
  });
});

describe('pins', () => {
  it('are set, listed newest first with has_more, and removed, by both routes', async () => {
    const [a, b] = [on.place(), on.place({ pinned: true, pinned_ms: NOW_MS - 5 })];
    const params = { message_id: a.id };
    expect(await on.plain('create_pin', { params })).toMatchObject({ status: 403 });
    expect(await on.owner('deprecated_create_pin', { params })).toMatchObject({ status: 204 });
    const page = await on.plain('list_pins', { query: { limit: '1' } });
    expect(page.body).toMatchObject({
      items: [{ pinned_at: '2026-03-01T12:00:00.000000+00:00', message: { id: a.id, pinned: true } }],
      has_more: true,
    });
    const rest = await on.plain('list_pins', { query: { before: '2026-03-01T12:00:00Z' } });
    expect(rest.body).toMatchObject({ items: [{ message: { id: b.id } }], has_more: false });
    expect((await on.plain('deprecated_list_pins')).body).toMatchObject([{ id: a.id }, { id: b.id }]);
    expect(await on.owner('delete_pin', { params })).toMatchObject({ status: 204 });
    const channel = on.guild.channels.get(on.channelId as ChannelId) as { last_pin_timestamp?: string };
    expect(channel.last_pin_timestamp).toBe('2026-03-01T11:59:59.995000+00:00');
  });

  it('are all on the pages of their list, also those of one millisecond', async () => {
    const ids = Array.from({ length: 5 }, () => on.place().id);
    for (const message_id of ids) await on.owner('create_pin', { params: { message_id } });
    const listed: string[] = [];
    for (let before = {}, more = true; more; ) {
      const { body } = await on.plain('list_pins', { query: { limit: '2', ...before } });
      const { items, has_more } = body as {
        items: { pinned_at: string; message: { id: string } }[];
        has_more: boolean;
      };
      listed.push(...items.map(({ message }) => message.id));
      before = { before: items.at(-1)?.pinned_at };
      more = has_more;
    }
    expect(listed).toEqual(ids.reverse());
  });

  it('are refused beyond 250', async () => {
    for (let count = 0; count < 250; count += 1) on.place({ pinned: true, pinned_ms: count });
    const params = { message_id: on.place().id };
    expect(await on.owner('create_pin', { params })).toMatchObject({ body: { code: 30003 } });
  });
});

describe('reactions', () => {
  const params = (id: MessageId, more = {}) => ({ message_id: id, emoji_name: '👍', ...more });

  it('are added, listed and removed', async () => {
    const { id } = on.place();
    expect(await on.plain('add_my_message_reaction', { params: params(id) })).toMatchObject({ status: 204 });
    expect(on.guild.messages.get(id)?.reactions).toMatchObject([{ key: '👍', count: 1 }]);
    const list = await on.plain('list_message_reactions_by_emoji', { params: params(id) });
    expect(list.body).toMatchObject([{ id: '11' }]);
    const burst = await on.plain('list_message_reactions_by_emoji', {
      params: params(id),
      query: { type: '1' },
    });
    expect(burst.body).toEqual([]);
    expect(await on.plain('delete_my_message_reaction', { params: params(id) })).toMatchObject({
      status: 204,
    });
    expect(on.guild.messages.get(id)?.reactions).toEqual([]);
  });

  it('are not counted twice when the store has them', async () => {
    const reactions = [{ key: '👍', emoji: { id: null, name: '👍' }, count: 1 }];
    const { id } = on.place({ reactions });
    on.reacted.set(`${id}:11`, new Set(['👍']));
    await on.plain('add_my_message_reaction', { params: params(id) });
    expect(on.dispatches).toEqual([]);
  });

  it('are removed by moderators and by their author', async () => {
    const { id } = on.place();
    await on.plain('add_my_message_reaction', { params: params(id) });
    await on.owner('add_my_message_reaction', { params: params(id) });
    const theirs = { params: params(id, { user_id: '2' as UserId }) };
    expect(await on.plain('delete_user_message_reaction', theirs)).toMatchObject({ status: 403 });
    expect(await on.plain('delete_all_message_reactions', { params: { message_id: id } })).toMatchObject({
      status: 403,
    });
    const own = { params: params(id, { user_id: '11' }) };
    expect(await on.plain('delete_user_message_reaction', own)).toMatchObject({ status: 204 });
    expect(await on.owner('delete_all_message_reactions_by_emoji', { params: params(id) })).toMatchObject({
      status: 204,
    });
    expect(on.guild.messages.get(id)?.reactions).toEqual([]);
  });

  it('require an existing emoji and message', async () => {
    const { id } = on.place();
    const answers = await Promise.all([
      on.plain('add_my_message_reaction', { params: params(id, { emoji_name: 'custom:1' }) }),
      on.plain('add_my_message_reaction', { params: params('404' as MessageId) }),
    ]);
    expect(answers.map(({ body }) => body.code)).toEqual([10014, 10008]);
  });
});
