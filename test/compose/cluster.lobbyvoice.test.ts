// Goal: a player stays in the call of a lobby, and receives its address, whichever shards of the lobby, the player and the session are lost.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

let cluster: TestCluster;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(joinPath(tmpdir(), 'guildhall-lobbyvoice-'));
  (await openCluster(1)).close();
}, 60_000);
afterEach(() => cluster.close());
afterAll(() => rm(folder, { recursive: true, force: true }));

const SILENT = { selfMute: false, selfDeaf: false, selfVideo: false };

const told = <T>({ dispatches }: RecordingSink, t: string): T[] =>
  dispatches.flatMap((each) => (each.t === t ? [each.d as T] : []));
const ticketsOf = (sink: RecordingSink) =>
  told<{ readonly token: string; readonly lobby_id: ChannelId }>(sink, 'LOBBY_VOICE_SERVER_UPDATE');

interface VoiceState {
  readonly user_id: UserId;
  readonly channel_id: ChannelId | null;
}
const statesOf = (sink: RecordingSink, userId: UserId) =>
  told<VoiceState>(sink, 'LOBBY_VOICE_STATE_UPDATE').filter(({ user_id }) => user_id === userId);

/** A player whose session is at a shard. */
async function player(applicationId: ApplicationId, home: ClusterInstance, name: string) {
  const { user } = await cluster.while(home.operator.createUser({ username: name }));
  const userId = user.id as UserId;
  const scopes = ['sdk.social_layer'] as const;
  const issued = await cluster.while(
    home.features.oauth.issue({ userId, applicationId, scopes, refreshable: false }),
  );
  const by = { userId, bot: false, applicationId, applicationFlags: 0, reason: null };
  const authority = { by, requires: 0n } as Authority;
  const token = issued.accessToken.reveal();
  const { sink, session } = await cluster.while(home.connect(token));
  return { userId, authority, token, sink, session };
}

/** Ann and Bob in the call of a lobby. The shards own what the test asks for; Bob, his session and the lobby's secret are at the first. */
async function arrange(at: { readonly home: number; readonly user: number; readonly lobby: number }) {
  cluster = await openCluster(3, { journal_dir: folder });
  const [bystander] = cluster.instances as [ClusterInstance];
  const home = cluster.instance(at.home);
  const made = await cluster.while(bystander.operator.createApplication({ name: 'Game' }));
  const applicationId = made.application.id as ApplicationId;
  const [ann, bob] = [
    await player(applicationId, home, 'ann'),
    await player(applicationId, bystander, 'bob'),
  ];
  await cluster.move(bob.userId, bystander);
  const wanted = { secret: 'room', lobby: {}, member: {} };
  const joined = [ann, bob].map(({ authority }) =>
    bystander.features.lobbies.createOrJoin(wanted, authority),
  );
  const [lobby] = await cluster.while(Promise.all(joined));
  if (!lobby?.ok) throw new Error('no lobby');
  const lobbyId = lobby.value.id as ChannelId;
  await cluster.move(ann.userId, cluster.instance(at.user));
  await cluster.move(lobbyId, cluster.instance(at.lobby));
  await cluster.until(() => told(ann.sink, 'LOBBY_CREATE').length > 0, 'the lobby');
  for (const { session } of [ann, bob]) put(session, [lobbyId]);
  const areIn = () => ticketsOf(ann.sink).length > 0 && ticketsOf(bob.sink).length > 0;
  await cluster.until(() => areIn() && statesOf(bob.sink, ann.userId).length > 0, 'tickets');
  await cluster.pass(1_000);
  return { ann, bob, lobbyId, home, tickets: ticketsOf(ann.sink).length };
}

const put = (
  session: Awaited<ReturnType<ClusterInstance['connect']>>['session'],
  lobbyIds: readonly ChannelId[],
) => session.ask({ name: 'lobbyVoice', input: lobbyIds.map((lobbyId) => ({ ...SILENT, lobbyId })) });

const isIn = (lobbyId: ChannelId, userId: UserId) =>
  cluster.ownerOf(lobbyId).voice.calls.voiceMemberOf(lobbyId, userId) !== null;

describe('a player in the call of a lobby', () => {
  it('receives one ticket of the next owner when the owner of both dies', async () => {
    const { ann, bob, lobbyId, tickets } = await arrange({ home: 1, user: 2, lobby: 2 });
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.until(() => ticketsOf(ann.sink).length > tickets, 'another ticket');
    await cluster.pass(10_000);
    expect(ticketsOf(ann.sink).length).toBe(tickets + 1);
    for (const { userId } of [ann, bob]) expect(isIn(lobbyId, userId)).toBe(true);
    expect(statesOf(bob.sink, ann.userId).at(-1)?.channel_id).toBe(lobbyId);
  });

  it('receives one ticket after each of two moves of both', async () => {
    const { ann, lobbyId, tickets } = await arrange({ home: 1, user: 2, lobby: 2 });
    for (const [count, to] of [
      [1, 1],
      [2, 2],
    ] as const) {
      for (const id of [ann.userId, lobbyId]) await cluster.move(id, cluster.instance(to));
      await cluster.until(() => ticketsOf(ann.sink).length >= tickets + count, 'another ticket');
      await cluster.pass(10_000);
      expect(ticketsOf(ann.sink).length).toBe(tickets + count);
      expect(isIn(lobbyId, ann.userId)).toBe(true);
    }
  });

  it('receives a ticket on RESUME when the shard of its session and of the lobby dies', async () => {
    const { ann, lobbyId } = await arrange({ home: 2, user: 0, lobby: 2 });
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.pass(2_000);
    const seq = ann.sink.dispatches.at(-1)?.seq ?? 0;
    const resumed = cluster.instance(1).resume(ann.token, ann.session.id, seq);
    const { sink, outcome } = await cluster.while(resumed);
    expect(outcome.kind).toBe('open');
    await cluster.until(() => ticketsOf(sink).length > 0, 'a ticket');
    expect(isIn(lobbyId, ann.userId)).toBe(true);
  });

  it('stays with the session that joined last when the owner of both dies', async () => {
    const { ann, bob, lobbyId, home } = await arrange({ home: 1, user: 2, lobby: 2 });
    const other = await cluster.while(home.connect(ann.token));
    await cluster.until(() => other.sink.names.includes('READY'), 'the second session');
    await cluster.pass(1_000);
    put(other.session, [lobbyId]);
    await cluster.until(() => ticketsOf(other.sink).length > 0, 'a ticket of the second');
    await cluster.pass(1_000);
    const tickets = ticketsOf(ann.sink).length;
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.until(() => ticketsOf(other.sink).length > 1, 'another ticket');
    await cluster.pass(10_000);
    expect(ticketsOf(ann.sink).length).toBe(tickets);
    const shown = told<VoiceState & { session_id: string }>(bob.sink, 'LOBBY_VOICE_STATE_UPDATE');
    const last = shown.findLast(({ user_id }) => user_id === ann.userId);
    expect(last).toMatchObject({ session_id: other.session.id, channel_id: lobbyId });
  });

  it('joins although the owner of its user dies before the request has reached it', async () => {
    const { ann, lobbyId } = await arrange({ home: 1, user: 2, lobby: 0 });
    put(ann.session, []);
    await cluster.until(() => !isIn(lobbyId, ann.userId), 'the end');
    await cluster.pass(1_000);
    put(ann.session, [lobbyId]);
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.until(() => isIn(lobbyId, ann.userId), 'the call');
  });

  it('leaves although the owner of its user dies before the request has reached it', async () => {
    const { ann, lobbyId } = await arrange({ home: 1, user: 2, lobby: 0 });
    put(ann.session, []);
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.until(() => !isIn(lobbyId, ann.userId), 'the end');
  });

  it('does not join the call again after it was removed from the lobby and added again', async () => {
    const { ann, lobbyId } = await arrange({ home: 1, user: 2, lobby: 2 });
    const { lobbies } = cluster.ownerOf(lobbyId).features;
    const remove = lobbies.call(lobbyId, 'removeMember', { userId: ann.userId }, SYSTEM);
    expect((await cluster.while(remove)).ok).toBe(true);
    await cluster.until(() => told(ann.sink, 'LOBBY_DELETE').length > 0, 'the removal');
    const again = cluster
      .instance(0)
      .features.lobbies.createOrJoin({ secret: 'room', lobby: {}, member: {} }, ann.authority);
    expect((await cluster.while(again)).ok).toBe(true);
    await cluster.until(() => told(ann.sink, 'LOBBY_CREATE').length > 1, 'the lobby again');
    await cluster.adopt(cluster.instance(1), cluster.kill(cluster.instance(2)));
    await cluster.pass(10_000);
    expect(isIn(lobbyId, ann.userId)).toBe(false);
  });

  it('leaves the call after its owner has moved', async () => {
    const { ann, bob, lobbyId } = await arrange({ home: 1, user: 2, lobby: 0 });
    await cluster.move(ann.userId, cluster.instance(1));
    await cluster.pass(2_000);
    expect(isIn(lobbyId, ann.userId)).toBe(true);
    put(ann.session, []);
    const last = () => statesOf(bob.sink, ann.userId).at(-1);
    await cluster.until(() => last()?.channel_id === null && !isIn(lobbyId, ann.userId), 'the end');
  });
});
