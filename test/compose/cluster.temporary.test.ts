// Goal: a temporary membership ends with the user's last session, also when the owner of the user dies around that end.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

/** A guest with a session at `home`, and the user's owner, which is another shard. */
async function arrange() {
  cluster = await openCluster(3);
  const [home, victim, heir] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
  // The check after the start is over.
  await passWindow(home);
  const { guildId, ownerId } = await cluster.found();
  const by = { userId: ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const channels = await cluster.while(home.guilds.call(guildId, 'listChannels', {}, { by, requires: 0n }));
  const channelId = channels.ok ? channels.value.find(({ type }) => type === 0)?.id : undefined;
  if (!channelId) throw new Error('There is no channel.');
  const draft = {
    code: `guest${guildId}`,
    maxAgeSec: 0,
    maxUses: 0,
    temporary: true,
    roleIds: [],
    reuse: null,
  };
  const invite = { ...draft, channelId, inviteCount: 0, expired: [] };
  await cluster.while(home.guilds.call(guildId, 'createInvite', invite, { by, requires: 0n }));
  const { user, token } = await cluster.while(home.operator.createUser({ username: 'guest' }));
  const userId = user.id as UserId;
  await cluster.move(userId, victim);
  await cluster.while(home.operator.acceptInvite({ code: draft.code, userId }));
  return { home, victim, heir, guildId, userId, token };
}

async function connected(home: ClusterInstance, token: string) {
  const opened = await cluster.while(home.connect(token));
  await cluster.until(() => opened.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  return opened;
}

async function isMember(from: ClusterInstance, guildId: GuildId, userId: UserId): Promise<boolean> {
  const reply = await cluster.while(from.guilds.call(guildId, 'getMember', { userId }, SYSTEM));
  return reply.ok;
}

const passWindow = (home: ClusterInstance) => cluster.pass(home.foundation.config.resume_window_ms + 10_000);

describe('a temporary membership', () => {
  it.each([
    ['before', 'another shard'],
    ['after', 'another shard'],
    ['before', 'the same shard'],
    ['after', 'the same shard'],
  ])(
    'ends when the session ended just %s the death of the owner of its user, the guild being at %s',
    async (when, at) => {
      const { home, victim, heir, guildId, userId, token } = await arrange();
      await cluster.move(guildId, at === 'the same shard' ? victim : heir);
      const { session, sink } = await connected(home, token);
      if (when === 'before') session.detach(sink, false);
      const orphaned = cluster.kill(victim);
      if (when === 'after') session.detach(sink, false);
      await cluster.pass(1_000);
      await cluster.adopt(heir, orphaned);
      await passWindow(home);
      expect(await isMember(home, guildId, userId)).toBe(false);
    },
    60_000,
  );

  it('continues while the session continues with the next owner of its user, and ends with the session', async () => {
    const { home, victim, heir, guildId, userId, token } = await arrange();
    const { session, sink } = await connected(home, token);
    await cluster.adopt(heir, cluster.kill(victim));
    await passWindow(home);
    expect(await isMember(home, guildId, userId)).toBe(true);
    session.detach(sink, false);
    await cluster.pass(2_000);
    expect(await isMember(home, guildId, userId)).toBe(false);
  }, 60_000);
});
