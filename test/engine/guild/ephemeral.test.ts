/** Goal: typing, presence and voice states reach exactly those who may see them, and change only when they change. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recipients } from '../../../engine/fanout/audience.ts';
import { ephemeral } from '../../../engine/guild/ephemeral.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { Dispatch } from '../../../engine/guild/topic.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, RecordingSession, role } from '../../support/guild.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(ephemeral);
const uid = (text: string) => text as UserId;
const HIDDEN = [overwrite('1', 0, { deny: P.VIEW_CHANNEL }), overwrite('100', 0, { allow: P.VIEW_CHANNEL })];

/** Voice channels 50 (one seat), 51 (seen by role 100 only), 52, stage 53; text 60. Users 10 and 13 hold role 100. */
function arrange(): Guild {
  return buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.SEND_MESSAGES,
    roles: [role('100', 0n, 1), role('101', P.MOVE_MEMBERS, 1)],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12'),
      fullMember('13', ['100']),
    ],
    channels: [
      channel('50', [], { type: 2, user_limit: 1 }),
      channel('51', HIDDEN, { type: 2 }),
      channel('52', [], { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('60'),
      channel('61', [], { type: 4 }),
    ],
    sessions: ['10', '11', '12'].map((userId) => new RecordingSession(`s${userId}`, userId)),
  });
}

const voice = (guild: Guild, userId: string, channelId: string | null, fields: object = {}) => {
  const wish = { channelId, sessionId: `s${userId}`, selfMute: false, selfDeaf: false, ...fields };
  return run(guild, 'setVoiceState', wish, caller(userId));
};

/** Session to the channel it believes the user of these dispatches to be in. */
function believed(guild: Guild, dispatches: readonly Dispatch[]): Record<string, unknown> {
  const heard: Record<string, unknown> = {};
  for (const dispatch of dispatches)
    for (const { d, to } of recipients(guild, dispatch, NOW_MS))
      for (const { sessionId } of to) {
        expect(heard).not.toHaveProperty(sessionId);
        heard[sessionId] = (d as { channel_id: unknown }).channel_id;
      }
  return heard;
}

describe('typing', () => {
  it('names the member and the second', () => {
    const { dispatches } = run(arrange(), 'startTyping', { channelId: '60' }, caller('12'));
    expect(dispatches).toMatchObject([
      {
        t: 'TYPING_START',
        d: {
          channel_id: '60',
          guild_id: '1',
          user_id: '12',
          timestamp: NOW_MS / 1000,
          member: { user: { id: '12' } },
        },
        to: { kind: 'channel', channelId: '60' },
      },
    ]);
  });

  it('happens only where messages can be written', () => {
    expect(run(arrange(), 'startTyping', { channelId: '61' }, caller('12')).code).toBe(50008);
    expect(run(arrange(), 'startTyping', { channelId: '99' }, caller('12')).code).toBe(10003);
  });
});

describe('presence', () => {
  const online = { status: 'online', activities: [], client_status: { web: 'online' } };
  const set = (guild: Guild, presence: object | null, userId = '12') =>
    run(guild, 'setPresence', { userId, presence }, caller('0', { system: true }));

  it('is told once, kept, and ends as offline', () => {
    const guild = arrange();
    expect(set(guild, online).dispatches).toMatchObject([
      {
        t: 'PRESENCE_UPDATE',
        d: { user: { id: '12' }, guild_id: '1', status: 'online', client_status: { web: 'online' } },
      },
    ]);
    expect(guild.presences.get(uid('12'))?.status).toBe('online');
    expect(set(guild, { ...online }).dispatches).toEqual([]);
    expect(set(guild, null).dispatches).toMatchObject([
      { d: { user: { id: '12' }, status: 'offline', activities: [], client_status: {} } },
    ]);
    expect(guild.presences.has(uid('12'))).toBe(false);
    expect(set(guild, null).dispatches).toEqual([]);
  });

  it('is not kept of users who are no members', () => {
    const guild = arrange();
    expect(set(guild, online, '99').types).toEqual([]);
    expect(guild.presences.size).toBe(0);
  });
});

describe('voice', () => {
  it('takes a seat, mutes oneself and leaves', () => {
    const guild = arrange();
    expect(voice(guild, '12', '52').outcome).toMatchObject({
      value: {
        channel_id: '52',
        session_id: 's12',
        self_mute: false,
        suppress: false,
        member: { user: { id: '12' } },
      },
    });
    expect(voice(guild, '12', '52', { selfMute: true }).outcome).toMatchObject({
      value: { self_mute: true },
    });
    expect(voice(guild, '12', '52', { selfMute: true }).types).toEqual([]);
    expect(voice(guild, '12', null).outcome).toMatchObject({ value: null });
    expect(guild.voiceStates.size).toBe(0);
    expect(voice(guild, '12', null).types).toEqual([]);
  });

  it('is left only by the session that joined, and taken over by another that joins', () => {
    const guild = arrange();
    voice(guild, '12', '52');
    voice(guild, '12', null, { sessionId: 'other' });
    expect(guild.voiceStates.get(uid('12'))?.channel_id).toBe('52');
    voice(guild, '12', '52', { sessionId: 'other' });
    expect(guild.voiceStates.get(uid('12'))?.session_id).toBe('other');
  });

  it('asks for sight, CONNECT, a voice channel and a free seat', () => {
    const guild = arrange();
    expect(voice(guild, '12', '51').code).toBe(50001);
    expect(voice(guild, '12', '60').code).toBe(50024);
    expect(voice(guild, '12', '99').code).toBe(10003);
    guild.channels.set(
      '52' as ChannelId,
      channel('52', [overwrite('1', 0, { deny: P.CONNECT })], { type: 2 }),
    );
    expect(voice(guild, '12', '52').code).toBe(50013);
    voice(guild, '10', '50');
    expect(voice(guild, '12', '50').code).toBe(50013);
    expect(voice(guild, '11', '50').code).toBeUndefined();
  });

  it('begins in the audience of a stage', () => {
    expect(voice(arrange(), '12', '53').outcome).toMatchObject({ value: { suppress: true } });
    expect(voice(arrange(), '2', '53').outcome).toMatchObject({ value: { suppress: false } });
  });

  it('looks to everyone as much as they may see, whatever the way through the channels', () => {
    const step = fc.constantFrom<(string | null)[]>('51', '52', '53', null);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (way) => {
        const guild = arrange();
        const seen: Record<string, unknown> = { s10: null, s11: null, s12: null };
        for (const channelId of way) {
          const { dispatches } = voice(guild, '13', channelId as string | null);
          Object.assign(seen, believed(guild, dispatches));
          const visible = channelId === '51' ? null : channelId;
          expect(seen).toEqual({ s10: channelId, s11: visible, s12: visible });
        }
      }),
    );
  });

  it('tells a user who was put where they cannot see', () => {
    const guild = arrange();
    voice(guild, '12', '52');
    const before = guild.voiceStates.get(uid('12'));
    const fact = { userId: uid('12'), voiceState: { ...before, channel_id: '51' } as never };
    ephemeral.apply.voiceStateChanged(guild, fact);
    expect(believed(guild, ephemeral.dispatches.voiceStateChanged(guild, fact))).toEqual({
      s10: '51',
      s11: null,
      s12: '51',
    });
  });
});
