// Goal: the participants of a running activity are shown once they are stored, whichever shard dies after the commit.
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import { ResumingClient } from '../support/resumingclient.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

let cluster: TestCluster;
afterEach(() => cluster.close());

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);

/** The numbers of participants that a session was shown. */
const shownTo = ({ received }: ResumingClient): number[] =>
  received.flatMap(({ t, d }) =>
    t === 'EMBEDDED_ACTIVITY_UPDATE_V2' ? [(d as { participants: object[] }).participants.length] : [],
  );

async function arrange() {
  cluster = await openCluster(3);
  const [first, second, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
  const { operator } = first;
  let names = 0;
  // The third shard dies: it owns the place of the activity, and neither person.
  const person = () =>
    cluster.ownedBy(
      second,
      () => operator.createUser({ username: `player${names++}` }),
      ({ user }) => user.id,
    );
  const [ann, bob] = [await person(), await person()];
  const { application } = await wait(operator.createApplication({ name: 'Game' }));
  const applicationId = application.id as ApplicationId;
  await wait(
    operator.configureActivity({ applicationId, urlMappings: [{ prefix: '/', target: 'example.com' }] }),
  );
  const client = async (token: string) => {
    const opened = new ResumingClient(cluster, token, first);
    await opened.identify('READY');
    return opened;
  };
  const [annId, bobId] = [ann.user.id as UserId, bob.user.id as UserId];
  const viewer = await client(bob.token);
  /** Each joins or leaves at the third shard. */
  const at = (ownerId: string, guildId: GuildId | null, channelId: ChannelId) => {
    const place = { ownerId, guildId, channelId, applicationId, connectionId: 'one' };
    const { runningActivities } = third.features;
    return {
      join: (userId: UserId) => wait(runningActivities.join({ ...place, userId })),
      leave: (userId: UserId) => wait(runningActivities.leave({ ...place, userId })),
    };
  };
  return { first, second, third, operator, annId, bobId, viewer, at };
}

/** Joins and leaves of an activity in a guild of both people, which the third shard owns. */
async function inGuild({ third, operator, annId, bobId, viewer, at }: Awaited<ReturnType<typeof arrange>>) {
  const guild = await cluster.ownedBy(
    third,
    () => operator.createGuild({ name: 'Hall', ownerId: annId }),
    ({ id }) => id,
  );
  const guildId = guild.id as GuildId;
  await wait(operator.addMember({ guildId, userId: bobId }));
  const channels = await wait(third.guilds.look(guildId, (state) => [...state.channels.values()]));
  const channelId = (channels as { id: ChannelId; type: number }[]).find(({ type }) => type === 0)!.id;
  await cluster.until(() => viewer.received.some(({ t }) => t === 'GUILD_CREATE'), 'GUILD_CREATE');
  return at(guildId, guildId, channelId);
}

/** The place's owner stores what nobody receives, and dies. */
async function loses({ second, third }: Awaited<ReturnType<typeof arrange>>, change: () => Promise<unknown>) {
  cluster.net.delayMs = () => 60_000;
  await change();
  cluster.net.delayMs = () => 0;
  await cluster.adopt(second, cluster.kill(third));
}

it('a session is shown the end of an activity that the owner of its guild stored before it died', async () => {
  const arranged = await arrange();
  const { annId, viewer } = arranged;
  const { join, leave } = await inGuild(arranged);
  expect(await join(annId)).toMatchObject({ ok: true });
  await cluster.until(() => shownTo(viewer).join() === '1', 'the participant');
  await loses(arranged, () => leave(annId));
  await cluster.until(() => shownTo(viewer).join() === '1,0', 'the end');
}, 60_000);

it('a session that is resumed later is shown the participants who joined while its guild had two owners', async () => {
  const arranged = await arrange();
  const { first, second, third, annId, bobId, viewer } = arranged;
  const { join } = await inGuild(arranged);
  viewer.lose();
  await join(annId);
  await join(bobId);
  await cluster.adopt(second, cluster.kill(third));
  expect(await viewer.resume(first)).toBe('open');
  await cluster.until(() => shownTo(viewer).join() === '1,2', 'the participants');
}, 60_000);

it('a recipient is shown who joined an activity in a direct message before its owner died', async () => {
  const arranged = await arrange();
  const { first, third, operator, bobId, viewer, at } = arranged;
  let others = 0;
  const other = () => wait(operator.createUser({ username: `other${others++}` }));
  const { id } = await cluster.ownedBy(
    third,
    async () => {
      const opened = await first.openPrivate((await other()).user.id as UserId, bobId);
      if (!opened.ok) throw new Error(opened.refusal.message);
      return opened.value;
    },
    (channel) => channel.id,
  );
  const channel = await wait(first.storage.privateChannels.get(id as ChannelId));
  const peer = channel!.recipientIds.find((each) => each !== bobId)!;
  const { join } = at(id, null, id as ChannelId);
  await loses(arranged, () => join(peer));
  await cluster.until(() => shownTo(viewer).join() === '1', 'the participant');
}, 60_000);
