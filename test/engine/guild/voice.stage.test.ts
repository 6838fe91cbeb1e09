/** Goal: on a stage the audience is silent, and only who may brings up, invites, or raises a hand. */
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, role } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const NOW = new Date(NOW_MS).toISOString().slice(0, 23);
const iso = (ms: number) => new Date(ms).toISOString();

/** Stages 53 and 55, voice channel 52, and a stage 56 that only role 101 sees. User 10 moderates stages, 11 mutes. */
function arrange(): Guild {
  const hidden = [
    overwrite('1', 0, { deny: P.VIEW_CHANNEL }),
    overwrite('101', 0, { allow: P.VIEW_CHANNEL }),
  ];
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK | P.STREAM | P.REQUEST_TO_SPEAK,
    roles: [
      role('100', P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS, 2),
      role('101', P.MUTE_MEMBERS, 1),
    ],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12'),
      fullMember('13', [], { user: { id: '13', username: 'bot', bot: true } as never }),
    ],
    channels: [
      channel('52', [], { type: 2 }),
      channel('53', [], { type: 13 }),
      channel('55', [], { type: 13 }),
      channel('56', hidden, { type: 13 }),
    ],
  });
  const limits = { max_video_channel_users: 25, max_stage_video_channel_users: 25 };
  guild.info = { ...guild.info, ...limits, features: [], afk_channel_id: null };
  return guild;
}

const join = (guild: Guild, userId: string, channelId = '53', fields: object = {}) => {
  const self = { selfMute: false, selfDeaf: false, selfVideo: false };
  return ruled(guild, 'setVoiceState', { channelId, sessionId: `s${userId}`, ...self, ...fields }, userId);
};
const change = (guild: Guild, userId: string, fields: object, by = userId) =>
  ruled(guild, 'updateVoiceState', { userId, ...fields }, by);
const stateOf = (guild: Guild, userId: string) => guild.voiceStates.get(userId as UserId);

describe('a member who joins a stage', () => {
  it('is suppressed, except moderators', () => {
    const guild = arrange();
    for (const [userId, suppress] of [
      ['12', true],
      ['11', true],
      ['10', false],
      ['2', false],
    ] as const)
      expect([userId, join(guild, userId).outcome]).toMatchObject([userId, { value: { suppress } }]);
  });

  it('is suppressed again in each stage, and keeps suppress when muting themselves', () => {
    const guild = arrange();
    join(guild, '12');
    change(guild, '12', { requestToSpeak: NOW });
    change(guild, '12', { suppress: false }, '11');
    join(guild, '12', '53', { selfMute: true });
    expect(stateOf(guild, '12')).toMatchObject({ suppress: false, self_mute: true });
    join(guild, '12', '55');
    expect(stateOf(guild, '12')).toMatchObject({ suppress: true, request_to_speak_timestamp: null });
    join(guild, '12', '52');
    expect(stateOf(guild, '12')).toMatchObject({ suppress: false });
  });

  it('may show video only as a speaker', () => {
    const guild = arrange();
    expect(join(guild, '12', '53', { selfVideo: true }).outcome).toMatchObject({
      value: { self_video: false },
    });
    expect(join(guild, '10', '53', { selfVideo: true }).outcome).toMatchObject({
      value: { self_video: true },
    });
    change(guild, '10', { suppress: true });
    expect(stateOf(guild, '10')).toMatchObject({ self_video: false, suppress: true });
  });
});

describe('the own suppress flag', () => {
  it('is set freely and cleared with MUTE_MEMBERS', () => {
    const guild = arrange();
    join(guild, '12');
    expect(change(guild, '12', { suppress: false }).code).toBe(50013);
    expect(change(guild, '12', { suppress: true }).types).toEqual([]);
    join(guild, '11');
    expect(change(guild, '11', { suppress: false }).code).toBeUndefined();
    expect(stateOf(guild, '11')).toMatchObject({ suppress: false, request_to_speak_timestamp: null });
    change(guild, '11', { suppress: true });
    expect(stateOf(guild, '11')?.suppress).toBe(true);
  });

  it('comes with a request to speak that requires REQUEST_TO_SPEAK, and is withdrawn freely', () => {
    const guild = arrange();
    join(guild, '12');
    change(guild, '12', { requestToSpeak: iso(NOW_MS - 60_000) });
    expect(stateOf(guild, '12')?.request_to_speak_timestamp).toContain(NOW);
    change(guild, '12', { requestToSpeak: iso(NOW_MS + 60_000) });
    expect(Date.parse(stateOf(guild, '12')?.request_to_speak_timestamp ?? '')).toBe(NOW_MS + 60_000);
    const stage = guild.channels.get('53' as ChannelId)!;
    const overwrites = [overwrite('1', 0, { deny: P.REQUEST_TO_SPEAK })];
    guild.channels.set(stage.id, { ...stage, permission_overwrites: overwrites });
    expect(change(guild, '12', { requestToSpeak: NOW }).code).toBe(50013);
    change(guild, '12', { requestToSpeak: null });
    expect(stateOf(guild, '12')?.request_to_speak_timestamp).toBeNull();
  });
});

describe('the suppress flag of another member', () => {
  it('is changed with MUTE_MEMBERS; users are invited by it, bots are not', () => {
    const guild = arrange();
    join(guild, '12');
    join(guild, '13');
    expect(change(guild, '12', { suppress: false }, '13').code).toBe(50013);
    change(guild, '12', { suppress: false }, '11');
    change(guild, '13', { suppress: false }, '11');
    expect(stateOf(guild, '12')).toMatchObject({ suppress: false });
    expect(stateOf(guild, '12')?.request_to_speak_timestamp).toContain(NOW);
    expect(stateOf(guild, '13')).toMatchObject({ suppress: false, request_to_speak_timestamp: null });
    change(guild, '12', { suppress: true }, '11');
    expect(stateOf(guild, '12')).toMatchObject({ suppress: true, request_to_speak_timestamp: null });
  });

  it('is changed only on a stage that the user is in and the caller sees', () => {
    const guild = arrange();
    expect(change(guild, '12', { suppress: true }, '10').code).toBe(10065);
    join(guild, '12', '52');
    expect(change(guild, '12', { suppress: true }, '10').code).toBe(50024);
    join(guild, '12', '53');
    expect(change(guild, '12', { suppress: true, channelId: '55' }, '10').code).toBe(10065);
    expect(change(guild, '12', { suppress: true, channelId: '99' }, '10').code).toBe(10003);
    expect(change(guild, '12', { suppress: false, channelId: '53' }, '10').code).toBeUndefined();
    join(guild, '11', '56');
    expect(change(guild, '11', { suppress: true }, '12').code).toBe(10065);
  });
});
