// Goal: from its answer on a block applies at the owner of a private channel, whichever shard is asked, loses ownership or dies.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Authority } from '../../engine/kernel/authority.ts';
import { type ChannelId, compareIds, type UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

let cluster: TestCluster;
let names = 0;
afterEach(() => cluster.close());

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);

interface Someone {
  readonly userId: UserId;
  readonly token: string;
  readonly authority: Authority;
}

async function person(): Promise<Someone> {
  const { user, token } = await wait(
    cluster.instance(0).operator.createUser({ username: `reach${names++}` }),
  );
  const userId = user.id as UserId;
  const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  return { userId, token, authority: { by, requires: 0n } };
}

/**
 * Two people whose relationship the first shard decides, and whose channel the second owns and has in memory. `alone`: it owns both, so
 * that it decides without a call to another.
 */
async function pair(alone = false) {
  for (;;) {
    const [ann, bob] = [await person(), await person()];
    const [low, high] = [ann.userId, bob.userId].sort(compareIds) as [UserId, UserId];
    if (cluster.ownerOf(low) !== cluster.instance(0)) continue;
    if (alone && cluster.ownerOf(high) !== cluster.instance(0)) continue;
    const opened = await wait(cluster.instance(0).openPrivate(ann.userId, bob.userId));
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { id: channelId } = opened.value;
    if (cluster.ownerOf(channelId) !== cluster.instance(1)) continue;
    expect(await types(cluster.instance(2), channelId, ann)).toBeNull();
    return { ann, bob, channelId };
  }
}

async function types(
  instance: ClusterInstance,
  channelId: ChannelId,
  { authority }: Someone,
): Promise<number | null> {
  const reply = await wait(instance.inPrivate(channelId, 'startTyping', { channelId }, authority));
  return reply.ok ? null : reply.refusal.code;
}

const block = (instance: ClusterInstance, by: Someone, other: Someone) =>
  instance.features.social.relationships.block({ userId: by.userId, authorization: null }, other.userId);

const joins = (instance: ClusterInstance, channelId: ChannelId, { authority }: Someone) => {
  const seat = { sessionId: authority.by.userId, selfMute: false, selfDeaf: false, selfVideo: false };
  return instance.inPrivate(channelId, 'setCallState', { ...seat, join: true }, authority);
};

describe('a block over three shards', () => {
  it('applies at the channel’s owner shard, and has ended the call, once it is answered', async () => {
    cluster = await openCluster(3);
    const { ann, bob, channelId } = await pair();
    const { sink } = await wait(cluster.instance(2).connect(ann.token));
    await cluster.until(() => sink.names.includes('READY'), 'READY');
    for (const each of [ann, bob])
      expect((await wait(joins(cluster.instance(2), channelId, each))).ok).toBe(true);
    expect(await wait(block(cluster.instance(2), bob, ann))).toMatchObject({ ok: true });
    for (const instance of cluster.instances)
      for (const each of [ann, bob]) expect(await types(instance, channelId, each)).toBe(50007);
    await cluster.until(() => sink.names.includes('CALL_DELETE'), 'the end of the call');
    expect(cluster.instance(1).privateChannels.peek(channelId)?.isBusy).toBe(false);
  });

  it('applies although the shard that stored it died before it notified any other shard', async () => {
    cluster = await openCluster(3);
    const { ann, bob, channelId } = await pair(true);
    expect((await wait(joins(cluster.instance(2), channelId, ann))).ok).toBe(true);
    cluster.net.delayMs = () => 60_000;
    const lost = block(cluster.instance(0), bob, ann).catch(() => null);
    const stored = async () => (await cluster.storage.relationships.of(bob.userId)).length > 0;
    for (let turn = 0; turn < 1_000 && !(await wait(stored())); turn += 1);
    expect(await wait(stored())).toBe(true);
    cluster.net.delayMs = () => 0;
    const orphaned = cluster.kill(cluster.instance(0));
    expect(await types(cluster.instance(1), channelId, ann)).toBe(50007);
    await cluster.adopt(cluster.instance(2), orphaned);
    await cluster.until(
      () => cluster.instance(1).privateChannels.peek(channelId)?.isBusy === false,
      'the end',
    );
    void lost;
  });

  it('applies while the channel moves between shards, at every owner', async () => {
    cluster = await openCluster(3);
    for (let round = 0; round < 4; round += 1) {
      const { ann, bob, channelId } = await pair();
      const moving = cluster.move(channelId, cluster.instance(2));
      const blocking = block(cluster.instance(0), bob, ann);
      const typing = Array.from({ length: 8 }, () => types(cluster.instance(0), channelId, ann));
      expect(await wait(blocking)).toMatchObject({ ok: true });
      expect(await types(cluster.instance(0), channelId, ann)).toBe(50007);
      await moving;
      await Promise.all(typing);
      expect(await types(cluster.instance(1), channelId, ann)).toBe(50007);
      await cluster.move(channelId, cluster.instance(1));
    }
  });
});
