// Goal: quiet threads are archived at their time over a real database, also after a restart, and cost no memory then.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import type { StoredThread } from '../../engine/guild/threads.state.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { microsecondsOf } from '../../protocol/timestamps.ts';
import { openInstance } from '../support/instance.ts';

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
let instance: Awaited<ReturnType<typeof openInstance>>;

beforeEach(async () => {
  instance = await openInstance();
  ({ guildId, ownerId } = instance);
}, 60_000);
afterEach(() => instance.close());

/** Lets time pass while the database answers. */
async function pass(ms: number): Promise<void> {
  for (let done = 0; done < ms; done += MINUTE_MS) {
    instance.clock.advance(MINUTE_MS);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

let guildId: GuildId;
let ownerId: UserId;
const { system: _, ...nobody } = SYSTEM.by;
const asBot = () => ({ by: { ...nobody, userId: instance.botId, bot: true }, requires: 0n });

async function made(minutes: number, type = 11): Promise<ChannelId> {
  const channels = await instance.guilds.call(guildId, 'listChannels', {}, SYSTEM);
  const text = channels.ok && channels.value.find((channel) => channel.type === 0);
  if (!text) throw new Error('no text channel');
  const draft = { name: 'Quiet', type, auto_archive_duration: minutes };
  const input = { channelId: text.id, draft };
  const reply = await instance.guilds.call(guildId, 'createThread', input, asBot());
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value.id;
}

async function isArchived(channelId: ChannelId): Promise<boolean> {
  const reply = await instance.guilds.call(guildId, 'getChannel', { channelId }, { ...SYSTEM, channelId });
  const thread: object = reply.ok ? reply.value : {};
  const data: unknown = 'thread_metadata' in thread ? thread.thread_metadata : null;
  return typeof data === 'object' && data !== null && 'archived' in data && data.archived === true;
}

async function say(channelId: ChannelId, content: string, by = asBot()): Promise<MessageId> {
  const input = { channelId, draft: { content }, attachments: [], forward: null };
  const sent = await instance.guilds.call(guildId, 'createMessage', input, { ...by, channelId });
  if (!sent.ok) throw new Error(sent.refusal.message);
  return sent.value.message.id;
}

/** A member of the guild, and what the member's session is sent. */
async function member(username: string) {
  const { user, token } = await instance.operator.createUser({ username });
  const userId = user.id as UserId;
  await instance.operator.addMember({ guildId, userId });
  const { sink } = await instance.connect(token);
  return { userId, sink, by: { by: { ...nobody, userId }, requires: 0n } };
}

const archivedInMemory = () => {
  const guild: Guild = Reflect.get(instance.registries.guild.peek(guildId) ?? {}, 'state');
  return [...guild.threads.values()].filter((record) => record?.thread.thread_metadata.archived !== false)
    .length;
};

test('a thread is archived after its time without messages', async () => {
  const [short, long] = [await made(60), await made(1_440)];
  await pass(50 * MINUTE_MS);
  expect(await isArchived(short)).toBe(false);
  const draft = { content: 'still here' };
  const input = { channelId: short, draft, attachments: [], forward: null };
  const sent = await instance.guilds.call(guildId, 'createMessage', input, { ...asBot(), channelId: short });
  expect(sent).toMatchObject({ ok: true });
  await pass(50 * MINUTE_MS);
  expect(await isArchived(short)).toBe(false);
  await pass(15 * MINUTE_MS);
  await expect.poll(() => isArchived(short)).toBe(true);
  expect(await isArchived(long)).toBe(false);
}, 60_000);

test('threads that are archived in the same millisecond are all listed, two a page', async () => {
  const ids: ChannelId[] = [];
  for (let left = 7; left > 0; left -= 1) ids.push(await made(60));
  for (const channelId of ids.slice(0, 3)) {
    const change = { channelId, draft: {}, threadChange: { archived: true } };
    const reply = await instance.guilds.call(guildId, 'updateChannel', change, { ...SYSTEM, channelId });
    if (!reply.ok) throw new Error(reply.refusal.message);
  }
  await pass(65 * MINUTE_MS);
  await expect.poll(() => isArchived(ids[6]!)).toBe(true);
  const channels = await instance.guilds.call(guildId, 'listChannels', {}, SYSTEM);
  const parentId = channels.ok ? channels.value.find(({ type }) => type === 0)!.id : ids[0]!;
  const listed: ChannelId[] = [];
  for (let before = {}, isMore = true; isMore; ) {
    const wanted = { parentId, kind: 'public' as const, readerId: ownerId, limit: 2, ...before };
    const page = await instance.storage.threads.archived(guildId, wanted);
    listed.push(...page.map(({ thread }) => thread.id));
    const last = page.at(-1)?.thread.thread_metadata.archive_timestamp;
    before = { beforeUs: microsecondsOf(last ?? '') };
    isMore = last !== undefined;
  }
  expect(listed.filter((id) => ids.includes(id)).sort()).toEqual([...ids].sort());
}, 60_000);

test('threads that became due while no server ran are archived after the next start', async () => {
  const { clock } = instance;
  const id = await made(60);
  instance.close();
  instance = await openInstance({}, undefined, new VirtualClock(clock.now() + 2 * HOUR_MS));
  await pass(5 * MINUTE_MS);
  await expect.poll(() => isArchived(id)).toBe(true);
}, 60_000);

test('the last thread that a user made in a channel is found, archived or not, within the given time', async () => {
  const id = await made(60);
  const [{ thread }] = (await instance.storage.threads.get(guildId, [id])) as [StoredThread];
  const madeMs = Date.parse(thread.thread_metadata.create_timestamp);
  const last = (userId: UserId, sinceMs: number) =>
    instance.storage.threads.lastOfUserMs(guildId, thread.parent_id, userId, sinceMs);
  expect([await last(instance.botId, madeMs), await last(ownerId, madeMs)]).toEqual([madeMs, null]);
  expect(await last(instance.botId, madeMs + 1)).toBeNull();
  await pass(65 * MINUTE_MS);
  await expect.poll(() => isArchived(id)).toBe(true);
  expect(await last(instance.botId, madeMs)).toBe(madeMs);
}, 60_000);

test('no more than 64 archived threads stay in memory', async () => {
  const ids: ChannelId[] = [];
  for (let each = 0; each < 80; each += 1) ids.push(await made(60));
  await pass(65 * MINUTE_MS);
  await expect.poll(() => isArchived(ids[79]!)).toBe(true);
  await say(await made(1_440), 'anything');
  expect(archivedInMemory()).toBeLessThanOrEqual(64);
  expect(await isArchived(ids[0]!)).toBe(true);
}, 60_000);

test('a member receives the messages of a private thread from joining until leaving', async () => {
  const { userId, sink } = await member('ann');
  const id = await made(60, 12);
  const added = (command: 'addThreadMember' | 'removeThreadMember') =>
    instance.guilds.call(guildId, command, { channelId: id, userId }, { ...asBot(), channelId: id });
  const heard = () =>
    sink.dispatches.filter(({ t }) => t === 'MESSAGE_CREATE').map(({ d }) => Object(d).content);
  await say(id, 'before');
  expect((await added('addThreadMember')).ok).toBe(true);
  await say(id, 'within');
  expect((await added('removeThreadMember')).ok).toBe(true);
  await say(id, 'after');
  expect(heard()).toEqual(['within']);
}, 60_000);

test('a ban deletes messages in archived threads, corrects the counts of the threads and dispatches the deletions', async () => {
  const { userId, by } = await member('spammer');
  const id = await made(60);
  const ids = [await say(id, 'kept'), await say(id, 'spam', by), await say(id, 'more', by)];
  await pass(65 * MINUTE_MS);
  await expect.poll(() => isArchived(id)).toBe(true);
  const { clock } = instance;
  instance.close();
  instance = await openInstance({}, undefined, new VirtualClock(clock.now() + MINUTE_MS));
  // A new instance has a guild of its own; the one from before is in the database.
  const owner = await instance.connect(
    await instance.operator.rotateToken(ownerId).then(({ token }) => token),
  );
  const ban = await instance.guilds.call(guildId, 'banUser', { userId }, SYSTEM);
  const messages = ids.slice(1).map((messageId) => ({ channelId: id, id: messageId }));
  const purged = await instance.guilds.call(guildId, 'purgeBanned', { userId, messages }, SYSTEM);
  expect([ban.ok, purged.ok]).toEqual([true, true]);
  expect(owner.sink.dispatches.find(({ t }) => t === 'MESSAGE_DELETE_BULK')?.d).toMatchObject({
    channel_id: id,
  });
  const [found] = await instance.storage.threads.get(guildId, [id]);
  expect(found?.thread).toMatchObject({ message_count: 1, total_message_sent: 3 });
}, 60_000);
