/** Goal: members join, change and leave by the platform's rules, and no member moderates a higher one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { bans } from '../../../engine/guild/bans.ts';
import type { Guild, GuildInfo, Member } from '../../../engine/guild/guild.ts';
import { members } from '../../../engine/guild/members.ts';
import { voice } from '../../../engine/guild/voice.ts';
import { outranks } from '../../../engine/permissions/permissions.ts';
import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, RecordingSession, role, user } from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(members, bans, voice, audit);
const MODERATION =
  P.KICK_MEMBERS |
  P.BAN_MEMBERS |
  P.MODERATE_MEMBERS |
  P.MANAGE_NICKNAMES |
  P.MANAGE_ROLES |
  P.MUTE_MEMBERS |
  P.DEAFEN_MEMBERS |
  P.MOVE_MEMBERS |
  P.VIEW_CHANNEL |
  P.CONNECT;

const uid = (text: string) => text as UserId;
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(NOW_MS + days * DAY_MS).toISOString();

/** Users: 2 owner, 10 moderator (role 100 at 10), 11 member (role 101 at 5), 12 plain, 13 administrator (role 103). */
function arrange(info: Partial<GuildInfo> = {}): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES | P.CHANGE_NICKNAME,
    roles: [
      role('100', MODERATION, 10),
      role('101', 0n, 5),
      role('102', 0n, 3),
      role('103', P.ADMINISTRATOR, 2),
      { ...role('104', 0n, 1), managed: true },
    ],
    members: [
      fullMember('10', ['100']),
      fullMember('11', ['101']),
      fullMember('12'),
      fullMember('13', ['103']),
    ],
    channels: [channel('50', [], { type: 2 }), channel('51', [], { type: 2 }), channel('60')],
  });
  guild.info = {
    ...guild.info,
    max_members: 100,
    system_channel_id: null,
    system_channel_flags: 0,
    features: [],
    ...info,
  };
  return guild;
}

const change = (guild: Guild, userId: string, fields: object, by = caller('10')) =>
  run<Member>(guild, 'updateMember', { userId, ...fields }, by);

describe('a member lookup', () => {
  it('distinguishes members, users who are no members, and unknown users', () => {
    const guild = arrange();
    guild.members.set(uid('77'), null);
    guild.users.set(uid('77'), user('77'));
    guild.members.set(uid('78'), null);
    guild.users.set(uid('78'), null);
    expect(run(guild, 'getMember', { userId: '12' }, caller('11')).outcome.ok).toBe(true);
    expect(run(guild, 'getMember', { userId: '77' }, caller('11')).code).toBe(10007);
    expect(run(guild, 'getMember', { userId: '78' }, caller('11')).code).toBe(10013);
  });

  it('returns the own roles and permissions to a member, and refuses a non-member', () => {
    const { outcome } = run<{ userId: string }>(arrange(), 'getOwnAccess', {}, caller('11'));
    expect(outcome).toMatchObject({ ok: true, value: { userId: '11', permissions: expect.any(String) } });
    expect(run(arrange(), 'getOwnAccess', {}, caller('77')).outcome.ok).toBe(false);
  });

  it('lists all members only for applications with the GUILD_MEMBERS intent', () => {
    const ask = (flags: number, wholeList = true) =>
      run(
        arrange(),
        'authorizeMemberRead',
        { wholeList },
        caller('12', { bot: true, applicationFlags: flags }),
      ).code;
    expect(ask(0)).toBe(50001);
    expect(ask(0, false)).toBeUndefined();
    expect(ask(1 << 14)).toBeUndefined();
    expect(ask(1 << 15)).toBeUndefined();
  });
});

describe('joining', () => {
  it('adds a member with every field, and posts a welcome message in the system channel', () => {
    const guild = arrange({ system_channel_id: '60' as ChannelId });
    guild.users.set(uid('77'), user('77'));
    const { types, dispatches, facts } = run(guild, 'addMember', { userId: '77' }, caller('10'));
    expect(types).toEqual(['memberAdded', 'messageCreated']);
    expect(guild.memberCount).toBe(6);
    expect(guild.members.get(uid('77'))).toMatchObject({
      nick: null,
      roles: [],
      joined_at: '2026-03-01T12:00:00.000000+00:00',
      communication_disabled_until: null,
      pending: false,
    });
    expect(dispatches[0]).toMatchObject({ t: 'GUILD_MEMBER_ADD', d: { guild_id: '1', user: { id: '77' } } });
    expect(facts[1]).toMatchObject({ message: { type: 7, channel_id: '60', author: { id: '77' } } });
  });

  it('posts no message when joins are suppressed or the system channel does not exist', () => {
    for (const info of [
      { system_channel_id: '60' as ChannelId, system_channel_flags: 1 },
      { system_channel_id: '61' as ChannelId },
    ]) {
      const guild = arrange(info);
      guild.users.set(uid('77'), user('77'));
      expect(run(guild, 'addMember', { userId: '77' }, caller('10')).types).toEqual(['memberAdded']);
    }
  });

  it('refuses banned and unknown users and one too many; an existing member is unchanged', () => {
    const guild = arrange({ max_members: 5 });
    guild.users.set(uid('77'), user('77'));
    expect(run(guild, 'addMember', { userId: '77' }, caller('10')).code).toBe(30019);
    guild.bans.set(uid('77'), { user: user('77'), reason: null });
    expect(run(guild, 'addMember', { userId: '77' }, caller('10')).code).toBe(40007);
    expect(run(guild, 'addMember', { userId: '79' }, caller('10')).code).toBe(10013);
    const again = run(guild, 'addMember', { userId: '12', nick: 'x' }, caller('10'));
    expect(again.outcome).toMatchObject({ ok: true, value: { added: false }, facts: [] });
  });

  it('sets roles, nick and mute only for callers who may set them', () => {
    const join = (input: object, by: string) => {
      const guild = arrange();
      guild.users.set(uid('77'), user('77'));
      return run(guild, 'addMember', { userId: '77', ...input }, caller(by)).code;
    };
    for (const input of [{ nick: 'n' }, { roles: ['102'] }, { mute: true }, { deaf: true }]) {
      expect(join(input, '12')).toBe(50013);
      expect(join(input, '10')).toBeUndefined();
    }
    expect(join({ roles: ['100'] }, '10')).toBe(50013);
    expect(join({ roles: ['104'] }, '10')).toBe(50028);
    expect(join({ roles: ['999'] }, '10')).toBe(10011);
  });

  it('logs the arrival of a bot', () => {
    const guild = arrange();
    guild.users.set(uid('77'), user('77', true));
    const { facts } = run(guild, 'addMember', { userId: '77' }, caller('10'));
    expect(facts.at(-1)).toMatchObject({ entry: { action_type: 28, user_id: '10', target_id: '77' } });
  });
});

describe('leaving', () => {
  it('removes presence and voice state, and sends GUILD_DELETE to the former member', () => {
    const guild = arrange();
    guild.presences.set(uid('12'), { user: { id: '12' }, guild_id: '1' });
    guild.voiceStates.set(uid('12'), { user_id: '12', channel_id: '50', session_id: 's' } as never);
    const { types, dispatches } = run(guild, 'leaveGuild', {}, caller('12'));
    expect(types).toEqual(['voiceStateChanged', 'memberRemoved']);
    expect(guild.memberCount).toBe(4);
    expect([guild.presences.size, guild.voiceStates.size]).toEqual([0, 0]);
    expect(guild.members.get(uid('12'))).toBeNull();
    expect(dispatches.map(({ t, to }) => [t, to.kind])).toEqual([
      ['VOICE_STATE_UPDATE', 'channel'],
      ['GUILD_DELETE', 'users'],
      ['GUILD_MEMBER_REMOVE', 'guild'],
    ]);
    expect(dispatches.find(({ t }) => t === 'GUILD_DELETE')?.d).toEqual({ id: '1' });
  });

  it('is rejected for the owner', () => {
    expect(run(arrange(), 'leaveGuild', {}, caller('2')).code).toBe(50055);
  });

  it('is logged with its reason for a kick', () => {
    const { types, facts } = run(arrange(), 'kickMember', { userId: '11' }, caller('10', { reason: 'spam' }));
    expect(types).toEqual(['memberRemoved', 'auditLogged']);
    expect(facts[1]).toMatchObject({ entry: { action_type: 20, target_id: '11', reason: 'spam' } });
  });
});

describe('changing a member', () => {
  it('requires a separate permission for each field', () => {
    const guild = arrange();
    guild.voiceStates.set(uid('11'), { user_id: '11', channel_id: '50', session_id: 's' } as never);
    for (const fields of [
      { nick: 'n' },
      { roles: ['102'] },
      { mute: true },
      { deaf: true },
      { channelId: '51' },
      { communicationDisabledUntil: inDays(1) },
      { flags: 4 },
    ]) {
      expect([fields, change(guild, '11', fields, caller('12')).code]).toEqual([fields, 50013]);
    }
  });

  it('sets and resets a nickname', () => {
    const guild = arrange();
    expect(change(guild, '11', { nick: '  Anna ' }).outcome).toMatchObject({ value: { nick: 'Anna' } });
    const reset = change(guild, '11', { nick: '' });
    expect(reset.outcome).toMatchObject({ value: { nick: null } });
    expect(reset.facts[1]).toMatchObject({
      entry: { action_type: 24, changes: [{ key: 'nick', old_value: 'Anna' }] },
    });
    expect(reset.dispatches[0]).toMatchObject({ t: 'GUILD_MEMBER_UPDATE', d: { nick: null, guild_id: '1' } });
  });

  it('replaces the roles, and logs added and removed ones', () => {
    const guild = arrange();
    const { facts, outcome } = change(guild, '11', { roles: ['102', '102'] });
    expect(outcome).toMatchObject({ value: { roles: ['102'] } });
    expect(facts[1]).toMatchObject({
      entry: {
        action_type: 25,
        changes: [
          { key: '$add', new_value: [{ id: '102', name: 'role 102' }] },
          { key: '$remove', new_value: [{ id: '101', name: 'role 101' }] },
        ],
      },
    });
    expect(change(guild, '12', { roles: ['100'] }).code).toBe(50013);
    expect(change(guild, '12', { roles: ['104'] }).code).toBe(50028);
    expect(change(guild, '12', { roles: ['1'] }).code).toBe(50028);
    expect(change(guild, '12', { roles: ['999'] }).code).toBe(10011);
  });

  it('times out for at most 28 days, never the owner or an administrator', () => {
    const guild = arrange();
    const until = (userId: string, days: number) =>
      change(guild, userId, { communicationDisabledUntil: inDays(days) });
    expect(until('11', 28).outcome).toMatchObject({
      value: { communication_disabled_until: '2026-03-29T12:00:00.000000+00:00' },
    });
    expect(until('11', 28.01).code).toBe(50035);
    expect(until('2', 1).code).toBe(50013);
    expect(until('13', 1).code).toBe(50013);
    expect(until('11', -1).outcome).toMatchObject({ value: { communication_disabled_until: null } });
  });

  it('changes only the editable flag', () => {
    const guild = arrange();
    guild.members.set(uid('11'), fullMember('11', ['101'], { flags: 1 }));
    expect(change(guild, '11', { flags: 5 }).outcome).toMatchObject({ value: { flags: 5 } });
    expect(change(guild, '11', { flags: 0 }).code).toBe(50035);
    expect(change(guild, '11', { flags: null }).outcome).toMatchObject({ value: { flags: 1 } });
  });

  it('dispatches nothing when nothing changes', () => {
    expect(
      change(arrange(), '11', { nick: null, roles: ['101'], communicationDisabledUntil: null }).facts,
    ).toEqual([]);
  });

  it('refuses users who are no members', () => {
    expect(change(arrange(), '99', { nick: 'n' }).code).toBe(10007);
  });
});

describe('voice moderation', () => {
  const inVoiceState = { user_id: '11', channel_id: '50', session_id: 's', mute: false, deaf: false };

  it('requires that the member is in voice', () => {
    for (const fields of [{ mute: true }, { deaf: true }, { channelId: '51' }, { channelId: null }]) {
      expect(change(arrange(), '11', fields).code).toBe(40032);
    }
  });

  it('mutes the member and the voice state together', () => {
    const guild = arrange();
    guild.voiceStates.set(uid('11'), inVoiceState as never);
    const { types } = change(guild, '11', { mute: true });
    expect(types).toEqual(['memberUpdated', 'voiceStateChanged', 'auditLogged']);
    expect(guild.members.get(uid('11'))?.mute).toBe(true);
    expect(guild.voiceStates.get(uid('11'))).toMatchObject({ mute: true, member: { mute: true } });
  });

  it('moves and disconnects members, and counts them in one log entry', () => {
    const guild = arrange();
    guild.voiceStates.set(uid('11'), inVoiceState as never);
    expect(change(guild, '11', { channelId: '51' }).facts.at(-1)).toMatchObject({
      entry: { action_type: 26, options: { channel_id: '51', count: '1' } },
    });
    expect(guild.voiceStates.get(uid('11'))?.channel_id).toBe('51');
    expect(change(guild, '11', { channelId: '60' }).code).toBe(50024);
    expect(change(guild, '11', { channelId: '99' }).code).toBe(10003);
    expect(change(guild, '11', { channelId: null }).facts.at(-1)).toMatchObject({
      entry: { action_type: 27, options: { count: '1' } },
    });
    expect(guild.voiceStates.has(uid('11'))).toBe(false);
  });
});

describe('a role of a member', () => {
  it('is added and removed once, only below the highest role of the caller', () => {
    const guild = arrange();
    const give = (roleId: string, userId = '12') =>
      run(guild, 'addMemberRole', { userId, roleId }, caller('10'));
    expect(give('102').types).toEqual(['memberUpdated', 'auditLogged']);
    expect(give('102').types).toEqual([]);
    expect(give('100').code).toBe(50013);
    expect(give('102', '99').code).toBe(10007);
    const taken = run(guild, 'removeMemberRole', { userId: '12', roleId: '102' }, caller('10'));
    expect(taken.types).toEqual(['memberUpdated', 'auditLogged']);
    expect(guild.members.get(uid('12'))?.roles).toEqual([]);
  });

  it('shows and hides channels when it is added and removed', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      roles: [role('102', 0n, 3)],
      members: [fullMember('12')],
      channels: [
        channel('60', [
          overwrite('1', 0, { deny: P.VIEW_CHANNEL }),
          overwrite('102', 0, { allow: P.VIEW_CHANNEL }),
        ]),
      ],
      sessions: [new RecordingSession('s', '12')],
    });
    const seen = (command: string) =>
      run(guild, command, { userId: '12', roleId: '102' }, caller('2')).dispatches.map(({ t }) => t);
    expect(seen('addMemberRole')).toContain('CHANNEL_CREATE');
    expect(seen('removeMemberRole')).toContain('CHANNEL_DELETE');
  });
});

describe('the own member', () => {
  it('may set a nickname with CHANGE_NICKNAME', () => {
    const guild = arrange();
    const renamed = run<Member>(guild, 'updateMyMember', { nick: 'Me' }, caller('12'));
    expect(renamed.outcome).toMatchObject({ value: { nick: 'Me' } });
    expect(renamed.types).toEqual(['memberUpdated', 'auditLogged']);
    guild.roles.set('1' as RoleId, role('1', P.VIEW_CHANNEL));
    expect(run(guild, 'updateMyMember', { nick: 'You' }, caller('12')).code).toBe(50013);
    expect(run(guild, 'updateMyMember', { avatar: 'abc' }, caller('12')).types).toEqual(['memberUpdated']);
  });

  it('is updated with a new profile, without invalidating the cached audiences', () => {
    const guild = arrange();
    const version = guild.visibilityVersion;
    const profile = { ...user('12'), username: 'renamed' };
    expect(run(guild, 'memberUserChanged', { user: profile }, caller('12')).types).toEqual(['memberUpdated']);
    expect(guild.members.get(uid('12'))?.user.username).toBe('renamed');
    expect(guild.visibilityVersion).toBe(version);
    expect(run(guild, 'memberUserChanged', { user: profile }, caller('12')).types).toEqual([]);
    expect(run(guild, 'memberUserChanged', { user: user('99') }, caller('12')).types).toEqual([]);
  });
});

describe('the server itself', () => {
  it('is exempt from rank and permission checks', () => {
    const by = caller('0', { system: true });
    expect(run(arrange(), 'kickMember', { userId: '10' }, by).code).toBeUndefined();
    expect(change(arrange(), '10', { roles: ['100', '101'] }, by).code).toBeUndefined();
  });
});

describe('hierarchy', () => {
  const position = fc.integer({ min: 1, max: 4 });

  it('prevents kicks, bans, time-outs, renames and flags of equal or higher members', () => {
    const action = fc.constantFrom<[string, object]>(
      ['kickMember', {}],
      ['banUser', {}],
      ['updateMember', { nick: 'low' }],
      ['updateMember', { communicationDisabledUntil: inDays(1) }],
      ['updateMember', { flags: 4 }],
    );
    fc.assert(
      fc.property(
        position,
        position,
        fc.boolean(),
        fc.boolean(),
        action,
        (actor, target, admin, owner, act) => {
          const bits = MODERATION | P.MANAGE_GUILD | (admin ? P.ADMINISTRATOR : 0n);
          const targetId = owner ? '2' : '21';
          const guild = buildGuild({
            roles: [role('200', bits, actor), role('201', 0n, target)],
            members: [fullMember('20', ['200']), fullMember('21', ['201'])],
          });
          const [command, input] = act;
          const { code } = run(guild, command, { userId: targetId, ...input }, caller('20'));
          // The older one of two roles in one position ranks higher; 200 is the older one.
          const above = !owner && actor >= target;
          expect(above).toBe(outranks(guild, uid('20'), uid(targetId)));
          expect(code).toBe(above ? undefined : 50013);
        },
      ),
    );
  });

  it('prevents adding or removing roles at or above the own highest', () => {
    fc.assert(
      fc.property(
        position,
        fc.uniqueArray(position, { maxLength: 4 }),
        fc.uniqueArray(position, { maxLength: 4 }),
        (actor, had, wanted) => {
          const ladder = [1, 2, 3, 4].map((at) => role(`30${at}`, 0n, at));
          const ids = (positions: readonly number[]) => positions.map((at) => `30${at}`);
          const guild = buildGuild({
            roles: [...ladder, role('400', P.MANAGE_ROLES, actor)],
            members: [fullMember('20', ['400']), fullMember('21', ids(had))],
          });
          const { outcome } = change(guild, '21', { roles: ids(wanted) }, caller('20'));
          const moved = [...had, ...wanted].filter((at) => had.includes(at) !== wanted.includes(at));
          // 400 is the youngest role, so a role in its own position ranks above it.
          expect(outcome.ok).toBe(moved.every((at) => at < actor));
          const now = guild.members.get(uid('21'))?.roles ?? [];
          expect([...now].sort()).toEqual(ids(outcome.ok ? wanted : had).sort());
        },
      ),
    );
  });

  it('prevents moderation by a moderator under a time-out', () => {
    const guild = arrange();
    const gone = fullMember('10', ['100'], { communication_disabled_until: inDays(1) });
    guild.members.set(uid('10'), gone);
    expect(change(guild, '11', { nick: 'n' }).code).toBe(50013);
    const later = envAt(NOW_MS + 2 * DAY_MS);
    expect(run(guild, 'updateMember', { userId: '11', nick: 'n' }, caller('10'), later).code).toBeUndefined();
  });
});
