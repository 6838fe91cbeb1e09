// Goal: messages, pins and reactions read back as they were written, for guilds and private channels, on every database.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuildFact } from '../../engine/guild/facts.ts';
import {
  type ApplicationId,
  type ChannelId,
  type GuildId,
  type MessageId,
  snowflakeAt,
  type UserId,
} from '../../protocol/ids.ts';
import type { MessageSearch } from '../../storage/message/port.ts';
import { channel, commit, created, GUILD, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const react = (
  type: 'reactionAdded' | 'reactionRemoved',
  messageId: string,
  userId: string,
  key: string,
): GuildFact => ({
  type,
  channelId: id('100'),
  messageId: id(messageId),
  userId: id(userId),
  messageAuthorId: id('10'),
  emoji: { id: null, name: key },
  key,
  atMs: 0,
});

describe.each(databases())('messages on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  let lastChannel = 1000;
  const store = () => fresh.storage.messages;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, GUILD, ...facts);
  /** Each test has a channel of its own, with messages named by their distance from its id times ten thousand. */
  const freshChannel = () => {
    const channelId = id<ChannelId>(++lastChannel);
    const name = (n: number) => id<MessageId>(lastChannel * 10_000 + n);
    return { channelId, name };
  };
  const fill = async (count: number) => {
    const { channelId, name } = freshChannel();
    const all = Array.from({ length: count }, (_, n) => message(channelId, name(n + 1)));
    await write(...all.map(created));
    return { channelId, name, all };
  };

  beforeAll(async () => {
    fresh = await openFresh(kind);
    await seed(fresh.storage.writer);
  });
  afterAll(() => fresh.close());

  test('components that an earlier version stored malformed are left out, also of forwards', async () => {
    const { channelId, name } = freshChannel();
    const text = { type: 10, id: 1, content: 'x' };
    const broken = { components: [{ type: 17 }] } as never;
    const snapshot = { message: { ...message(channelId, name(9)), components: [{ type: 12 }] } };
    await write(
      created(message(channelId, name(1), broken)),
      created(message(channelId, name(2), { components: [text] } as never)),
      created(message(channelId, name(3), { message_snapshots: [snapshot] } as never)),
    );
    const [forward, whole, mended] = await store().list(GUILD, channelId, { limit: 3 });
    expect(mended!.components).toEqual([]);
    expect(whole!.components).toEqual([text]);
    expect(forward!.message_snapshots).toMatchObject([{ message: { components: [] } }]);
  });

  test('files of deleted messages, and files removed from messages, are reported when the change is durable', async () => {
    const { channelId, name } = freshChannel();
    const stored = (n: number) => ({ id: `${n}`, filename: `${n}.txt` });
    const withFiles = (n: number, ...files: number[]) =>
      message(channelId, name(n), { files: files.map(stored) });
    await write(...[1, 2, 3, 4].map((n) => created(withFiles(n, n * 10, n * 10 + 1))), created(withFiles(5)));
    // Files that are deleted before there is a listener are held.
    await write({ type: 'messageDeleted', channelId, messageId: name(1) });
    const gone: string[] = [];
    fresh.storage.onFilesGone(async (files) => {
      for (const file of files) {
        expect(file).toEqual({ channelId, id: file.id, filename: `${file.id}.txt` });
        gone.push(file.id);
      }
    });
    const told = () => gone.splice(0).sort();
    expect(told()).toEqual(['10', '11']);
    await write({ type: 'messageDeleted', channelId, messageId: name(1) });
    await write({
      type: 'messageUpdated',
      message: message(channelId, name(2), { files: [stored(21), stored(22)] }),
    });
    expect(told()).toEqual(['20']);
    const { files: _, ...bare } = withFiles(2);
    await write({ type: 'messageUpdated', message: bare });
    expect(told()).toEqual(['21', '22']);
    await write({
      type: 'messagesBulkDeleted',
      channelId,
      messageIds: [name(2), name(3), name(5), name(99)],
    });
    expect(told()).toEqual(['30', '31']);
    const twice = created(message(channelId, name(6)));
    const lost = write({ type: 'messageDeleted', channelId, messageId: name(4) }, twice, twice);
    await expect(lost).rejects.toThrow('duplicate');
    expect(told()).toEqual([]);
    await write({ type: 'channelDeleted', channel: channel(channelId) });
    await fresh.storage.purge.settled();
    expect(told()).toEqual(['40', '41']);
  });

  test('pages are newest first, with any bounds', async () => {
    const { channelId, name, all } = await fill(9);
    const page = async (of: object) =>
      (await store().list(GUILD, channelId, { limit: 3, ...of })).map((each) => Number(each.id) % 10_000);
    expect(await store().list(GUILD, channelId, { limit: 100 })).toEqual(all.toReversed());
    expect(await page({})).toEqual([9, 8, 7]);
    expect(await page({ before: name(4) })).toEqual([3, 2, 1]);
    expect(await page({ before: name(2) })).toEqual([1]);
    expect(await page({ after: name(4) })).toEqual([7, 6, 5]);
    expect(await page({ after: name(0) })).toEqual([3, 2, 1]);
    expect(await page({ around: name(5) })).toEqual([6, 5, 4]);
    expect(await page({ around: name(5), limit: 4 })).toEqual([7, 6, 5, 4]);
    expect(await page({ around: name(5), limit: 1 })).toEqual([5]);
    expect(await page({ around: name(9) })).toEqual([9, 8]);
    expect(await store().list(GUILD, id('1'), { limit: 3 })).toEqual([]);
    expect(await store().list('1', channelId, { limit: 3 })).toEqual([]);
  });

  test('an update replaces a message but neither its pin nor its reactions', async () => {
    const { channelId, name } = await fill(1);
    await write(
      { type: 'messagePinned', channelId, messageId: name(1), pinnedMs: 5 },
      react('reactionAdded', name(1), '11', 'x'),
      { type: 'messageUpdated', message: message(channelId, name(1), { content: 'first' }) },
      { type: 'messageUpdated', message: message(channelId, name(1), { content: 'second' }) },
    );
    const [found] = await store().get(GUILD, [{ channelId, id: name(1) }]);
    expect(found).toEqual(
      message(channelId, name(1), {
        content: 'second',
        pinned: true,
        pinned_ms: 5,
        reactions: [{ key: 'x', emoji: { id: null, name: 'x' }, count: 1 }],
      }),
    );
  });

  test('the deletion of one or many messages deletes their reactions', async () => {
    const { channelId, name } = await fill(4);
    await write(react('reactionAdded', name(1), '11', 'x'), react('reactionAdded', name(2), '11', 'x'));
    await write(
      { type: 'messageDeleted', channelId, messageId: name(1) },
      { type: 'messagesBulkDeleted', channelId, messageIds: [name(2), name(3), name(2)] },
    );
    expect((await store().list(GUILD, channelId, { limit: 10 })).map((each) => each.id)).toEqual([name(4)]);
    expect(await store().reactionsOf(GUILD, id('11'), [name(1), name(2)])).toEqual(new Map());
    expect(await store().reactors(GUILD, name(2), 'x', { limit: 10 })).toEqual([]);
  });

  test('reactions are counted once per user, in the order in which their emoji first appeared', async () => {
    const { channelId, name } = await fill(2);
    const counts = async () => {
      const [found] = await store().get(GUILD, [{ channelId, id: name(1) }]);
      return found?.reactions.map(({ key, count }) => `${key}${count}`);
    };
    await write(
      react('reactionAdded', name(1), '12', 'b'),
      react('reactionAdded', name(1), '11', 'a'),
      react('reactionAdded', name(1), '12', 'b'),
      react('reactionAdded', name(1), '13', 'b'),
    );
    await write(react('reactionAdded', name(1), '13', 'b'), react('reactionAdded', name(2), '13', 'c'));
    expect(await counts()).toEqual(['b2', 'a1']);
    expect(await store().reactionsOf(GUILD, id('12'), [name(1), name(2)])).toEqual(
      new Map([[name(1), new Set(['b'])]]),
    );
    const reactors = async (page: { after?: UserId; limit: number }) =>
      (await store().reactors(GUILD, name(1), 'b', page)).map((each) => each.id);
    expect(await reactors({ limit: 10 })).toEqual(['12', '13']);
    expect(await reactors({ after: id('12'), limit: 10 })).toEqual(['13']);
    expect(await store().reactors(GUILD, name(1), 'b', { limit: 1 })).toEqual([user('12')]);

    await write(
      react('reactionRemoved', name(1), '12', 'b'),
      react('reactionRemoved', name(1), '12', 'b'),
      react('reactionRemoved', name(1), '14', 'b'),
    );
    expect(await counts()).toEqual(['b1', 'a1']);
    await write(react('reactionRemoved', name(1), '13', 'b'), react('reactionAdded', name(1), '13', 'b'));
    expect(await counts(), 'an emoji that was gone stands last').toEqual(['a1', 'b1']);
    await write({
      type: 'reactionsEmojiCleared',
      channelId,
      messageId: name(1),
      emoji: { id: null, name: 'a' },
      key: 'a',
    });
    expect(await counts()).toEqual(['b1']);
    await write({ type: 'reactionsCleared', channelId, messageId: name(1) });
    expect(await counts()).toEqual([]);
    expect(await reactors({ limit: 10 })).toEqual([]);
  });

  test('pins are listed newest first, and read with the times of pinning', async () => {
    const { channelId, name } = await fill(4);
    const pin = (n: number, pinnedMs: number): GuildFact => ({
      type: 'messagePinned',
      channelId,
      messageId: name(n),
      pinnedMs,
    });
    await write(pin(3, 10), pin(1, 20), pin(2, 30));
    const page = async (beforeMs: number | null, limit: number) =>
      (await store().pins(GUILD, channelId, beforeMs, limit)).map((each) => each.id);
    expect(await page(null, 10)).toEqual([name(2), name(1), name(3)]);
    expect(await page(30, 1)).toEqual([name(1)]);
    expect(await store().pinTimes(GUILD, channelId)).toEqual(
      new Map([
        [name(3), 10],
        [name(1), 20],
        [name(2), 30],
      ]),
    );
    await write({ type: 'messageUnpinned', channelId, messageId: name(2), lastPinMs: 20 });
    expect(await page(null, 10)).toEqual([name(1), name(3)]);
    expect(await store().list(GUILD, channelId, { limit: 3 })).toMatchObject([
      { pinned: false, pinned_ms: null },
      { pinned: true, pinned_ms: 10 },
      { pinned: false, pinned_ms: null },
    ]);
    await write(
      pin(4, 40),
      { type: 'messageUnpinned', channelId, messageId: name(4), lastPinMs: null },
      pin(4, 50),
    );
    expect(await page(null, 1)).toEqual([name(4)]);
  });

  test('the messages of an author since a given id are found across channels', async () => {
    const first = await fill(2);
    const second = await fill(2);
    const author = user('14');
    await write(
      created(message(first.channelId, first.name(50), { author })),
      created(message(second.channelId, second.name(51), { author })),
      created(message(second.channelId, second.name(52), { author })),
    );
    const since = (sinceId: MessageId, limit: number) =>
      store().authoredSince(GUILD, id('14'), sinceId, limit);
    expect(await since(first.name(0), 10)).toEqual([
      { channelId: first.channelId, id: first.name(50) },
      { channelId: second.channelId, id: second.name(51) },
      { channelId: second.channelId, id: second.name(52) },
    ]);
    expect(await since(second.name(52), 10)).toEqual([{ channelId: second.channelId, id: second.name(52) }]);
    expect(await since(first.name(0), 1)).toEqual([{ channelId: second.channelId, id: second.name(52) }]);
  });

  test('the last message of a user in a channel is found, except system messages and those from before a time', async () => {
    const { channelId } = freshChannel();
    const other = freshChannel().channelId;
    const atMs = Date.parse('2026-03-01T00:00:00Z');
    const writer = id<UserId>('15');
    const sent = (of: ChannelId, laterMs: number, type = 0, author = user(writer)) => {
      const timestamp = new Date(atMs + laterMs).toISOString();
      return created(message(of, snowflakeAt(atMs + laterMs), { author, type, timestamp }));
    };
    await write(
      ...[sent(channelId, 0), sent(channelId, 1_000, 19), sent(channelId, 2_000, 18)],
      ...[sent(other, 3_000), sent(channelId, 4_000, 0, user('16'))],
    );
    const last = (of: ChannelId, userId: UserId, sinceMs: number) =>
      store().lastOfUserMs(GUILD, of, userId, atMs + sinceMs);
    expect(await last(channelId, writer, 0)).toBe(atMs + 1_000);
    expect(await last(channelId, writer, 1_000)).toBe(atMs + 1_000);
    expect(await last(channelId, writer, 1_001)).toBeNull();
    expect(await last(other, id('16'), 0)).toBeNull();
    expect(await store().lastOfUserMs('1', channelId, writer, atMs)).toBeNull();
  });

  test('a second message with one id is rejected with a fault, and the first message is kept', async () => {
    const { channelId, name } = await fill(1);
    const again = write(created(message(channelId, name(1), { content: 'usurper' })));
    await expect(again).rejects.toThrow('messages_pkey');
    expect((await store().get(GUILD, [{ channelId, id: name(1) }]))[0]?.content).toBe(`message ${name(1)}`);
  });

  test('a private channel is found from either side and owns its messages', async () => {
    const channelId = id<ChannelId>('5000');
    const { privateChannels, directory, writer } = fresh.storage;
    const opened = {
      id: channelId,
      type: 1 as const,
      recipientIds: [id<UserId>('11'), id<UserId>('12')] as const,
      last_message_id: null,
      last_pin_ms: null,
    };
    await commit(writer, channelId, { type: 'privateChannelOpened', channel: opened });
    expect(await privateChannels.between(id('12'), id('11'))).toEqual({ ...opened, writtenBy: [] });
    expect(await privateChannels.between(id('12'), id('13'))).toBeNull();
    expect(await directory.channelOwner(channelId)).toEqual({ private: true });
    await commit(writer, channelId, created(message(channelId, '5001')));
    await commit(writer, channelId, { type: 'messagePinned', channelId, messageId: id('5001'), pinnedMs: 7 });
    const used = { ...opened, last_message_id: '5001', last_pin_ms: 7, writtenBy: [] };
    expect(await privateChannels.get(channelId)).toEqual(used);
    const later = {
      ...opened,
      id: id<ChannelId>('6000'),
      recipientIds: [id<UserId>('10'), id<UserId>('11')] as const,
    };
    await commit(writer, '6000', { type: 'privateChannelOpened', channel: later });
    expect(await privateChannels.of(id('11'), 10)).toEqual([used, { ...later, writtenBy: [] }]);
    expect(await store().list(channelId, channelId, { limit: 1 })).toHaveLength(1);
    const twin = commit(writer, '6001', {
      type: 'privateChannelOpened',
      channel: { ...later, id: id('6001') },
    });
    await expect(twin, 'one channel for two users').rejects.toThrow('private_channel_members_pkey');
  });

  test('a group is stored with its recipients, in order, and its settings, and found by each of them', async () => {
    const { privateChannels, directory, writer } = fresh.storage;
    const [channelId, applicationId] = [id<ChannelId>('6100'), id<ApplicationId>('61')];
    const [ann, ben, cleo] = [id<UserId>('23'), id<UserId>('21'), id<UserId>('22')];
    const group = { ownerId: ann, name: null, icon: null, applicationId, nicks: { [ben]: 'Benny' } };
    const opened = {
      ...{ id: channelId, type: 3 as const, recipientIds: [ann, ben], group },
      ...{ last_message_id: null, last_pin_ms: null },
    };
    await commit(writer, channelId, { type: 'privateChannelOpened', channel: opened });
    expect(await privateChannels.get(channelId)).toEqual(opened);
    expect(await directory.channelOwner(channelId)).toEqual({ private: true });
    expect(await privateChannels.between(ann, ben)).toBeNull();
    await commit(writer, channelId, created(message(channelId, '6101')));
    const named = { ...group, name: 'Tea', nicks: {} };
    const after = { channelId, recipientIds: [ann, ben, cleo], group: named };
    await commit(
      writer,
      channelId,
      { type: 'groupUpdated', ...after, recipientIds: [ann, ben] },
      { type: 'recipientAdded', ...after, user: user(cleo) },
    );
    const used = { ...opened, recipientIds: after.recipientIds, group: named, last_message_id: '6101' };
    expect(await privateChannels.of(cleo, 10)).toEqual([used]);
    expect(await privateChannels.managedBy(applicationId)).toBe(1);
    const left = { ...after, recipientIds: [ann] };
    await commit(writer, channelId, { type: 'recipientRemoved', ...left, user: user(cleo) });
    expect(await privateChannels.of(cleo, 10)).toEqual([]);
    await commit(writer, channelId, {
      ...{ type: 'recipientRemoved', ...left, recipientIds: [], user: user(ann) },
    });
    expect(await privateChannels.managedBy(applicationId)).toBe(0);
  });

  test('any text is stored, with U+FFFD for characters that the database cannot hold', async () => {
    const { channelId, name } = freshChannel();
    let n = 0;
    const hostile = fc.string({
      unit: fc.constantFrom('\0', '\uD800', '\uDC00', '\\u0000', '\\', '"', '😀', 'a', '\u{10FFFF}'),
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(hostile, fc.string({ unit: 'binary' })), async (content) => {
        const messageId = name(++n);
        await write(created(message(channelId, messageId, { content })));
        const [found] = await store().get(GUILD, [{ channelId, id: messageId }]);
        expect(found?.content).toBe(content.replaceAll('\0', '\uFFFD').replace(/\p{Surrogate}/gu, '\uFFFD'));
      }),
      { numRuns: 60 },
    );
  });

  describe('a search', () => {
    const [parent, open, secret] = ['7001', '7002', '7003'].map((each) => id<ChannelId>(each)) as [
      ChannelId,
      ChannelId,
      ChannelId,
    ];
    const guildId = id<GuildId>(GUILD);
    const at = (n: number) => id<MessageId>(70_000_000 + n);
    const thread = (threadId: ChannelId, type: number, users: readonly string[]): GuildFact => ({
      type: 'threadCreated',
      thread: {
        ...{ id: threadId, guild_id: guildId, parent_id: parent, type, name: 'Talk', owner_id: id('10') },
        ...{ last_message_id: null, last_pin_timestamp: null, flags: 0, rate_limit_per_user: 0 },
        ...{ message_count: 0, member_count: users.length, total_message_sent: 0 },
        thread_metadata: {
          ...{ archived: true, locked: false, auto_archive_duration: 60 },
          archive_timestamp: '2026-01-01T00:00:00.000000+00:00',
          create_timestamp: '2026-01-01T00:00:00.000000+00:00',
        },
      },
      dueMs: null,
      members: users.map((userId) => ({
        ...{ user_id: id<UserId>(userId), join_timestamp: '2026-01-01T00:00:00.000000+00:00', flags: 0 },
      })),
    });
    const find = async (wanted: Partial<MessageSearch>) => {
      const { hits, total } = await fresh.storage.search.find(guildId, {
        ...{
          readable: [parent],
          managed: [],
          readerId: id<UserId>('10'),
          channelIds: null,
          words: '',
          slop: 2,
        },
        ...{ authorIds: [], authorTypes: [], mentions: [], mentionedRoles: [], repliedUsers: [] },
        ...{ repliedMessages: [], mentionsEveryone: null, has: [], hosts: [], providers: [], embedTypes: [] },
        ...{ extensions: [], filenames: [], pinned: null, minId: null, maxId: null, sortBy: 'timestamp' },
        ...{ ascends: true, limit: 25, offset: 0 },
        ...wanted,
      });
      return [hits.map((hit) => Number(hit.id) - 70_000_000), total];
    };

    beforeAll(async () => {
      await write({ type: 'channelCreated', channel: channel(parent) });
      await write(thread(open, 11, []), thread(secret, 12, ['11']));
      const link = { content: 'See https://example.org/a about boats', author: user('11') };
      await write(
        created(message(parent, at(1), { content: 'The red boat sails' })),
        created(
          message(parent, at(2), { content: 'Boat, quite red today', author: user('12', { bot: true }) }),
        ),
        created(message(open, at(3), link)),
        created(message(secret, at(4), { content: 'A secret boat' })),
        created(message('100', at(5), { content: 'A boat in another channel' })),
      );
    });

    test.each<[string, Partial<MessageSearch>, number[]]>([
      ['whole words, whatever their case', { words: 'BOAT' }, [1, 2]],
      ['words in their order, near each other', { words: 'red boat', slop: 0 }, [1]],
      ['words in no other order than that of the search', { words: 'boat red', slop: 2 }, [2]],
      ['an author', { authorIds: ['11'] }, [3]],
      ['people, and no bots', { authorTypes: ['-bot'] }, [1, 3]],
      ['links, and their host', { has: ['link'], hosts: ['example.org'] }, [3]],
      ['ids between two bounds', { minId: at(1), maxId: at(3) }, [2]],
      ['a channel with its threads', { channelIds: [parent], words: 'boats' }, [3]],
      ['a thread by itself', { channelIds: [open] }, [3]],
      ['nothing without readable channels', { readable: [] }, []],
      ['no private thread of others, not even by name', { channelIds: [secret], words: 'secret' }, []],
      ['a private thread of the reader', { words: 'secret', readerId: id('11') }, [4]],
      ['private threads where the reader manages', { words: 'secret', managed: [parent] }, [4]],
      ['no private thread of a hidden channel', { readable: [], managed: [parent], readerId: id('11') }, []],
      ['what looks like an operator as a word', { words: "boat' | 'secret" }, []],
      ['nothing for a text without a word', { words: '!?' }, []],
    ])('finds %s', async (_what, wanted, found) => {
      expect(await find(wanted)).toEqual([found, found.length]);
    });

    test('is paged, counts all, and follows an edit and a deletion', async () => {
      expect(await find({ limit: 1, offset: 1 })).toEqual([[2], 3]);
      await write({ type: 'messageUpdated', message: message(parent, at(1), { content: 'A blue canoe' }) });
      expect([await find({ words: 'boat' }), await find({ words: 'canoe' })]).toEqual([
        [[2], 1],
        [[1], 1],
      ]);
      await write({ type: 'messageDeleted', channelId: parent, messageId: at(2) } as GuildFact);
      expect(await find({ words: 'boat' })).toEqual([[], 0]);
    });
  });

  test('settings are written once', async () => {
    const { settings } = fresh.storage;
    expect(await settings.get('key')).toBeNull();
    expect(await settings.putIfAbsent('key', 'one')).toBe('one');
    expect(await settings.putIfAbsent('key', 'two')).toBe('one');
    expect(await settings.get('key')).toBe('one');
  });
});
