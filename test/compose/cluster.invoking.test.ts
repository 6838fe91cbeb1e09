// Goal: an invocation names a session of its user, whichever shards have the session, the user and the place; and only the
// owner of the place writes its answer.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { INTERACTION } from '../../protocol/interactions.ts';
import { openCluster, type TestCluster } from '../support/cluster.ts';
import { codeOf } from '../support/interactioninstance.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await openCluster(3);
}, 60_000);
afterAll(() => cluster.close());

it('an invocation is rejected at every shard unless its session is open at some shard', async () => {
  const { user, token } = await cluster.while(cluster.instance(0).operator.createUser({ username: 'ann' }));
  const other = await cluster.while(cluster.instance(0).operator.createUser({ username: 'bob' }));
  const { session } = await cluster.while(cluster.instance(2).connect(token));
  const ask = (instance: number, userId: string, sessionId: string) => {
    const place = { ownerId: '77', guildId: null, channelId: '77' as ChannelId };
    const asked = cluster.instance(instance).features.interactions.invoke({
      ...{ type: INTERACTION.COMMAND, ...place, applicationId: '78' as never, userId: userId as UserId },
      ...{ sessionId, nonce: null, locales: ['en-US'], messageId: null, isEphemeral: false },
      ...{ data: {}, uploads: {} },
    });
    return cluster.while(asked).then(codeOf);
  };
  const UNKNOWN_APPLICATION = 10_002;
  for (const at of [0, 1, 2]) {
    expect(await ask(at, user.id, session.id)).toBe(UNKNOWN_APPLICATION);
    expect(await ask(at, user.id, '')).toBe(UNKNOWN_APPLICATION);
    expect(await ask(at, user.id, 'f'.repeat(32))).toBe(50_035);
    expect(await ask(at, other.user.id, session.id)).toBe(50_035);
  }
});

it('a guild command runs at the owner shard of the guild alone; another shard cannot write there', async () => {
  const { guildId, ownerId } = await cluster.found();
  const by = { userId: ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const authority = { by, requires: 0n };
  const [owner, stranger] = [cluster.ownerOf(guildId), cluster.strangerTo(guildId)];
  const rename = { draft: { name: 'Harbour' } };
  await expect(
    cluster.while(stranger.guilds.callHere(guildId, 'updateGuild', rename, authority)),
  ).rejects.toThrow();
  const renamed = await cluster.while(owner.guilds.callHere(guildId, 'updateGuild', rename, authority));
  expect(codeOf(renamed)).toBeNull();
});
