// Goal: a request of a client is answered at the shard that owns what it is about, whichever shard holds the client.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';

let cluster: TestCluster;
let world: Awaited<ReturnType<TestCluster['found']>>;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

async function open(shards = 2): Promise<void> {
  cluster = await openCluster(shards);
  world = await cluster.found();
}

/** Connects, and waits for GUILD_CREATE. */
async function connected(instance: ClusterInstance, token: string) {
  const opened = await cluster.while(instance.connect(token));
  await cluster.until(() => opened.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return opened;
}

/** A new member of the guild whom this shard owns. */
async function memberOf(owner: ClusterInstance) {
  for (let n = 0; n < 100; n += 1) {
    const made = await cluster.while(owner.operator.createUser({ username: `member${n}` }));
    const userId = made.user.id as UserId;
    if (cluster.ownerOf(userId) !== owner) continue;
    await cluster.while(owner.operator.addMember({ guildId: world.guildId, userId }));
    return made;
  }
  throw new Error('None of 100 users is owned by the shard.');
}

describe('a request', () => {
  it('is answered with the members of a guild at another shard as fast as the client reads', async () => {
    await open();
    const { sink, session } = await connected(cluster.strangerTo(world.guildId), world.botToken);
    const waiting: (() => void)[] = [];
    sink.whenWritable = (run) => void waiting.push(run);
    const { guildId } = world;
    const request = { guildId, query: '', userIds: null, limit: 0, presences: false, nonce: 'n' };
    session.ask({ name: 'members', input: request });
    await cluster.until(() => waiting.length > 0, 'the question for room');
    await cluster.pass(500);
    expect(sink.names).not.toContain('GUILD_MEMBERS_CHUNK');
    for (const run of waiting.splice(0)) run();
    await cluster.until(() => sink.names.includes('GUILD_MEMBERS_CHUNK'), 'the members');
    expect(sink.dispatches.find(({ t }) => t === 'GUILD_MEMBERS_CHUNK')?.d).toMatchObject({ nonce: 'n' });
  });

  it('goes to the owner that answers it: of the guild that it names, or of its user', async () => {
    await open(3);
    const { guildId } = world;
    const [home, owner] = [cluster.strangerTo(guildId), cluster.ownerOf(guildId)];
    const third = cluster.instances.find((each) => each !== home && each !== owner) as ClusterInstance;
    const member = await memberOf(third);
    const { sink, session } = await connected(home, member.token);
    const asked = vi.spyOn(home.router, 'askShard');
    const members = { guildId, query: '', userIds: null, limit: 0, presences: false, nonce: null };
    session.ask({ name: 'members', input: members });
    session.ask({ name: 'channelInfo', input: { guildId, fields: ['status'] } });
    session.ask({ name: 'soundboard', input: [guildId] });
    for (const t of ['GUILD_MEMBERS_CHUNK', 'CHANNEL_INFO', 'SOUNDBOARD_SOUNDS'])
      await cluster.until(() => sink.names.includes(t), t);
    const sent = asked.mock.calls.flatMap(([to, method, [, name]]) => [[to, method, name]]);
    expect(sent).toEqual([
      [owner.id, 'remoteSessions.ask', 'members'],
      [owner.id, 'remoteSessions.ask', 'channelInfo'],
      [third.id, 'remoteSessions.ask', 'soundboard'],
    ]);
  });
});
