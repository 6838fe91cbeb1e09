// Goal: a poll ends when its time is over, also after a restart, and no vote is shown before it is durable.
import { afterEach, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { PollDraft } from '../../engine/channel/polls.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { openInstance, until } from '../support/instance.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;
const POLL: PollDraft = { question: { text: 'q' }, answers: [{ poll_media: { text: 'a' } }], duration: 1 };

type Instance = Awaited<ReturnType<typeof openInstance>>;
const open: Instance[] = [];
const openAt = async (nowMs: number) => {
  const instance = await openInstance({}, undefined, new VirtualClock(nowMs));
  open.push(instance);
  return instance;
};
afterEach(() => {
  for (const instance of open.splice(0)) instance.close();
});

const must = <T>(reply: Reply<T>): T => {
  if (!reply.ok) throw new Error(`refused: ${JSON.stringify(reply.refusal)}`);
  return reply.value;
};
const as = (userId: UserId): Authority => ({
  by: { ...SYSTEM.by, userId, system: undefined } as never,
  requires: 0n,
});

async function textOf({ guilds, guildId }: Instance): Promise<ChannelId> {
  const channels = must(await guilds.call(guildId, 'listChannels', {}, SYSTEM)) as readonly {
    id: ChannelId;
    type: number;
  }[];
  return channels.find(({ type }) => type === 0)!.id;
}

async function pollIn(instance: Instance, poll = POLL, place?: ChannelId) {
  const { guildId, ownerId } = instance;
  const channelId = place ?? (await textOf(instance));
  const input = { channelId, draft: { poll }, attachments: [], forward: null };
  const { message } = must(await instance.guilds.call(guildId, 'createMessage', input, as(ownerId)));
  return { guildId, channelId, messageId: message.id };
}

const pollOf = async ({ storage }: Instance, of: Awaited<ReturnType<typeof pollIn>>) =>
  (await storage.messages.get(of.guildId, [{ channelId: of.channelId, id: of.messageId }]))[0]?.poll;

async function advance({ clock }: Instance, ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 60_000) {
    clock.advance(60_000);
    for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

test('a vote is dispatched when it is durable, and the poll ends at its time with the counted votes', async () => {
  const instance = await openAt(START_MS);
  const of = await pollIn(instance);
  const { sink } = await instance.connect();
  instance.steer.hold = true;
  const input = { channelId: of.channelId, messageId: of.messageId, answerIds: [1] };
  const voting = instance.guilds.call(of.guildId, 'votePoll', input, as(instance.ownerId));
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(sink.names).not.toContain('MESSAGE_POLL_VOTE_ADD');
  instance.release();
  must(await voting);
  await until(() => sink.names.includes('MESSAGE_POLL_VOTE_ADD'));

  await advance(instance, HOUR_MS - 60_000);
  expect(sink.names).not.toContain('MESSAGE_CREATE');
  await advance(instance, 120_000);
  await until(() => sink.names.includes('MESSAGE_CREATE'));
  const result = sink.dispatches.find(({ t }) => t === 'MESSAGE_CREATE')?.d as StoredMessage;
  expect(result).toMatchObject({ type: 46, message_reference: { message_id: of.messageId } });
  expect(await pollOf(instance, of)).toMatchObject({
    results: { is_finalized: true, answer_counts: [{ id: 1, count: 1 }] },
  });
  expect(await instance.storage.messages.duePolls(START_MS + HOUR_MS * 9, 100, null)).toEqual([]);
});

test('simultaneous votes of one user leave one vote and a count of one', async () => {
  const instance = await openAt(START_MS);
  const of = await pollIn(instance, {
    ...POLL,
    answers: [{ poll_media: { text: 'a' } }, { poll_media: { text: 'b' } }],
  });
  const { sink } = await instance.connect();
  const vote = (answerIds: readonly number[]) => {
    const input = { channelId: of.channelId, messageId: of.messageId, answerIds };
    return instance.guilds.call(of.guildId, 'votePoll', input, as(instance.ownerId));
  };
  const race = [1, 1, 2, 1, 2, 2, 1, 1, 2].map((answerId) => vote([answerId]));
  for (const reply of await Promise.all(race)) must(reply);
  const counts = async () => (await pollOf(instance, of))?.results?.answer_counts;
  expect(await counts()).toMatchObject([{ id: 2, count: 1 }]);
  const voters = async (answerId: number) =>
    (await instance.storage.messages.voters(of.guildId, of.messageId, answerId, { limit: 9 })).length;
  expect([await voters(1), await voters(2)]).toEqual([0, 1]);
  // The dispatches alternate: never two votes, and never two removals, in a row.
  const told = sink.names.filter((name) => name.startsWith('MESSAGE_POLL_VOTE'));
  expect(told).toEqual(told.map((_, at) => `MESSAGE_POLL_VOTE_${at % 2 === 0 ? 'ADD' : 'REMOVE'}`));
});

test('a poll that expired while no server ran ends at the next start', async () => {
  const before = await openAt(START_MS + HOUR_MS * 100);
  const of = await pollIn(before);
  before.close();
  open.splice(0);
  const after = await openAt(START_MS + HOUR_MS * 200);
  await advance(after, 120_000);
  for (let turn = 0; turn < 1_000; turn += 1) {
    if ((await pollOf(after, of))?.results?.is_finalized) break;
  }
  expect(await pollOf(after, of)).toMatchObject({ results: { is_finalized: true } });
  const found = await after.storage.messages.list(of.guildId, of.channelId, { limit: 10 });
  expect(found.map(({ type }) => type)).toContain(46);
});

test.each([0, HOUR_MS * 24])(
  'a poll in an archived thread ends on time and leaves the thread archived, after a stop of %i ms',
  async (stopMs) => {
    const startMs = START_MS + HOUR_MS * 300 + stopMs * 30;
    let instance = await openAt(startMs);
    const { guildId, ownerId, guilds } = instance;
    const draft = { name: 'Quiet', type: 11, auto_archive_duration: 60 };
    const input = { channelId: await textOf(instance), draft };
    const thread = must(await guilds.call(guildId, 'createThread', input, as(ownerId)));
    const of = await pollIn(instance, { ...POLL, duration: 3 }, thread.id);
    const isArchived = async () => {
      const [found] = await instance.storage.threads.get(guildId, [thread.id]);
      return found?.thread.thread_metadata.archived;
    };
    await advance(instance, HOUR_MS + 300_000);
    await expect.poll(isArchived).toBe(true);
    if (stopMs > 0) {
      instance.close();
      open.splice(0);
      instance = await openAt(startMs + stopMs);
    }
    await advance(instance, 2 * HOUR_MS);
    await expect.poll(() => pollOf(instance, of)).toMatchObject({ results: { is_finalized: true } });
    const found = await instance.storage.messages.list(guildId, thread.id, { limit: 10 });
    expect([await isArchived(), found.map(({ type }) => type)]).toEqual([true, [0]]);
  },
  60_000,
);
