// Goal: a member of a call receives one new voice ticket when the shard of the call or of the member's session dies.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import { redirectingCalls } from '../../services/voice/elsewhere.ts';
import { codeOf, identifyOf, RecordingSink as VoiceSocket } from '../actors/call/harness.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

let cluster: TestCluster;
let world: Awaited<ReturnType<TestCluster['found']>>;
let folder: string;
let names = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-clustervoice-'));
  (await openCluster(1)).close();
}, 60_000);
afterEach(() => cluster.close());
afterAll(() => rm(folder, { recursive: true, force: true }));

const SILENT = { selfMute: false, selfDeaf: false, selfVideo: false };

interface Ticket {
  readonly token: string;
}

const ticketsOf = ({ dispatches }: RecordingSink): Ticket[] =>
  dispatches.flatMap(({ t, d }) => (t === 'VOICE_SERVER_UPDATE' ? [d as Ticket] : []));

/** A bot with its session at a shard, in the voice channel of the guild. */
async function inVoice(home: ClusterInstance) {
  const { guildId, botToken } = world;
  const { sink, session } = await cluster.while(home.connect(botToken));
  await cluster.until(() => sink.names.includes('GUILD_CREATE'), 'the guild');
  const { d } = sink.dispatches.find(({ t }) => t === 'GUILD_CREATE') as { d: unknown };
  const { channels } = d as { channels: { id: ChannelId; type: number }[] };
  const channelId = channels.find(({ type }) => type === 2)?.id ?? null;
  session.ask({ name: 'voiceState', input: { ...SILENT, guildId, channelId } });
  await cluster.until(() => ticketsOf(sink).length === 1, 'a ticket');
  // Until the snapshot of the voice states is stored.
  await cluster.pass(500);
  return { sink, sessionId: session.id };
}

/** Whether the guild's owner shard accepts the ticket; the check does not use it up. */
function isValid({ token }: Ticket): boolean {
  const identify = { ...identifyOf(world.botId, token), serverId: world.guildId, sessionId: 'of another' };
  const outcome = cluster.ownerOf(world.guildId).voice.calls.identify(identify, new VoiceSocket());
  return codeOf(outcome) === VOICE_CLOSE.SESSION_INVALID.code;
}

describe('a member in the call of a guild', () => {
  it('receives one new voice ticket after each move of the guild, which invalidates the earlier ones', async () => {
    cluster = await openCluster(3);
    world = await cluster.found();
    const { sink } = await inVoice(cluster.strangerTo(world.guildId));
    for (const count of [2, 3]) {
      await cluster.move(world.guildId, cluster.strangerTo(world.guildId));
      await cluster.until(() => ticketsOf(sink).length === count, 'another ticket');
      await cluster.pass(10_000);
      const tickets = ticketsOf(sink);
      expect(tickets.map(isValid)).toEqual([...Array(count - 1).fill(false), true]);
    }
  });

  it('receives one valid voice ticket after RESUMED when the shard of its call and session dies', async () => {
    cluster = await openCluster(2, { journal_dir: folder });
    world = await cluster.found();
    const owner = cluster.ownerOf(world.guildId);
    await cluster.move(world.botId, owner);
    const { sink, sessionId } = await inVoice(owner);
    const survivor = cluster.strangerTo(world.guildId);
    await cluster.adopt(survivor, cluster.kill(owner));
    // Another session loads the guild long before the client notices the crash.
    await cluster.while(survivor.connect(world.ownerToken));
    await cluster.pass(2_000);
    const seq = sink.dispatches.at(-1)?.seq ?? 0;
    const { sink: own, outcome } = await cluster.while(survivor.resume(world.botToken, sessionId, seq));
    expect(outcome.kind).toBe('open');
    await cluster.until(() => ticketsOf(own).length > 0, 'a ticket');
    await cluster.pass(10_000);
    expect(ticketsOf(own).map(isValid)).toEqual([true]);
    const [resumed, ...rest] = own.names.filter(
      (name) => name === 'RESUMED' || name === 'VOICE_SERVER_UPDATE',
    );
    expect([resumed, rest]).toEqual(['RESUMED', ['VOICE_SERVER_UPDATE']]);
  });

  it('receives the same voice ticket again after a link between the shards breaks', async () => {
    cluster = await openCluster(2);
    world = await cluster.found();
    const home = cluster.strangerTo(world.guildId);
    const { sink } = await inVoice(home);
    cluster.net.break(home.id, cluster.ownerOf(world.guildId).id);
    await cluster.until(() => ticketsOf(sink).length === 2, 'the ticket again');
    await cluster.pass(10_000);
    const [first, second] = ticketsOf(sink);
    expect(second).toEqual(first);
    expect(ticketsOf(sink).map(isValid)).toEqual([true, true]);
  });

  it('is rejected by the voice gateway of other shards, with the reason', async () => {
    cluster = await openCluster(2);
    world = await cluster.found();
    const { sink, sessionId } = await inVoice(cluster.strangerTo(world.guildId));
    const [ticket] = ticketsOf(sink);
    const identify = { ...identifyOf(world.botId, ticket?.token ?? ''), serverId: world.guildId, sessionId };
    const at = ({ voice, routing }: ClusterInstance) => redirectingCalls(voice.calls, routing);
    const stranger = at(cluster.strangerTo(world.guildId));
    const reason = expect.stringContaining('at another shard');
    const { code: notFound } = VOICE_CLOSE.SERVER_NOT_FOUND;
    expect(stranger.identify(identify, new VoiceSocket())).toEqual({
      kind: 'closed',
      code: notFound,
      reason,
    });
    const resume = { ...identify, seqAck: -1 };
    const { code: invalid } = VOICE_CLOSE.SESSION_INVALID;
    expect(stranger.resume(resume, new VoiceSocket())).toEqual({ kind: 'closed', code: invalid, reason });
    const wrong = at(cluster.ownerOf(world.guildId)).identify({ ...identify, token: '' }, new VoiceSocket());
    expect(wrong).toMatchObject({ reason: VOICE_CLOSE.AUTHENTICATION_FAILED.reason });
  });
});

/** A user that the owner shard has, made by an instance. */
async function member({ operator }: ClusterInstance, owner: ClusterInstance) {
  for (;;) {
    const { user, token } = await cluster.while(operator.createUser({ username: `voice${names++}` }));
    if (cluster.ownerOf(user.id) === owner) return { userId: user.id as UserId, token };
  }
}

describe('a member in the call of a private channel', () => {
  it('receives a voice ticket on RESUME when the call moved after its home shard died', async () => {
    cluster = await openCluster(3, { journal_dir: folder });
    const [owner, home, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
    const person = async (username: string) => {
      const { user, token } = await cluster.while(owner.operator.createUser({ username }));
      return { userId: user.id as UserId, token };
    };
    const [ann, bob] = [await person('ann'), await person('bob')];
    const opened = await cluster.while(owner.openPrivate(ann.userId, bob.userId));
    if (!opened.ok) throw new Error('no channel');
    const { id: channelId } = opened.value;
    await cluster.move(ann.userId, owner);
    await cluster.move(channelId, owner);
    const { sink, session } = await cluster.while(home.connect(ann.token));
    session.ask({ name: 'voiceState', input: { ...SILENT, guildId: null, channelId } });
    await cluster.until(() => ticketsOf(sink).length === 1, 'a ticket');
    await cluster.pass(500);
    await cluster.adopt(owner, cluster.kill(home));
    await cluster.move(channelId, third);
    await cluster.until(() => third.voice.calls.size === 1, 'the call');
    await cluster.pass(1_000);
    const seq = sink.dispatches.at(-1)?.seq ?? 0;
    const { sink: own } = await cluster.while(third.resume(ann.token, session.id, seq));
    await cluster.until(() => ticketsOf(own).length > 0, 'a ticket');
    await cluster.pass(10_000);
    expect(ticketsOf(own)).toMatchObject([{ channel_id: channelId }]);
  });

  it('is removed when the shard of its session and the owner of its user die together and no session resumes', async () => {
    const resumeWindowMs = 10_000;
    cluster = await openCluster(4, { resume_window_ms: resumeWindowMs });
    const [first, second, third, fourth] = cluster.instances as [
      ClusterInstance,
      ClusterInstance,
      ClusterInstance,
      ClusterInstance,
    ];
    const [ann, bob] = [await member(first, first), await member(first, second)];
    const opened = await cluster.while(first.openPrivate(ann.userId, bob.userId));
    if (!opened.ok) throw new Error(opened.refusal.message);
    const channelId = opened.value.id;
    await cluster.move(channelId, first);
    const [here, there] = [
      await cluster.while(first.connect(ann.token)),
      await cluster.while(third.connect(bob.token)),
    ];
    for (const { sink, session } of [here, there]) {
      session.ask({ name: 'voiceState', input: { ...SILENT, guildId: null, channelId } });
      await cluster.until(() => ticketsOf(sink).length > 0, 'a ticket');
    }
    const states = () =>
      here.sink.dispatches.flatMap(({ t, d }) => {
        const state = d as { user_id: string; channel_id: string | null };
        return t === 'VOICE_STATE_UPDATE' && state.user_id === bob.userId ? [state.channel_id] : [];
      });
    await cluster.until(() => states().length > 0, 'the voice state of bob');
    const orphaned = [...cluster.kill(second), ...cluster.kill(third)];
    await cluster.adopt(fourth, orphaned);
    await cluster.pass(resumeWindowMs);
    expect(states()).toEqual([channelId]);
    await cluster.pass(resumeWindowMs);
    expect(states()).toEqual([channelId, null]);
    // The session of the other caller is open.
    expect(here.sink.names).not.toContain('CALL_DELETE');
  });
});
