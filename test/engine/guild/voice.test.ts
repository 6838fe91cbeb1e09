/** Goal: a user is in voice as the rules allow, and each member receives exactly the voice states it may know. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guildCreatePayload } from '../../../engine/guild/payloads.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  type GuildWithSessions,
  overwrite,
  RecordingSession,
  role,
} from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const uid = (text: string) => text as UserId;
const HIDDEN = [overwrite('1', 0, { deny: P.VIEW_CHANNEL }), overwrite('100', 0, { allow: P.VIEW_CHANNEL })];
const SYSTEM = '0';

/**
 * Voice channels 50 (one seat), 51 (seen by role 100 only), 52, 54 (AFK), stage 53; text 60. Users 10 and 13 hold role
 * 100; 11 moves, mutes and deafens; 14 manages channels; two may be in a channel with video.
 */
function arrange(sessions = ['10', '11', '12'].map((userId) => new RecordingSession(`s${userId}`, userId))) {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.STREAM | P.SEND_MESSAGES,
    roles: [
      role('100', 0n, 1),
      role('101', P.MOVE_MEMBERS | P.MUTE_MEMBERS | P.DEAFEN_MEMBERS, 2),
      role('102', P.MANAGE_CHANNELS, 2),
    ],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12'),
      fullMember('13', ['100']),
      fullMember('14', ['102']),
    ],
    channels: [
      channel('50', [], { type: 2, user_limit: 1 }),
      channel('51', HIDDEN, { type: 2 }),
      channel('52', [], { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('54', [], { type: 2 }),
      channel('60'),
    ],
    sessions,
  });
  const limits = { max_video_channel_users: 2, max_stage_video_channel_users: 2 };
  const info = {
    ...guild.info,
    ...limits,
    afk_channel_id: '54' as ChannelId,
    afk_timeout: 300,
    features: [],
  };
  guild.info = info;
  return guild;
}

const join = (guild: GuildWithSessions, userId: string, channelId: string | null, fields: object = {}) => {
  const self = { selfMute: false, selfDeaf: false, selfVideo: false };
  return ruled(guild, 'setVoiceState', { channelId, sessionId: `s${userId}`, ...self, ...fields }, userId);
};
const moderate = (guild: GuildWithSessions, userId: string, fields: object, by = '11') =>
  ruled(guild, 'updateMember', { userId, ...fields }, by);
const stateOf = (guild: GuildWithSessions, userId: string) => guild.voiceStates.get(uid(userId));
const deny = (guild: GuildWithSessions, channelId: string, bits: bigint) => {
  const before = guild.channels.get(channelId as ChannelId)!;
  guild.channels.set(before.id, { ...before, permission_overwrites: [overwrite('1', 0, { deny: bits })] });
};
const voiceOf = (dispatches: readonly Dispatch[]) => dispatches.filter(({ t }) => t === 'VOICE_STATE_UPDATE');

/** Session to the channel it believes the user of these dispatches to be in. */
function believed(guild: GuildWithSessions, dispatches: readonly Dispatch[]): Record<string, unknown> {
  const heard: Record<string, unknown> = {};
  for (const dispatch of voiceOf(dispatches))
    for (const { d, to } of guild.audiences.recipients(guild, dispatch, NOW_MS))
      for (const { sessionId } of to) {
        expect(heard).not.toHaveProperty(sessionId);
        heard[sessionId] = (d as { channel_id: unknown }).channel_id;
      }
  return heard;
}

describe('joining', () => {
  it('adds a voice state, changes it and removes it', () => {
    const guild = arrange();
    expect(join(guild, '12', '52').outcome).toMatchObject({
      value: {
        guild_id: '1',
        channel_id: '52',
        user_id: '12',
        session_id: 's12',
        self_mute: false,
        self_video: false,
        self_stream: false,
        suppress: false,
        request_to_speak_timestamp: null,
        member: { user: { id: '12' } },
      },
    });
    expect(join(guild, '12', '52', { selfMute: true }).outcome).toMatchObject({ value: { self_mute: true } });
    expect(join(guild, '12', null).outcome).toMatchObject({ value: null });
    expect(guild.voiceStates.size).toBe(0);
    expect(join(guild, '12', null).types).toEqual([]);
  });

  it('repeats the voice server to the user only when it is requested again', () => {
    const guild = arrange();
    join(guild, '12', '52');
    const { types, dispatches } = join(guild, '12', '52');
    expect(types).toEqual(['voiceStateRepeated']);
    expect(believed(guild, dispatches)).toEqual({ s12: '52' });
  });

  it('is undone only by the session that joined, and taken over by another that joins', () => {
    const guild = arrange();
    join(guild, '12', '52');
    join(guild, '12', null, { sessionId: 'other' });
    expect(stateOf(guild, '12')?.channel_id).toBe('52');
    join(guild, '12', '52', { sessionId: 'other' });
    expect(stateOf(guild, '12')?.session_id).toBe('other');
  });

  it('requires VIEW_CHANNEL, CONNECT, a voice channel and a free place', () => {
    const guild = arrange();
    expect(join(guild, '12', '51').code).toBe(50001);
    expect(join(guild, '12', '60').code).toBe(50024);
    expect(join(guild, '12', '99').code).toBe(10003);
    deny(guild, '52', P.CONNECT);
    expect(join(guild, '12', '52').code).toBe(50013);
    join(guild, '10', '50');
    expect(join(guild, '12', '50').code).toBe(50013);
    expect(join(guild, '11', '50').code).toBeUndefined();
  });

  it('allows self-mute after the permission to connect is lost, but no join from another session', () => {
    const guild = arrange();
    join(guild, '12', '52');
    deny(guild, '52', P.CONNECT);
    expect(join(guild, '12', '52', { selfMute: true }).outcome).toMatchObject({ value: { self_mute: true } });
    expect(join(guild, '12', '52', { sessionId: 'other' }).code).toBe(50013);
  });

  it('suppresses members without SPEAK, and every member in the AFK channel', () => {
    const guild = arrange();
    deny(guild, '52', P.SPEAK);
    expect(join(guild, '12', '52').outcome).toMatchObject({ value: { suppress: true } });
    expect(join(guild, '2', '54').outcome).toMatchObject({ value: { suppress: true } });
  });

  it('keeps the mute and deafen of the member', () => {
    const guild = arrange();
    guild.members.set(uid('12'), fullMember('12', [], { mute: true, deaf: true }));
    expect(join(guild, '12', '52').outcome).toMatchObject({ value: { mute: true, deaf: true } });
  });
});

describe('video', () => {
  const on = { selfVideo: true };

  it('requires STREAM, and is refused in the AFK channel', () => {
    const guild = arrange();
    expect(join(guild, '12', '52', on).outcome).toMatchObject({ value: { self_video: true } });
    expect(join(guild, '12', '54', on).outcome).toMatchObject({ value: { self_video: false } });
    deny(guild, '52', P.STREAM);
    expect(join(guild, '12', '52', on).outcome).toMatchObject({ value: { self_video: false } });
  });

  it('limits the members of the channel, with one extra place for managers of channels', () => {
    const guild = arrange();
    join(guild, '10', '52', on);
    join(guild, '12', '52');
    expect(join(guild, '13', '52').code).toBe(50013);
    expect(join(guild, '11', '52').code).toBe(50013);
    expect(join(guild, '14', '52').code).toBeUndefined();
  });

  it('is refused when the channel has more members than video allows', () => {
    const guild = arrange();
    for (const userId of ['10', '12', '13']) join(guild, userId, '52');
    expect(join(guild, '10', '52', on).outcome).toMatchObject({ value: { self_video: false } });
    join(guild, '13', null);
    expect(join(guild, '10', '52', on).outcome).toMatchObject({ value: { self_video: true } });
  });
});

describe('moderation', () => {
  it('moves the member with their settings, also into full channels, and logs it', () => {
    const guild = arrange();
    join(guild, '10', '50');
    join(guild, '12', '52', { selfMute: true });
    const { code, facts } = moderate(guild, '12', { channelId: '50' });
    expect(code).toBeUndefined();
    expect(stateOf(guild, '12')).toMatchObject({ channel_id: '50', self_mute: true, session_id: 's12' });
    expect(facts.at(-1)).toMatchObject({ entry: { action_type: 26, options: { channel_id: '50' } } });
  });

  it('cannot move a member into a channel where the moderator may not connect', () => {
    const guild = arrange();
    join(guild, '12', '52');
    expect(moderate(guild, '12', { channelId: '51' }).code).toBe(50001);
    expect(stateOf(guild, '12')?.channel_id).toBe('52');
  });

  it('mutes and deafens, shows it to all, and keeps it for the next channel', () => {
    const guild = arrange();
    join(guild, '12', '52');
    const { dispatches, facts } = moderate(guild, '12', { mute: true, deaf: true });
    expect(voiceOf(dispatches)[0]?.d).toMatchObject({ mute: true, deaf: true, member: { mute: true } });
    expect(facts.at(-1)).toMatchObject({ entry: { action_type: 24, target_id: '12' } });
    expect(join(guild, '12', '50').outcome).toMatchObject({ value: { mute: true, deaf: true } });
  });

  it('disconnects members, and is refused for users who are not in voice', () => {
    const guild = arrange();
    join(guild, '12', '52');
    const { facts, dispatches } = moderate(guild, '12', { channelId: null });
    expect(facts.at(-1)).toMatchObject({ entry: { action_type: 27 } });
    expect(voiceOf(dispatches)[0]?.d).toMatchObject({ channel_id: null, session_id: 's12' });
    expect(stateOf(guild, '12')).toBeUndefined();
    for (const fields of [{ mute: true }, { deaf: true }, { channelId: '50' }])
      expect(moderate(guild, '12', fields).code).toBe(40032);
  });
});

describe('the end of voice', () => {
  it('follows the end of the channel, the membership or the guild, and is dispatched', () => {
    const ways: [string, object, string][] = [
      ['deleteChannel', { channelId: '52' }, '2'],
      ['leaveGuild', {}, '12'],
      ['kickMember', { userId: '12' }, '2'],
      ['banUser', { userId: '12' }, '2'],
      ['deleteGuild', { memberIds: [] }, SYSTEM],
    ];
    for (const [command, input, by] of ways) {
      const guild = arrange();
      join(guild, '12', '52');
      const { types, dispatches } = ruled(guild, command, input, by);
      expect([command, types[0]]).toEqual([command, 'voiceStateChanged']);
      expect(voiceOf(dispatches)[0]?.d).toMatchObject({ user_id: '12', channel_id: null });
      expect(guild.voiceStates.size).toBe(0);
    }
  });

  it('follows a lost call for its session and channel only, not for a session that took over', () => {
    const guild = arrange();
    join(guild, '12', '52');
    const drop = (sessionId: string, by = SYSTEM, channelId = '52') =>
      ruled(guild, 'dropVoice', { userId: '12', sessionId, channelId }, by);
    expect(drop('other').types).toEqual([]);
    expect(drop('s12', '11').code).toBe(50013);
    expect(drop('s12', SYSTEM, '51').types).toEqual([]);
    expect(drop('s12').types).toContain('voiceStateChanged');
    expect(drop('s12').types).toEqual([]);
    expect(guild.voiceStates.size).toBe(0);
  });
});

describe('a stream', () => {
  const show = (guild: GuildWithSessions, live: boolean, more: object = {}, by = SYSTEM) =>
    ruled(guild, 'showStreaming', { userId: '12', sessionId: 's12', channelId: '52', live, ...more }, by);
  const shown = (guild: GuildWithSessions) => guild.voiceStates.get(uid('12'))?.self_stream;

  it('marks the streaming member in that channel and session until the stream stops', () => {
    const guild = arrange();
    join(guild, '12', '52');
    expect(show(guild, true, {}, '11').code).toBe(50013);
    expect(show(guild, true, { sessionId: 'other' }).types).toEqual([]);
    expect(show(guild, true, { channelId: '50' }).types).toEqual([]);
    expect(shown(guild)).toBe(false);
    expect(voiceOf(show(guild, true).dispatches)[0]?.d).toMatchObject({ user_id: '12', self_stream: true });
    join(guild, '12', '52', { selfMute: true });
    expect(shown(guild)).toBe(true);
    show(guild, false);
    expect(shown(guild)).toBe(false);
  });

  it('ends with the last owner of the guild, for everybody in its channel, and is decided by the server alone', () => {
    const guild = arrange();
    for (const [userId, channelId] of [
      ['11', '51'],
      ['12', '52'],
    ] as const)
      join(guild, userId, channelId);
    show(guild, true);
    expect(ruled(guild, 'endStreams', {}, '11').code).toBe(50013);
    const { dispatches } = ruled(guild, 'endStreams', {}, SYSTEM);
    expect(dispatches).toMatchObject([
      {
        t: 'STREAM_DELETE',
        d: { stream_key: 'guild:1:52:12', reason: 'stream_ended' },
        to: { kind: 'users', userIds: ['12'] },
      },
      { t: 'VOICE_STATE_UPDATE', d: { user_id: '12', channel_id: '52', self_stream: false } },
    ]);
    expect(shown(guild)).toBe(false);
    expect(ruled(guild, 'endStreams', {}, SYSTEM).types).toEqual([]);
  });

  it('ends when its owner moves or leaves', () => {
    for (const [channelId, live] of [
      ['50', false],
      [null, undefined],
    ] as const) {
      const guild = arrange();
      join(guild, '12', '52');
      show(guild, true);
      const { dispatches } = join(guild, '12', channelId);
      expect(voiceOf(dispatches)[0]?.d).toMatchObject({ channel_id: channelId, self_stream: false });
      expect(shown(guild)).toBe(live);
    }
  });
});

describe('the AFK channel', () => {
  const idle = (guild: GuildWithSessions, channelId: string, by = SYSTEM) =>
    ruled(guild, 'moveToAfk', { userId: '12', channelId }, by);

  it('receives members who were idle in the channel, and not those who moved meanwhile', () => {
    const guild = arrange();
    join(guild, '12', '52', { selfVideo: true });
    expect(idle(guild, '50').types).toEqual([]);
    expect(idle(guild, '52', '12').code).toBe(50013);
    idle(guild, '52');
    expect(stateOf(guild, '12')).toMatchObject({ channel_id: '54', suppress: true, self_video: false });
    expect(idle(guild, '54').types).toEqual([]);
  });

  it('receives no member when the guild has no AFK channel', () => {
    const guild = arrange();
    guild.info = { ...guild.info, afk_channel_id: null };
    join(guild, '12', '52');
    expect(idle(guild, '52').types).toEqual([]);
  });
});

describe('looking up', () => {
  const look = (guild: GuildWithSessions, userId: string, by: string) =>
    ruled(guild, 'getVoiceState', { userId }, by);

  it('shows a state with its current member to callers who may connect to the channel', () => {
    const guild = arrange();
    join(guild, '12', '52');
    guild.members.set(uid('12'), fullMember('12', [], { nick: 'new' }));
    expect(look(guild, '12', '13').outcome).toMatchObject({
      value: { channel_id: '52', member: { nick: 'new' } },
    });
    deny(guild, '52', P.CONNECT);
    expect(look(guild, '12', '13').code).toBe(50013);
    expect(look(guild, '12', '12').code).toBeUndefined();
  });

  it('does not reveal hidden channels, nor users who are not in voice', () => {
    const guild = arrange();
    join(guild, '10', '51');
    expect(look(guild, '10', '12').code).toBe(10065);
    expect(look(guild, '12', '12').code).toBe(10065);
  });
});

describe('voice state dispatches', () => {
  it('show each member the states in visible channels, after any moves', () => {
    const step = fc.constantFrom<(string | null)[]>('51', '52', '53', null);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (way) => {
        const guild = arrange();
        const seen: Record<string, unknown> = { s10: null, s11: null, s12: null };
        for (const channelId of way) {
          const { dispatches } = join(guild, '13', channelId as string | null);
          Object.assign(seen, believed(guild, dispatches));
          const visible = channelId === '51' ? null : channelId;
          expect(seen).toEqual({ s10: channelId, s11: visible, s12: visible });
        }
      }),
    );
  });

  it('always reach the user of the state, also without the intent or sight of the channel', () => {
    const guild = arrange([
      new RecordingSession('s12', '12', ['GUILDS']),
      new RecordingSession('s11', '11', ['GUILDS']),
      new RecordingSession('s10', '10', ['GUILD_VOICE_STATES']),
    ]);
    expect(believed(guild, join(guild, '12', '52').dispatches)).toEqual({ s10: '52', s12: '52' });
    const moved = ruled(guild, 'updateMember', { userId: '12', channelId: '51' }, '2');
    expect(believed(guild, moved.dispatches)).toEqual({ s10: '51', s12: '51' });
  });

  it('contains for later members each state in visible channels, without fields of the guild', () => {
    const guild = arrange();
    join(guild, '10', '51');
    join(guild, '13', '52');
    const { voice_states: states } = guildCreatePayload(guild, uid('12'), 50, 0, NOW_MS);
    expect(states).toMatchObject([{ user_id: '13', channel_id: '52', session_id: 's13' }]);
    expect(Object.keys(states[0]!)).not.toContain('guild_id');
    expect(Object.keys(states[0]!)).not.toContain('member');
  });
});
