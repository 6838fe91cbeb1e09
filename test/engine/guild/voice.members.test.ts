/** Goal: a voice member always has its user's current voice permissions, and exactly its changes are dispatched. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VoiceMember } from '../../../engine/call/voicemember.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import {
  nextTimeoutEndMs,
  type VoiceChange,
  voiceChanges,
  voiceMemberOf,
} from '../../../engine/guild/voice.members.ts';
import { unsettled } from '../../../engine/guild/voice.states.ts';
import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const uid = (text: string) => text as UserId;
const SYSTEM = '0';
const iso = (ms: number) => new Date(ms).toISOString();

/** Voice channels 50 (two seats), 51, 54 (AFK), stage 53. User 10 moderates everything, 11 speaks with priority. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.STREAM,
    roles: [
      role(
        '100',
        P.MOVE_MEMBERS |
          P.MUTE_MEMBERS |
          P.DEAFEN_MEMBERS |
          P.MANAGE_CHANNELS |
          P.KICK_MEMBERS |
          P.MODERATE_MEMBERS |
          P.MANAGE_ROLES |
          P.MANAGE_GUILD,
        3,
      ),
      role('101', P.PRIORITY_SPEAKER, 1),
    ],
    members: [fullMember('10', ['100']), fullMember('11', ['101']), fullMember('12'), fullMember('13')],
    channels: [
      channel('50', [], { type: 2, user_limit: 2 }),
      channel('51', [], { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('54', [], { type: 2 }),
    ],
  });
  const everyone = guild.roles.get('1' as RoleId)!;
  const colors = { primary_color: 0, secondary_color: null, tertiary_color: null };
  guild.roles.set('1' as RoleId, { ...everyone, colors });
  const limits = { max_video_channel_users: 25, max_stage_video_channel_users: 25 };
  guild.info = {
    ...guild.info,
    ...limits,
    features: [],
    afk_channel_id: '54' as ChannelId,
    afk_timeout: 300,
  };
  return guild;
}

const join = (guild: Guild, userId: string, channelId: string | null, fields: object = {}) => {
  const self = { selfMute: false, selfDeaf: false, selfVideo: false };
  return ruled(guild, 'setVoiceState', { channelId, sessionId: `s${userId}`, ...self, ...fields }, userId);
};
const voiceMember = (guild: Guild, userId: string, nowMs = NOW_MS) =>
  voiceMemberOf(guild, uid(userId), nowMs);

describe('a voice member', () => {
  it('contains the call, the session and its permissions', () => {
    const guild = arrange();
    expect(voiceMember(guild, '11')).toBeNull();
    join(guild, '11', '51');
    expect(voiceMember(guild, '11')).toEqual({
      callId: '51',
      groupId: '51',
      serverId: '1',
      guildId: '1',
      userId: '11',
      sessionId: 's11',
      silenced: false,
      deafened: false,
      mayStream: true,
      mayPrioritize: true,
      afkAfterMs: 300_000,
    });
  });

  it('is muted and deafened by the user and by moderators', () => {
    const guild = arrange();
    for (const [fields, silenced, deafened] of [
      [{ selfMute: true }, true, false],
      [{ selfDeaf: true }, false, true],
      [{}, false, false],
    ] as const) {
      join(guild, '12', '51', fields);
      expect(voiceMember(guild, '12')).toMatchObject({ silenced, deafened });
    }
    ruled(guild, 'updateMember', { userId: '12', mute: true }, '10');
    expect(voiceMember(guild, '12')).toMatchObject({ silenced: true, deafened: false });
    ruled(guild, 'updateMember', { userId: '12', mute: false, deaf: true }, '10');
    expect(voiceMember(guild, '12')).toMatchObject({ silenced: false, deafened: true });
  });

  it('is updated with permissions at once, and the voice state after the commit', () => {
    const guild = arrange();
    join(guild, '12', '51');
    const draft = { permissions: String(P.VIEW_CHANNEL | P.CONNECT) };
    ruled(guild, 'updateRole', { roleId: '1', draft }, '2');
    expect(voiceMember(guild, '12')).toMatchObject({ silenced: true, mayStream: false });
    expect(unsettled(guild, NOW_MS)).toEqual(['12']);
    const { dispatches } = ruled(guild, 'settleVoice', {}, SYSTEM);
    expect(dispatches).toMatchObject([{ t: 'VOICE_STATE_UPDATE', d: { user_id: '12', suppress: true } }]);
    expect(ruled(guild, 'settleVoice', {}, SYSTEM).types).toEqual([]);
    expect(voiceMember(guild, '12')).toMatchObject({ silenced: true });
  });

  it('is muted during a time-out, and has its end', () => {
    const guild = arrange();
    join(guild, '12', '51');
    expect(nextTimeoutEndMs(guild, NOW_MS)).toBeNull();
    const endMs = NOW_MS + 60_000;
    ruled(guild, 'updateMember', { userId: '12', communicationDisabledUntil: iso(endMs) }, '10');
    expect(nextTimeoutEndMs(guild, NOW_MS)).toBe(endMs);
    expect(voiceMember(guild, '12')).toMatchObject({ silenced: true });
    ruled(guild, 'settleVoice', {}, SYSTEM);
    expect(guild.voiceStates.get(uid('12'))?.suppress).toBe(true);
    ruled(guild, 'settleVoice', {}, SYSTEM, endMs);
    expect(voiceMember(guild, '12', endMs)).toMatchObject({ silenced: false });
    expect(nextTimeoutEndMs(guild, endMs)).toBeNull();
  });

  it('never idles in the AFK channel, on a stage, or where there is no AFK channel', () => {
    const guild = arrange();
    for (const channelId of ['54', '53']) {
      join(guild, '12', channelId);
      expect(voiceMember(guild, '12')).toMatchObject({ afkAfterMs: null, silenced: true });
    }
    join(guild, '12', '51');
    guild.info = { ...guild.info, afk_channel_id: null };
    expect(voiceMember(guild, '12')).toMatchObject({ afkAfterMs: null, silenced: false });
  });
});

describe('the notifications about voice members', () => {
  const told = (guild: Guild, voiceMembers: Map<UserId, VoiceMember>, ran: ReturnType<typeof ruled>) =>
    voiceChanges(guild, voiceMembers, ran.facts, NOW_MS);

  it('contain changed and requested members, and nothing for unrelated facts', () => {
    const guild = arrange();
    const voiceMembers = new Map<UserId, VoiceMember>();
    expect(told(guild, voiceMembers, join(guild, '12', '51'))).toMatchObject([
      { type: 'voiceJoined', voiceMember: { callId: '51' } },
    ]);
    expect(told(guild, voiceMembers, join(guild, '12', '51'))).toMatchObject([
      { type: 'voiceJoined', voiceMember: { callId: '51' } },
    ]);
    expect(told(guild, voiceMembers, ruled(guild, 'updateMember', { userId: '12', nick: 'n' }, '2'))).toEqual(
      [],
    );
    const draft = { name: 'renamed' };
    expect(told(guild, voiceMembers, ruled(guild, 'updateChannel', { channelId: '51', draft }, '2'))).toEqual(
      [],
    );
    expect(told(guild, voiceMembers, join(guild, '12', null))).toEqual([{ type: 'voiceLeft', userId: '12' }]);
    expect(voiceMembers.size).toBe(0);
  });

  it('contain one end for a deleted channel, and one for each channel in use of a deleted guild', () => {
    const guild = arrange();
    const voiceMembers = new Map<UserId, VoiceMember>();
    for (const [userId, channelId] of [
      ['11', '51'],
      ['12', '51'],
      ['13', '53'],
      ['10', '50'],
    ] as const)
      told(guild, voiceMembers, join(guild, userId, channelId));
    expect(told(guild, voiceMembers, ruled(guild, 'deleteChannel', { channelId: '51' }, '2'))).toEqual([
      { type: 'ended', channelId: '51' },
    ]);
    expect([...voiceMembers.keys()].sort()).toEqual(['10', '13']);
    const over = told(guild, voiceMembers, ruled(guild, 'deleteGuild', { memberIds: [] }, SYSTEM));
    expect(over).toEqual(['53', '50'].map((channelId) => ({ type: 'ended', channelId })));
    expect(voiceMembers.size).toBe(0);
  });
});

describe('through any sequence of commands', () => {
  const userId = fc.constantFrom('2', '10', '11', '12', '13');
  const place = fc.constantFrom<(string | null)[]>('50', '51', '53', '54', null);
  const command = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .record({
          channelId: place,
          selfMute: fc.boolean(),
          selfDeaf: fc.boolean(),
          selfVideo: fc.boolean(),
          by: userId,
          session: fc.constantFrom('a', 'b'),
        })
        .map(({ by, session, ...self }) => ({
          by,
          type: 'setVoiceState',
          input: { ...self, sessionId: `${session}${by}` },
        })),
    },
    fc
      .record({
        userId,
        fields: fc.oneof(
          fc.record({ mute: fc.boolean() }),
          fc.record({ deaf: fc.boolean() }),
          fc.record({ channelId: place }),
          fc.record({ communicationDisabledUntil: fc.constantFrom(null, iso(NOW_MS + 60_000)) }),
          fc.record({ roles: fc.constantFrom([], ['101']) }),
        ),
      })
      .map(({ userId: target, fields }) => ({
        by: '10',
        type: 'updateMember',
        input: { userId: target, ...fields },
      })),
    fc
      .record({ userId, suppress: fc.boolean() })
      .map((input) => ({ by: '10', type: 'updateVoiceState', input })),
    userId.map((target) => ({ by: '10', type: 'kickMember', input: { userId: target } })),
    fc.record({ userId, channelId: place }).map(({ userId: target, channelId }) => ({
      by: SYSTEM,
      type: 'dropVoice',
      input: { userId: target, sessionId: `a${target}`, channelId },
    })),
    fc.record({ userId, channelId: place }).map((input) => ({ by: SYSTEM, type: 'moveToAfk', input })),
    fc
      .constantFrom('51', '53', '54')
      .map((channelId) => ({ by: '2', type: 'deleteChannel', input: { channelId } })),
    fc
      .constantFrom(P.SPEAK, P.STREAM, P.CONNECT, P.VIEW_CHANNEL, 0n)
      .map((lost) => (P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.STREAM) & ~lost)
      .map((held) => ({
        by: '2',
        type: 'updateRole',
        input: { roleId: '1', draft: { permissions: String(held) } },
      })),
  );

  /** Applies the changes to a listener's list of members. */
  function listen(known: Map<string, VoiceMember>, changes: readonly VoiceChange[]): void {
    for (const change of changes) {
      if (change.type === 'voiceJoined') known.set(change.voiceMember.userId, change.voiceMember);
      else if (change.type === 'voiceLeft') {
        expect(known.has(change.userId)).toBe(true);
        known.delete(change.userId);
      } else for (const [id, { callId }] of known) if (callId === change.channelId) known.delete(id);
    }
  }

  it('keep every user in at most one channel, keep the limits, and report every voice member to the listener', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
        const guild = arrange();
        const voiceMembers = new Map<UserId, VoiceMember>();
        const known = new Map<string, VoiceMember>();
        for (const { by, type, input } of commands) {
          const before = [...guild.voiceStates.values()].filter(
            ({ channel_id }) => channel_id === '50',
          ).length;
          const ran = ruled(guild, type, input, by);
          listen(known, voiceChanges(guild, voiceMembers, ran.facts, NOW_MS));
          const now = [...guild.voiceStates.values()];
          const inLimited = now.filter(({ channel_id }) => channel_id === '50').length;
          const mover = by === '10' || by === '2';
          if (inLimited > Math.max(2, before)) expect([type, mover]).toEqual([type, true]);
          for (const state of now) {
            expect(guild.channels.has(state.channel_id as ChannelId)).toBe(true);
            expect(guild.members.get(uid(state.user_id))).toBeTruthy();
          }
          const actual = now.map(({ user_id }) => [user_id, voiceMember(guild, user_id)]);
          expect([...known].sort()).toEqual(actual.sort());
          if (unsettled(guild, NOW_MS).length > 0) {
            listen(
              known,
              voiceChanges(guild, voiceMembers, ruled(guild, 'settleVoice', {}, SYSTEM).facts, NOW_MS),
            );
          }
          expect(unsettled(guild, NOW_MS)).toEqual([]);
          for (const state of guild.voiceStates.values()) {
            expect(voiceMember(guild, state.user_id)).toMatchObject({
              callId: state.channel_id,
              sessionId: state.session_id,
              silenced: state.mute || state.self_mute || state.suppress,
              deafened: state.deaf || state.self_deaf,
            });
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
