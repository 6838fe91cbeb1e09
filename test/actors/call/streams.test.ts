// Goal: a stream exists exactly while its owner may show it, its viewers are in its channel, and its members receive
// every change.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Streams } from '../../../actors/call/streams.ts';
import type { VoiceMember } from '../../../engine/call/voicemember.ts';
import type { ChannelId, FreshId, GuildId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { StreamRequest } from '../../../protocol/sessionrequests.ts';
import { seatOf } from './harness.ts';

const GUILD = '900' as GuildId;
const HALL = '1000' as ChannelId;
const OTHER = '1001' as ChannelId;
const keyOf = (userId: string, channelId = HALL) => `guild:${GUILD}:${channelId}:${userId}`;
const CREATE: StreamRequest = { type: 'create', place: { guildId: GUILD, channelId: HALL } };

function arrange() {
  /** Seats in calls, those of streams too, by server and user. */
  const voiceMembers = new Map<string, VoiceMember>();
  const log: string[] = [];
  const live = new Set<string>();
  let ids = 5000n;
  const calls = {
    /** Whether the calls admit a member. */
    admits: (_seat: VoiceMember): boolean => true,
    voiceMemberOf: (serverId: string, userId: string) => voiceMembers.get(`${serverId} ${userId}`) ?? null,
    voiceJoined(voiceMember: VoiceMember): void {
      if (calls.admits(voiceMember))
        voiceMembers.set(`${voiceMember.serverId} ${voiceMember.userId}`, voiceMember);
      const stream = streams.of(voiceMember.callId);
      if (!stream) return;
      if (calls.admits(voiceMember)) streams.invite(stream, voiceMember, 'ticket', 'voice.example');
      else streams.dropped(stream, voiceMember);
    },
    voiceLeft: (serverId: string, userId: string): void => void voiceMembers.delete(`${serverId} ${userId}`),
    ended(callId: string): void {
      for (const [at, voiceMember] of voiceMembers)
        if (voiceMember.callId === callId) voiceMembers.delete(at);
    },
  };
  const streams: Streams = new Streams({
    calls,
    nextId: () => String(ids++) as FreshId,
    region: 'local',
    deliver: ({ userId, sessionId }, t, d) => {
      expect(sessionId).toBe(`session of ${userId}`);
      const { reason } = d as { reason?: string };
      log.push(`${userId} ${t.slice('STREAM_'.length)}${reason ? ` ${reason}` : ''}`);
    },
    show: ({ key }, isLive) => (isLive ? live.add(key) : live.delete(key)),
  });
  const voiceMember = (userId: string, more: Partial<VoiceMember> = {}): VoiceMember =>
    seatOf(userId, { serverId: GUILD, guildId: GUILD, callId: HALL, ...more });
  return {
    calls,
    streams,
    live,
    seats: voiceMembers,
    /** Notifications since the last call of this function. */
    told: () => log.splice(0),
    place(userId: string, more: Partial<VoiceMember> = {}): void {
      streams.voiceJoined(voiceMember(userId, more));
      calls.voiceJoined(voiceMember(userId, more));
    },
    leave(userId: string): void {
      streams.voiceLeft(GUILD, userId as UserId);
      calls.voiceLeft(GUILD, userId);
    },
    ask: (userId: string, request: StreamRequest, sessionId = `session of ${userId}`) =>
      streams.ask({ userId: userId as UserId, sessionId }, request),
    watch(userId: string, ownerId: string): void {
      this.ask(userId, { type: 'watch', streamKey: keyOf(ownerId) });
    },
    inStream: (ownerId: string) =>
      [...voiceMembers.values()]
        .filter(({ callId }) => streams.of(callId)?.key === keyOf(ownerId))
        .map(({ userId }) => userId),
  };
}

/** Owner 1 live in the hall, watched by 2. */
function watched() {
  const world = arrange();
  for (const userId of ['1', '2', '3']) world.place(userId);
  world.ask('1', CREATE);
  world.watch('2', '1');
  return world;
}

describe('a stream', () => {
  it('is a call of its own in which only the owner sends', () => {
    const world = watched();
    expect(world.told()).toEqual(['1 CREATE', '1 SERVER_UPDATE', '2 CREATE', '1 UPDATE', '2 SERVER_UPDATE']);
    const own = { callId: '5000', serverId: '5000', groupId: '4999', guildId: GUILD, mayPrioritize: false };
    expect(world.seats.get('5000 1')).toMatchObject({ ...own, silenced: false, mayStream: true });
    expect(world.seats.get('5000 2')).toMatchObject({ ...own, silenced: true, mayStream: false });
    expect([...world.live]).toEqual([keyOf('1')]);
  });

  it('follows the voice states of the channel', () => {
    const world = watched();
    world.told();
    world.place('2', { deafened: true });
    expect(world.seats.get('5000 2')).toMatchObject({ deafened: true, silenced: true });
    world.place('1', { silenced: true });
    expect(world.seats.get('5000 1')).toMatchObject({ silenced: false });
    world.told();
    world.place('2', { callId: OTHER });
    expect(world.told()).toEqual(['2 DELETE invalid_channel', '1 UPDATE']);
    expect(world.inStream('1')).toEqual(['1']);
  });

  it.each<[string, (world: ReturnType<typeof arrange>) => void, string]>([
    ['stops it', (world) => world.ask('1', { type: 'delete', streamKey: keyOf('1') }), 'user_requested'],
    ['leaves', (world) => world.leave('1'), 'invalid_channel'],
    ['moves', (world) => world.place('1', { callId: OTHER }), 'invalid_channel'],
    ['loses the channel', (world) => world.streams.ended(HALL), 'invalid_channel'],
    ['may no longer', (world) => world.place('1', { mayStream: false }), 'unauthorized'],
    [
      'is lost to the call',
      (world) => world.streams.dropped(world.streams.of('5000')!, world.seats.get('5000 1')!),
      'stream_ended',
    ],
  ])('ends when its owner %s', (_, end, reason) => {
    const world = watched();
    world.told();
    end(world);
    expect(world.told()).toEqual([`1 DELETE ${reason}`, '2 DELETE stream_ended']);
    expect([world.streams.size, world.live.size, world.inStream('1').length]).toEqual([0, 0, 0]);
    world.watch('3', '1');
    expect(world.told()).toEqual(['3 DELETE stream_ended']);
  });

  it('keeps a viewer whose earlier session was lost to its call', () => {
    const world = watched();
    const earlier = world.seats.get('5000 2')!;
    world.streams.dropped(world.streams.of('5000')!, { ...earlier, sessionId: 'an earlier one' });
    expect(world.inStream('1')).toEqual(['1', '2']);
    world.streams.dropped(world.streams.of('5000')!, earlier);
    expect(world.inStream('1')).toEqual(['1']);
  });

  it('is paused by its owner only, from the session that streams', () => {
    const world = watched();
    world.told();
    const pause: StreamRequest = { type: 'setPaused', streamKey: keyOf('1'), paused: true };
    world.ask('2', pause);
    world.ask('1', pause, 'another session');
    expect(world.told()).toEqual([]);
    world.ask('1', pause);
    world.ask('1', pause);
    expect(world.told()).toEqual(['1 UPDATE', '2 UPDATE']);
  });

  it('exists once for each owner and channel; a repeated request announces it again', () => {
    const world = watched();
    world.told();
    world.ask('1', CREATE);
    world.watch('2', '1');
    expect(world.told()).toEqual(['1 CREATE', '1 SERVER_UPDATE', '2 CREATE', '2 SERVER_UPDATE']);
    world.ask('2', { type: 'ping', streamKey: keyOf('1') });
    world.ask('3', { type: 'ping', streamKey: keyOf('1') });
    expect(world.told()).toEqual(['2 SERVER_UPDATE']);
    expect(world.streams.size).toBe(1);
  });

  it('admits a bounded number of viewers', () => {
    const world = watched();
    for (let viewers = 1; viewers < LIMITS.stream_viewers_max; viewers += 1) {
      world.place(`${100 + viewers}`);
      world.watch(`${100 + viewers}`, '1');
    }
    expect(world.told().join()).not.toContain('stream_full');
    world.watch('3', '1');
    expect(world.told()).toEqual(['3 DELETE stream_full']);
    world.watch('2', '1');
    expect(world.told()).toEqual(['2 CREATE', '2 SERVER_UPDATE']);
  });

  it('is ended at once when the calls have no room for it', () => {
    const world = arrange();
    world.place('1');
    world.calls.admits = ({ serverId }) => serverId === GUILD;
    world.ask('1', CREATE);
    expect(world.told()).toEqual(['1 CREATE', '1 DELETE stream_ended']);
    expect([world.streams.size, world.live.size]).toEqual([0, 0]);
  });
});

it('keeps every viewer in the channel of a running stream, after any events', () => {
  const USERS = ['1', '2', '3'];
  const user = fc.constantFrom(...USERS);
  const channel = fc.constantFrom(HALL, OTHER);
  type World = ReturnType<typeof arrange>;
  const step = fc.oneof(
    fc.tuple(user, channel, fc.boolean()).map(
      ([id, callId, mayStream]) =>
        (world: World) =>
          world.place(id, { callId, mayStream }),
    ),
    user.map((id) => (world: World) => world.leave(id)),
    fc.tuple(user, channel).map(
      ([id, channelId]) =>
        (world: World) =>
          world.ask(id, { type: 'create', place: { guildId: GUILD, channelId } }),
    ),
    fc.tuple(user, user, fc.constantFrom('watch', 'delete', 'ping'), channel).map(
      ([id, owner, type, at]) =>
        (world: World) =>
          world.ask(id, { type, streamKey: keyOf(owner, at) }),
    ),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = arrange();
      for (const run of steps) {
        run(world);
        const streams = new Set(
          [...world.seats.values()].flatMap(({ callId }) => world.streams.of(callId) ?? []),
        );
        expect(streams.size).toBe(world.streams.size);
        expect(new Set([...streams].map(({ key }) => key))).toEqual(world.live);
        for (const stream of streams) {
          const inCall = [...world.seats.values()].filter(({ callId }) => callId === stream.rtcServerId);
          expect(inCall.map(({ userId }) => userId).sort()).toEqual([...stream.voiceMembers.keys()].sort());
          expect(world.seats.get(`${GUILD} ${stream.ownerId}`)?.mayStream).toBe(true);
          for (const { userId } of inCall)
            expect(world.seats.get(`${GUILD} ${userId}`)?.callId).toBe(stream.channelId);
        }
      }
    }),
  );
});
