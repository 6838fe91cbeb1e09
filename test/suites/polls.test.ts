// Goal: votes and deadlines of polls are read back as written, and deleted with their messages, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { openPoll } from '../support/messages.ts';
import { channel, commit, created, GUILD, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const CHANNEL = id<ChannelId>('100');
const END_MS = Date.parse(openPoll().expiry ?? '');

const voted = (
  type: 'pollVoted' | 'pollUnvoted',
  messageId: string,
  userId: string,
  answerId: number,
): GuildFact => ({
  type,
  channelId: CHANNEL,
  messageId: id(messageId),
  userId: id(userId),
  answerId,
});

describe.each(databases())('polls on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  let last = 5_000;
  const store = () => fresh.storage.messages;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, GUILD, ...facts);
  const make = async (more: Partial<StoredMessage> = {}, channelId: string = CHANNEL) => {
    last += 1;
    const made = message(channelId, String(last), { poll: openPoll(10, { many: true }), ...more });
    await write(created(made));
    return made;
  };
  const countsOf = async (messageId: MessageId) =>
    (await store().get(GUILD, [{ channelId: CHANNEL, id: messageId }]))[0]?.poll?.results?.answer_counts;
  const dueIds = async (nowMs = END_MS, limit = 1_000) =>
    (await store().duePolls(nowMs, limit, null)).map(({ messageId }) => messageId);

  beforeAll(async () => {
    fresh = await openFresh(kind);
    await seed(fresh.storage.writer);
  });
  afterAll(() => fresh.close());

  test('votes are counted once per user, and an answer without votes has no count', async () => {
    const { id: poll } = await make();
    expect(await countsOf(poll)).toEqual([]);
    await write(
      ...['11', '12', '12', '13'].map((userId) => voted('pollVoted', poll, userId, 2)),
      voted('pollVoted', poll, '11', 10),
      voted('pollUnvoted', poll, '13', 2),
      voted('pollUnvoted', poll, '14', 2),
    );
    const count = (answer: number, n: number) => ({ id: answer, count: n, me_voted: false });
    expect(await countsOf(poll)).toEqual([count(2, 2), count(10, 1)]);
    await write(voted('pollUnvoted', poll, '11', 10), voted('pollVoted', poll, '13', 2));
    expect(await countsOf(poll)).toEqual([count(2, 3)]);
    expect(await store().votesOf(GUILD, id('11'), [poll, id('1')])).toEqual(new Map([[poll, new Set([2])]]));
    expect(await store().votesOf(GUILD, id('10'), [poll])).toEqual(new Map());
  });

  test('voters are paged in the order of their ids', async () => {
    const { id: poll } = await make();
    await write(...['13', '11', '12'].map((userId) => voted('pollVoted', poll, userId, 1)));
    const page = async (of: { after?: UserId; limit: number }) =>
      (await store().voters(GUILD, poll, 1, of)).map((each) => each.id);
    expect(await page({ limit: 100 })).toEqual(['11', '12', '13']);
    expect(await page({ limit: 2 })).toEqual(['11', '12']);
    expect(await page({ after: id('12'), limit: 2 })).toEqual(['13']);
    expect(await store().voters(GUILD, poll, 1, { limit: 1 })).toEqual([user('11')]);
    expect(await store().voters(GUILD, poll, 2, { limit: 1 })).toEqual([]);
  });

  test('an edit keeps the counts, also when it was based on an older state', async () => {
    const made = await make();
    await write(voted('pollVoted', made.id, '11', 1), { type: 'messageUpdated', message: made });
    expect(await countsOf(made.id)).toEqual([{ id: 1, count: 1, me_voted: false }]);
  });

  test('a deadline is kept until the poll is final, and listed once it is due', async () => {
    const made = await make();
    const early = await make({ poll: { ...openPoll(), expiry: new Date(END_MS - 1_000).toISOString() } });
    await make({ poll: undefined as never });
    expect(await store().nextPollMs()).toBe(END_MS - 1_000);
    expect(await dueIds(END_MS - 1_001)).toEqual([]);
    expect(await dueIds(END_MS - 1)).toEqual([early.id]);
    expect(await dueIds(END_MS, 1)).toEqual([early.id]);
    expect(await dueIds()).toContain(made.id);
    const [due] = await store().duePolls(END_MS - 1, 1, null);
    const endsMs = END_MS - 1_000;
    expect(due).toEqual({ ownerId: GUILD, guildId: GUILD, channelId: CHANNEL, messageId: early.id, endsMs });
    const all = await store().duePolls(END_MS, 1_000, null);
    for (const [at, poll] of all.entries())
      expect(await store().duePolls(END_MS, 2, poll)).toEqual(all.slice(at + 1, at + 3));
    await store().forgetPoll(due!);
    const results = { is_finalized: true, answer_counts: [] };
    await write({ type: 'messageUpdated', message: { ...made, poll: { ...openPoll(), results } } });
    expect(await dueIds()).not.toContain(made.id);
    expect(await dueIds(END_MS - 1)).toEqual([]);
  });

  test('a poll added by an edit has a deadline, and a poll in a private channel has no guild', async () => {
    const bare = await make({ poll: undefined as never });
    await write({ type: 'messageUpdated', message: { ...bare, poll: openPoll() } });
    expect(await dueIds()).toContain(bare.id);
    const direct = message('900', '9001', { poll: openPoll() });
    await commit(fresh.storage.writer, '900', created(direct));
    const due = (await store().duePolls(END_MS, 1_000, null)).find(
      ({ messageId }) => messageId === direct.id,
    );
    expect(due).toMatchObject({ ownerId: '900', guildId: null, channelId: '900' });
  });

  test('votes, counts and deadlines are deleted with their message or channel', async () => {
    await write({ type: 'channelCreated', channel: channel('105') });
    const [one, two] = [await make(), await make({}, '105')];
    for (const { id: poll } of [one, two]) await write(voted('pollVoted', poll, '11', 1));
    await write(
      { type: 'messageDeleted', channelId: CHANNEL, messageId: one.id },
      { type: 'channelDeleted', channel: channel('105') },
    );
    await fresh.storage.purge.settled();
    const due = await dueIds();
    for (const { id: poll } of [one, two]) {
      expect(due).not.toContain(poll);
      expect(await store().votesOf(GUILD, id('11'), [poll])).toEqual(new Map());
      expect(await store().voters(GUILD, poll, 1, { limit: 1 })).toEqual([]);
    }
  });
});
