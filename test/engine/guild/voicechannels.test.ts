/** Goal: a voice channel's status, start and sounds live exactly as long as someone is in it, and reach who sees it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { channelInfo } from '../../../engine/guild/voicechannels.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, role } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const HIDDEN = [overwrite('1', 0, { deny: P.VIEW_CHANNEL })];
const SECOND = NOW_MS / 1000;

/** Voice channels 50, 51 and (hidden) 52, stage 53, text 60. User 10 manages channels, 11 and 12 are plain. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.USE_SOUNDBOARD | P.SET_VOICE_CHANNEL_STATUS,
    roles: [role('100', P.MANAGE_CHANNELS, 1)],
    members: [fullMember('10', ['100']), fullMember('11'), fullMember('12')],
    channels: [
      channel('50', [], { type: 2 }),
      channel('51', [], { type: 2 }),
      channel('52', HIDDEN, { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('60'),
    ],
  });
  guild.info = { ...guild.info, features: [] };
  return guild;
}

const voice = (guild: Guild, userId: string, channelId: string | null, nowMs = NOW_MS) =>
  ruled(
    guild,
    'setVoiceState',
    { channelId, sessionId: `s${userId}`, selfMute: false, selfDeaf: false, selfVideo: false },
    userId,
    nowMs,
  );
const status = (guild: Guild, userId: string, text: string | null, channelId = '50') =>
  ruled(guild, 'setVoiceChannelStatus', { channelId, status: text }, userId);
const live = (guild: Guild, channelId: string) => guild.liveVoice.get(channelId as ChannelId);
const named = (ran: { dispatches: readonly { t: string; d: object; to: object }[] }, t: string) =>
  ran.dispatches.filter((dispatch) => dispatch.t === t);

describe('the start of a voice channel', () => {
  it('is the second in which the first member joins, and is removed when the last one leaves', () => {
    const guild = arrange();
    expect(named(voice(guild, '11', '50', NOW_MS + 999), 'VOICE_CHANNEL_START_TIME_UPDATE')).toEqual([
      {
        t: 'VOICE_CHANNEL_START_TIME_UPDATE',
        d: { id: '50', guild_id: '1', voice_start_time: SECOND },
        to: { kind: 'channel', channelId: '50' },
      },
    ]);
    expect(named(voice(guild, '12', '50', NOW_MS + 5_000), 'VOICE_CHANNEL_START_TIME_UPDATE')).toEqual([]);
    expect(live(guild, '50')?.startedMs).toBe(NOW_MS + 999);
    expect(named(voice(guild, '11', null), 'VOICE_CHANNEL_START_TIME_UPDATE')).toEqual([]);
    expect(named(voice(guild, '12', null), 'VOICE_CHANNEL_START_TIME_UPDATE')).toMatchObject([
      { d: { id: '50', voice_start_time: null } },
    ]);
    expect(guild.liveVoice.size).toBe(0);
  });

  it('follows a member who moves: one channel ends, the other starts', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    expect(named(voice(guild, '11', '51'), 'VOICE_CHANNEL_START_TIME_UPDATE').map(({ d }) => d)).toEqual([
      { id: '50', guild_id: '1', voice_start_time: null },
      { id: '51', guild_id: '1', voice_start_time: SECOND },
    ]);
  });

  it('is dispatched after the voice state that caused it', () => {
    const ran = voice(arrange(), '11', '50');
    expect(ran.types).toEqual(['voiceStateChanged', 'voiceStartChanged']);
  });
});

describe('the status of a voice channel', () => {
  it('is set by members in the channel, sent to members who see it, and logged', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    const ran = status(guild, '11', 'raiding');
    expect(ran.dispatches).toMatchObject([
      {
        t: 'VOICE_CHANNEL_STATUS_UPDATE',
        d: { id: '50', guild_id: '1', status: 'raiding' },
        to: { kind: 'channel', channelId: '50' },
      },
      {
        t: 'GUILD_AUDIT_LOG_ENTRY_CREATE',
        d: { action_type: 192, target_id: '50', options: { channel_id: '50', status: 'raiding' } },
      },
    ]);
    expect(guild.channels.get('50' as ChannelId)).not.toHaveProperty('status');
    expect(status(guild, '11', 'raiding').types).toEqual([]);
  });

  it.each([null, ''])('is removed by %j, which is logged as a deletion', (text) => {
    const guild = arrange();
    voice(guild, '11', '50');
    status(guild, '11', 'raiding');
    expect(status(guild, '11', text).dispatches).toMatchObject([
      { d: { status: null } },
      { d: { action_type: 193, options: { channel_id: '50' } } },
    ]);
    expect(live(guild, '50')).toEqual({ status: null, startedMs: NOW_MS });
    expect(status(guild, '11', text).types).toEqual([]);
  });

  it('requires MANAGE_CHANNELS from outside, also from another voice channel', () => {
    const guild = arrange();
    expect(status(guild, '11', 'x').code).toBe(50013);
    voice(guild, '11', '51');
    expect(status(guild, '11', 'x').code).toBe(50013);
    expect(status(guild, '10', 'x').code).toBeUndefined();
  });

  it('is for voice channels only', () => {
    const guild = arrange();
    expect(status(guild, '2', 'x', '53').code).toBe(50024);
    expect(status(guild, '2', 'x', '60').code).toBe(50024);
    expect(status(guild, '2', 'x', '99').code).toBe(10003);
  });

  it('is removed without a log entry when the last member leaves', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    status(guild, '11', 'raiding');
    const ran = voice(guild, '11', null);
    expect(ran.types).toEqual(['voiceStateChanged', 'voiceStartChanged', 'voiceStatusChanged']);
    expect(named(ran, 'VOICE_CHANNEL_STATUS_UPDATE')).toMatchObject([{ d: { id: '50', status: null } }]);
    expect(guild.liveVoice.size).toBe(0);
  });

  it.each([true, false])(
    "is removed with its channel, before the channel's own dispatch (occupied: %s)",
    (inside) => {
      const guild = arrange();
      if (inside) voice(guild, '11', '50');
      status(guild, '2', 'raiding');
      const { types } = ruled(guild, 'deleteChannel', { channelId: '50' }, '2');
      expect(types.filter((type) => type === 'voiceStatusChanged')).toHaveLength(1);
      expect(types.indexOf('voiceStatusChanged')).toBeLessThan(types.indexOf('channelDeleted'));
      expect(guild.liveVoice.size).toBe(0);
    },
  );
});

describe('live voice channels', () => {
  it('have a start time exactly while members are in them, and no state otherwise', () => {
    const userId = fc.constantFrom('2', '10', '11', '12');
    const step = fc.record({ userId, channelId: fc.constantFrom('50', '51', '53', null) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const guild = arrange();
        for (const [at, { userId: id, channelId }] of steps.entries()) {
          voice(guild, id, channelId, NOW_MS + at);
          if (at % 3 === 0) status(guild, id, `s${at}`, '51');
          const inUse = new Set([...guild.voiceStates.values()].map((state) => state.channel_id));
          for (const each of ['50' as ChannelId, '51' as ChannelId, '53' as ChannelId])
            expect((live(guild, each)?.startedMs ?? null) !== null, each).toBe(inUse.has(each));
        }
      }),
    );
  });

  it('are listed on request: visible channels with the requested fields', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    status(guild, '11', 'raiding');
    const of = (...fields: string[]) => channelInfo(guild, '11' as UserId, fields, NOW_MS);
    expect(of('status', 'voice_start_time')).toEqual({
      guild_id: '1',
      channels: [
        { id: '50', status: 'raiding', voice_start_time: SECOND },
        { id: '51', status: null, voice_start_time: null },
        { id: '53', status: null, voice_start_time: null },
      ],
    });
    expect(of('status').channels[0]).toEqual({ id: '50', status: 'raiding' });
    expect(of().channels[0]).toEqual({ id: '50' });
  });
});

describe('sounds', () => {
  const play = (guild: Guild, userId = '11', more: object = {}) =>
    ruled(guild, 'playSound', { channelId: '50', soundId: '2', sourceGuildId: null, ...more }, userId);

  it('are dispatched to members who see the channel, and are not stored', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    expect(play(guild).dispatches).toEqual([
      {
        t: 'VOICE_CHANNEL_EFFECT_SEND',
        d: {
          channel_id: '50',
          guild_id: '1',
          user_id: '11',
          emoji: { id: null, name: '🔨' },
          sound_id: '2',
          sound_volume: 1,
        },
        to: { kind: 'channel', channelId: '50' },
      },
    ]);
  });

  it('are sent by a member in that channel, from available sounds', () => {
    const guild = arrange();
    expect(play(guild).code).toBe(10065);
    voice(guild, '11', '51');
    expect(play(guild).code).toBe(10065);
    voice(guild, '11', '50');
    expect(play(guild, '11', { soundId: '999' }).code).toBe(10097);
    expect(play(guild, '11', { sourceGuildId: '1' }).code).toBe(10097);
    expect(play(guild, '11', { channelId: '60' }).code).toBe(50024);
    expect(play(guild, '11', { channelId: '53' }).code).toBe(50024);
  });

  it.each(['deaf', 'self_deaf', 'mute', 'suppress'])('are refused from a member with %s', (field) => {
    const guild = arrange();
    voice(guild, '11', '50');
    const state = guild.voiceStates.get('11' as UserId);
    guild.voiceStates.set('11' as UserId, { ...state, [field]: true } as never);
    expect(play(guild).code).toBe(50167);
  });

  it('are accepted from a member who is only self-muted', () => {
    const guild = arrange();
    voice(guild, '11', '50');
    const state = guild.voiceStates.get('11' as UserId);
    guild.voiceStates.set('11' as UserId, { ...state, self_mute: true } as never);
    expect(play(guild).code).toBeUndefined();
  });
});
