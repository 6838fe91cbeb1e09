// Goal: people call each other through their sessions: a call is dispatched, joined, rings for a minute, and ends with the sessions.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VoiceListener } from '../../actors/call/ports.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { RING_MS } from '../../engine/privatechannel/calls.ts';
import { RELATION } from '../../engine/social/facts.ts';
import { type ChannelId, compareIds, type GuildId, type UserId } from '../../protocol/ids.ts';
import type { VoiceStateRequest } from '../../protocol/sessionrequests.ts';
import { openInstance, type RecordingSink, until } from '../support/instance.ts';

/** The notifications that the voice server receives, in order. */
class Received implements VoiceListener {
  readonly log: string[] = [];
  voiceJoined({ callId, userId, sessionId, silenced }: Parameters<VoiceListener['voiceJoined']>[0]): void {
    this.log.push(`seated ${callId} ${userId} ${sessionId}${silenced ? ' silenced' : ''}`);
  }
  voiceLeft(serverId: string, userId: string): void {
    this.log.push(`unseated ${serverId} ${userId}`);
  }
  ended(callId: string, _kind?: string, because?: string): void {
    this.log.push(`ended ${callId}${because ? ` ${because}` : ''}`);
  }
}

let instance: Awaited<ReturnType<typeof openInstance>>;
let told: Received;
let channelId: ChannelId;
let ann: Awaited<ReturnType<typeof person>>;
let ben: Awaited<ReturnType<typeof person>>;

async function person(username: string) {
  const { user, token } = await instance.operator.createUser({ username });
  return { userId: user.id as UserId, token, ...(await instance.connect(token)) };
}

const request = (more: Partial<VoiceStateRequest> = {}): VoiceStateRequest => ({
  guildId: null,
  channelId,
  selfMute: false,
  selfDeaf: false,
  selfVideo: false,
  ...more,
});

/** Dispatches about voice and calls. */
const heard = ({ sink }: { sink: RecordingSink }) =>
  sink.dispatches.filter(({ t }) => t.startsWith('CALL_') || t === 'VOICE_STATE_UPDATE');
const names = (of: { sink: RecordingSink }) => heard(of).map(({ t }) => t);
const last = (of: { sink: RecordingSink }) => heard(of).at(-1)?.d;

const writeInVain = () => {
  const by = { userId: ann.userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  const draft = { content: 'not stored' };
  const input = { channelId, draft, carried: {}, attachments: [], forward: null } as never;
  return instance.inPrivate(channelId, 'createMessage', input, { by, requires: 0n });
};

beforeEach(async () => {
  told = new Received();
  instance = await openInstance({}, told);
  [ann, ben] = [await person('ann'), await person('ben')];
  channelId = instance.foundation.nextId() as ChannelId;
  const recipientIds = [ann.userId, ben.userId].sort(compareIds) as [UserId, UserId];
  const channel = { id: channelId, type: 1 as const, recipientIds, last_message_id: null, last_pin_ms: null };
  await instance.commit(channelId, [{ type: 'privateChannelOpened', channel }]);
  // Friends ring each other.
  const friend = { type: RELATION.FRIEND, sinceMs: 0, nickname: null, originApplicationId: null };
  for (const [userId, peerId] of [recipientIds, [...recipientIds].reverse() as [UserId, UserId]])
    await instance.commit(userId, [
      { type: 'relationChanged', userId, peerId, applicationId: null, relation: friend },
    ]);
}, 60_000);
afterEach(() => instance.close());

describe('a call', () => {
  it('rings the other person, connects both, and ends when the last member leaves', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    expect(names(ben)).toEqual(['CALL_CREATE', 'VOICE_STATE_UPDATE']);
    expect(heard(ben)[0]?.d).toMatchObject({
      ringing: [ben.userId],
      voice_states: [{ user_id: ann.userId }],
    });
    expect(ben.sink.names).toContain('MESSAGE_CREATE');
    ben.session.ask({ name: 'voiceState', input: request({ selfMute: true }) });
    await until(() => names(ann).includes('CALL_UPDATE'), 'an end of the ringing');
    ann.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    ben.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    await until(() => names(ben).includes('CALL_DELETE'), 'the end');
    expect(names(ben)).toEqual(names(ann));
    expect(told.log).toEqual([
      `seated ${channelId} ${ann.userId} ${ann.session.id}`,
      `seated ${channelId} ${ben.userId} ${ben.session.id} silenced`,
      `unseated ${channelId} ${ann.userId}`,
      `unseated ${channelId} ${ben.userId}`,
    ]);
    const [message] = await instance.storage.messages.list(channelId, channelId, { limit: 1 });
    expect(message).toMatchObject({ type: 3, call: { participants: [ann.userId, ben.userId] } });
    expect(message?.call?.ended_timestamp).toBeTruthy();
  });

  it('ends when the end of its last member can be stored', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    instance.steer.fail = true;
    ann.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    await until(() => told.log.length === 2, 'the failure');
    instance.steer.fail = false;
    const seat = `seated ${channelId} ${ann.userId} ${ann.session.id}`;
    expect(told.log).toEqual([seat, `ended ${channelId} interrupted`]);
    expect(names(ben)).toEqual(['CALL_CREATE', 'VOICE_STATE_UPDATE']);
    // The channel is loaded again, and the request is repeated.
    await until(() => {
      instance.clock.advance(500);
      return names(ben).includes('CALL_DELETE');
    }, 'the end');
    expect(ben.sink.dispatches.findLast(({ t }) => t === 'MESSAGE_UPDATE')?.d).toMatchObject({
      call: { participants: [ann.userId], ended_timestamp: expect.any(String) },
    });
    expect(told.log.slice(2)).toEqual([seat, `unseated ${channelId} ${ann.userId}`]);
  });

  it('continues after a commit of its channel that fails, as its members see it', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    ben.session.ask({ name: 'voiceState', input: request() });
    await until(() => told.log.length === 2, 'both');
    const before = names(ann).length;
    instance.steer.fail = true;
    await expect(writeInVain()).rejects.toThrow('The disk is gone.');
    instance.steer.fail = false;
    instance.clock.advance(1_000);
    await until(() => told.log.length === 5, 'the return');
    const seats = [ann, ben].map(({ userId, session }) => `seated ${channelId} ${userId} ${session.id}`);
    expect(told.log).toEqual([...seats, `ended ${channelId} interrupted`, ...seats]);
    ben.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    await until(() => names(ann).length > before, 'the end of a member');
    expect([names(ann).slice(before), last(ann)]).toEqual([
      ['VOICE_STATE_UPDATE'],
      expect.objectContaining({ user_id: ben.userId, channel_id: null }),
    ]);
  });

  it('does not end a second time when its channel fails later', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    ann.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    await until(() => names(ben).includes('CALL_DELETE'), 'the end');
    instance.steer.fail = true;
    await writeInVain().catch(() => undefined);
    instance.steer.fail = false;
    expect(names(ben).filter((t) => t === 'CALL_DELETE')).toHaveLength(1);
    expect(told.log.at(-1)).toBe(`unseated ${channelId} ${ann.userId}`);
  });

  it('stops ringing after a minute, and keeps its channel in memory', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ann).includes('CALL_CREATE'), 'the call');
    instance.clock.advance(RING_MS - 1_000);
    expect(names(ann)).not.toContain('CALL_UPDATE');
    instance.clock.advance(1_100);
    await until(() => names(ann).includes('CALL_UPDATE'), 'the end of the ringing');
    expect(last(ann)).toMatchObject({ channel_id: channelId, ringing: [] });
    // The call keeps its channel in memory without further commands.
    instance.clock.advance(10 * RING_MS);
    expect(instance.registries.privateChannel.peek(channelId)).toBeDefined();
  });

  it('cancels its ring timer when it is answered or ended', async () => {
    const { wheel } = instance.foundation;
    const round = async (...then: (() => void)[]) => {
      const ends = () => names(ann).filter((name) => name === 'CALL_DELETE').length;
      const before = ends();
      ann.session.ask({ name: 'voiceState', input: request() });
      for (const step of then) step();
      ann.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
      await until(() => ends() > before, 'the end');
    };
    await round();
    const waits = wheel.size;
    await round(
      () => ben.session.ask({ name: 'voiceState', input: request() }),
      () => ben.session.ask({ name: 'voiceState', input: request({ channelId: null }) }),
    );
    await round();
    expect(wheel.size).toBe(waits);
  });

  it('is sent as CALL_CREATE after READY to a session that opens during the call', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    const { sink } = await instance.connect(ben.token);
    await until(() => sink.names.includes('CALL_CREATE'), 'the call');
    expect(sink.names).toEqual(['READY', 'CALL_CREATE']);
    expect(sink.dispatches[1]?.d).toEqual(heard(ben)[0]?.d);
  });

  it('stops ringing when it is declined, and rings again on request', async () => {
    const command = instance.inPrivate;
    const by = (userId: UserId): Authority => ({ ...SYSTEM, by: { ...SYSTEM.by, userId } });
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('CALL_CREATE'), 'the call');
    await command(channelId, 'stopRinging', { userIds: null }, by(ben.userId));
    expect(last(ann)).toMatchObject({ ringing: [] });
    await command(channelId, 'ringCall', { userIds: null }, by(ann.userId));
    expect(last(ben)).toMatchObject({ ringing: [ben.userId] });
    instance.clock.advance(RING_MS + 100);
    await until(() => names(ann).filter((name) => name === 'CALL_UPDATE').length === 3, 'silence');
    expect(last(ann)).toMatchObject({ ringing: [] });
  });

  it('removes a user whose session ends or whose voice connection is lost', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    ben.session.ask({ name: 'voiceState', input: request() });
    await until(() => told.log.length === 2, 'both');
    ann.session.detach(ann.sink, false);
    await until(() => told.log.includes(`unseated ${channelId} ${ann.userId}`), 'one to leave');
    expect(last(ben)).toMatchObject({ user_id: ann.userId, channel_id: null });
    instance.places.drop({ callId: channelId, guildId: null, userId: ben.userId, sessionId: ben.session.id });
    await until(() => names(ben).includes('CALL_DELETE'), 'the end');
  });

  it('survives its actor: its members receive nothing, and the voice server keeps it for the next one', async () => {
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => names(ben).includes('VOICE_STATE_UPDATE'), 'the call');
    instance.registries.privateChannel.drain();
    expect(told.log.at(-1)).toBe(`ended ${channelId} interrupted`);
    expect(names(ben)).toEqual(['CALL_CREATE', 'VOICE_STATE_UPDATE']);
  });

  it('ignores bots and unknown channels', async () => {
    const bot = await instance.connect();
    bot.session.ask({ name: 'voiceState', input: request() });
    ann.session.ask({ name: 'voiceState', input: request({ channelId: '1' as ChannelId }) });
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => told.log.length > 0, 'a seat');
    expect(told.log).toEqual([`seated ${channelId} ${ann.userId} ${ann.session.id}`]);
    expect(names(bot)).toEqual([]);
  });
});

describe('a person', () => {
  const voiceChannel = async (): Promise<ChannelId> => {
    const draft = { name: 'hall', type: 2 };
    const made = await instance.guilds.call(instance.guildId, 'createChannel', { draft }, SYSTEM);
    if (!made.ok) throw new Error(made.refusal.message);
    return made.value.id;
  };

  it('is in one voice channel or call at a time, and leaves a voice channel without naming its guild', async () => {
    const guildId: GuildId = instance.guildId;
    await instance.operator.addMember({ guildId, userId: ann.userId, permissions: 8n });
    await until(() => ann.sink.names.includes('GUILD_CREATE'), 'the guild');
    const hall = await voiceChannel();
    ann.session.ask({ name: 'voiceState', input: request({ guildId, channelId: hall }) });
    await until(() => told.log.length === 1, 'the guild’s seat');
    // The reply to the session follows.
    await new Promise(setImmediate);
    ann.session.ask({ name: 'voiceState', input: request() });
    await until(() => told.log.length === 3, 'the move to the call');
    await new Promise(setImmediate);
    ann.session.ask({ name: 'voiceState', input: request({ guildId, channelId: hall }) });
    await until(() => told.log.length === 5, 'the move back');
    ann.session.ask({ name: 'voiceState', input: request({ channelId: null }) });
    await until(() => told.log.length === 6, 'the end');
    const who = `${ann.userId} ${ann.session.id}`;
    expect(told.log).toEqual([
      `seated ${hall} ${who}`,
      `seated ${channelId} ${who}`,
      `unseated ${guildId} ${ann.userId}`,
      `seated ${hall} ${who}`,
      `unseated ${channelId} ${ann.userId}`,
      `unseated ${guildId} ${ann.userId}`,
    ]);
  });
});

describe('a guild', () => {
  it('stays in memory while a member is in voice, however long it gets no command', async () => {
    const { guilds, guildId, clock, foundation } = instance;
    const owner: Authority = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
    const made = await guilds.call(guildId, 'createChannel', { draft: { name: 'Deck', type: 2 } }, owner);
    const deck = made.ok ? made.value.id : null;
    const join = (voiceId: ChannelId | null) =>
      guilds.call(guildId, 'setVoiceState', { ...request({ channelId: voiceId }), sessionId: 's' }, owner);
    const idle = () => clock.advance(2 * foundation.config.guild_idle_ms);
    expect(await join(deck)).toMatchObject({ ok: true, value: { channel_id: deck } });
    idle();
    expect(guilds.isResident(guildId)).toBe(true);
    await join(null);
    idle();
    expect(guilds.isResident(guildId)).toBe(false);
  });
});

describe('Request Channel Info', () => {
  it('answers with the requested fields, to members only', async () => {
    const bot = await instance.connect();
    const draft = { name: 'hall', type: 2 };
    const made = await instance.guilds.call(instance.guildId, 'createChannel', { draft }, SYSTEM);
    const hall = made.ok ? made.value.id : ('0' as ChannelId);
    bot.session.ask({ name: 'voiceState', input: request({ guildId: instance.guildId, channelId: hall }) });
    await until(() => bot.sink.names.includes('VOICE_CHANNEL_START_TIME_UPDATE'), 'the start');
    bot.session.ask({
      name: 'channelInfo',
      input: { guildId: instance.guildId, fields: ['voice_start_time'] },
    });
    ann.session.ask({
      name: 'channelInfo',
      input: { guildId: instance.guildId, fields: ['voice_start_time'] },
    });
    await until(() => bot.sink.names.includes('CHANNEL_INFO'), 'the answer');
    const { d } = bot.sink.dispatches.find(({ t }) => t === 'CHANNEL_INFO') ?? {};
    const voice_start_time = Math.floor(instance.clock.now() / 1_000);
    expect(d).toEqual({
      guild_id: instance.guildId,
      channels: expect.arrayContaining([{ id: hall, voice_start_time }]),
    });
    expect(ann.sink.names).not.toContain('CHANNEL_INFO');
  });
});
