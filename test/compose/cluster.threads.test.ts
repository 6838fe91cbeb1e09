// Goal: a session receives the archiving and unarchiving of a thread once and in order, over the death of the guild's owner and a RESUME,
// and slow modes hold over that death.
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { type ChannelId, type GuildId, snowflakeAt, type UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

let cluster: TestCluster;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

const must = async <T>(reply: Promise<Reply<T>>): Promise<T> => {
  const found = await cluster.while(reply);
  if (!found.ok) throw new Error(found.refusal.message);
  return found.value;
};

const WAY = ['THREAD_CREATE', 'THREAD_UPDATE', 'THREAD_UPDATE', 'THREAD_MEMBER_UPDATE', 'MESSAGE_CREATE'];
const wayOf = ({ dispatches }: RecordingSink, threadId: string) =>
  dispatches.flatMap(({ t, d }) => {
    const { id, channel_id, thread_metadata } = d as {
      id: string;
      channel_id?: string;
      thread_metadata?: { archived: boolean };
    };
    if (!WAY.includes(t) || (id !== threadId && channel_id !== threadId)) return [];
    return [thread_metadata ? `${t} ${thread_metadata.archived}` : t];
  });
const ALL = [
  ...['THREAD_CREATE false', 'THREAD_UPDATE true', 'THREAD_UPDATE false'],
  ...['THREAD_MEMBER_UPDATE', 'MESSAGE_CREATE'],
];

/** A public thread of the guild's owner, and the owner's authority within a channel. */
async function openThread({ guilds }: ClusterInstance, guildId: GuildId, userId: UserId) {
  const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const within = (channelId: ChannelId): Authority => ({ by, requires: 0n, channelId });
  const channels = await must(guilds.call(guildId, 'listChannels', {}, { by, requires: 0n }));
  const { id: channelId } = channels.find(({ type }) => type === 0)!;
  const draft = { name: 'Talk', type: 11 };
  const { id } = await must(guilds.call(guildId, 'createThread', { channelId, draft }, within(channelId)));
  return { id, within };
}

it('a message unarchives its thread after the owner shard died, and RESUME replays all dispatches in order', async () => {
  cluster = await openCluster(2);
  const { guildId, ownerId, ownerToken } = await cluster.found();
  const [victim, heir] = [cluster.ownerOf(guildId), cluster.strangerTo(guildId)];
  const { sink, session } = await cluster.while(heir.connect(ownerToken));
  await cluster.until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const { id, within } = await openThread(heir, guildId, ownerId);
  const archive = { channelId: id, draft: {}, threadChange: { archived: true } };
  await must(heir.guilds.call(guildId, 'updateChannel', archive, within(id)));
  await cluster.until(() => wayOf(sink, id).length === 2, 'the archive');

  await cluster.adopt(heir, cluster.kill(victim));
  const words = { channelId: id, draft: { content: 'back' }, attachments: [], forward: null };
  await must(heir.guilds.call(guildId, 'createMessage', words, within(id)));
  await cluster.until(() => wayOf(sink, id).includes('MESSAGE_CREATE'), 'the message');
  expect(wayOf(sink, id)).toEqual(ALL);

  const seq = sink.dispatches.findIndex(({ t }) => t === 'THREAD_CREATE');
  const again = await cluster.while(heir.resume(ownerToken, session.id, seq));
  await cluster.until(() => again.sink.names.includes('RESUMED'), 'RESUMED');
  expect(wayOf(again.sink, id)).toEqual(ALL);
}, 60_000);

it('a message in a thread that was archived after it, and the archiving, are shown by the next owner', async () => {
  cluster = await openCluster(3);
  const { guildId, ownerId, ownerToken } = await cluster.found();
  const victim = cluster.ownerOf(guildId);
  const [heir, other] = cluster.instances.filter((one) => one !== victim);
  if (!heir || !other) throw new Error('Two other shards are expected.');
  const { sink } = await cluster.while(other.connect(ownerToken));
  await cluster.until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const { id, within } = await openThread(victim, guildId, ownerId);
  await cluster.until(() => wayOf(sink, id).length > 0, 'the thread');
  // The owner stores what nobody receives, and dies.
  cluster.net.delayMs = () => 60_000;
  const words = { channelId: id, draft: { content: 'last' }, attachments: [], forward: null };
  await must(victim.guilds.call(guildId, 'createMessage', words, within(id)));
  const archive = { channelId: id, draft: {}, threadChange: { archived: true } };
  await must(victim.guilds.call(guildId, 'updateChannel', archive, within(id)));
  cluster.net.delayMs = () => 0;
  await cluster.adopt(heir, cluster.kill(victim));
  await cluster.until(() => wayOf(sink, id).length >= 3, 'what was missed');
  expect(wayOf(sink, id)).toEqual(['THREAD_CREATE false', 'MESSAGE_CREATE', 'THREAD_UPDATE true']);
}, 60_000);

it('a slow mode counts messages, threads and posts from before the death of the owner shard', async () => {
  cluster = await openCluster(2);
  const { guildId, ownerId } = await cluster.found();
  const { operator } = cluster.instance(0);
  const plain = (await cluster.while(operator.createUser({ username: 'plain' }))).user.id as UserId;
  await cluster.while(operator.addMember({ guildId, userId: plain }));
  const [victim, heir] = [cluster.ownerOf(guildId), cluster.strangerTo(guildId)];
  const call = <K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    userId = plain,
  ): Promise<Reply<GuildCommands[K]['value']>> => {
    const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    return cluster.while(heir.guilds.call(guildId, type, input, { by, requires: 0n }));
  };
  const make = async (type: number): Promise<ChannelId> => {
    const draft = { name: 'slow', type, rate_limit_per_user: 3_600 };
    return (await must(call('createChannel', { draft }, ownerId))).id;
  };
  const [channelId, forumId] = [await make(0), await make(15)];
  const first = { draft: { content: 'hi' }, attachments: [], forward: null };
  const write = [
    () => call('createMessage', { channelId, ...first }),
    () => call('createThread', { channelId, draft: { name: 'Talk' } }),
    () =>
      call('createPost', {
        ...{ channelId: forumId, draft: { name: 'Post' }, first },
        id: snowflakeAt(cluster.clock.now()),
      }),
  ];
  const codes = async () => {
    const all: (number | null)[] = [];
    for (const one of write) {
      const reply = await one();
      all.push(reply.ok ? null : reply.refusal.code);
    }
    return all;
  };
  expect(await codes()).toEqual([null, null, null]);
  await cluster.adopt(heir, cluster.kill(victim));
  expect(await codes()).toEqual([20_016, 20_016, 20_016]);
}, 60_000);
