/** Goal: invites open the door for as long and as often as they say, and show each caller only what is theirs. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { InviteObject } from '../../../engine/guild/invites.objects.ts';
import { invites } from '../../../engine/guild/invites.ts';
import { members } from '../../../engine/guild/members.ts';
import type { RoleId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  type GuildWithSessions,
  overwrite,
  RecordingSession,
  role,
  user,
} from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(members, invites, audit);
const server = caller('0', { system: true });
const uid = (text: string) => text as UserId;
const UNKNOWN_INVITE = 10_006;

/** Users: 2 owner, 10 role giver (role 100 at 5), 11 manager of channel 50, 12 plain; 77 and 79 may join, 78 is a bot. */
function arrange(features: string[] = []): GuildWithSessions {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CREATE_INSTANT_INVITE,
    roles: [role('100', P.MANAGE_ROLES, 5), role('101', 0n, 2), { ...role('102', 0n, 1), managed: false }],
    members: [fullMember('10', ['100']), fullMember('11'), fullMember('12')],
    channels: [
      channel('50', [overwrite('11', 1, { allow: P.MANAGE_CHANNELS })]),
      channel('51', [], { type: 4 }),
    ],
  });
  guild.info = {
    ...guild.info,
    max_members: 100,
    features,
    system_channel_id: null,
    system_channel_flags: 0,
  };
  for (const id of ['77', '78', '79']) guild.users.set(uid(id), user(id, id === '78'));
  return guild;
}

const WANTED = {
  channelId: '50',
  code: 'abcdefgh',
  maxAgeSec: 3600,
  maxUses: 0,
  temporary: false,
  roleIds: [],
  reuse: null,
  inviteCount: 0,
  expired: [],
};
const create = (guild: Guild, fields: object = {}, by = caller('12')) =>
  run<InviteObject>(guild, 'createInvite', { ...WANTED, ...fields }, by);
const accept = (guild: Guild, userId: string, env = envAt(), code = 'abcdefgh') =>
  run<{ added: boolean }>(guild, 'acceptInvite', { code, userId }, server, env);
const later = (ms: number) => envAt(NOW_MS + ms);

describe('an invite for a list of users', () => {
  it('admits only the users on the list, one or several, and is unknown to all others', () => {
    const guild = arrange();
    create(guild, { code: 'one', targetUserIds: ['77'] });
    create(guild, { code: 'two', targetUserIds: ['77', '79'] });
    create(guild, { code: 'none', targetUserIds: [] });
    const codes = (userId: string) =>
      ['one', 'two', 'none'].map((code) => accept(guild, userId, envAt(), code).code);
    expect(codes('79')).toEqual([UNKNOWN_INVITE, undefined, UNKNOWN_INVITE]);
    expect(codes('77')).toEqual([undefined, undefined, UNKNOWN_INVITE]);
  });
});

describe('an invite with roles', () => {
  it('adds its roles to members too, and counts a use only if a member lacked a role', () => {
    const guild = arrange();
    create(guild, { roleIds: ['102'], maxUses: 2 }, caller('2'));
    expect(accept(guild, '12')).toMatchObject({
      types: ['memberUpdated', 'inviteUsed'],
      outcome: { value: { added: false, member: { roles: ['102'] } } },
    });
    expect(accept(guild, '12').types).toEqual([]);
    expect(accept(guild, '11').types).toEqual(['memberUpdated', 'inviteUsed', 'inviteDeleted']);
    expect(accept(guild, '10').code).toBe(UNKNOWN_INVITE);
  });
});

describe('creating an invite', () => {
  it('deletes expired invites only', () => {
    const guild = arrange();
    create(guild, { code: 'over', maxAgeSec: 1 });
    create(guild, { code: 'serves' });
    const expired = ['over', 'serves', 'unknown'];
    const { types, dispatches } = run(
      guild,
      'createInvite',
      { ...WANTED, code: 'new', expired },
      caller('12'),
      later(1_000),
    );
    expect(types).toEqual(['inviteDeleted', 'inviteCreated', 'auditLogged']);
    expect(dispatches[0]).toMatchObject({ t: 'INVITE_DELETE', d: { code: 'over' } });
    expect(guild.invites.get('over')).toBeNull();
    expect(guild.invites.get('serves')).not.toBeNull();
  });

  it('returns the invite, dispatches it to managers of the channel, and logs it', () => {
    const guild = arrange();
    const { outcome, types, facts, dispatches } = create(guild);
    expect(outcome).toMatchObject({
      value: {
        type: 0,
        code: 'abcdefgh',
        inviter: { id: '12' },
        guild: { id: '1' },
        channel: { id: '50', type: 0 },
        max_age: 3600,
        uses: 0,
        created_at: '2026-03-01T12:00:00.000000+00:00',
        expires_at: '2026-03-01T13:00:00.000000+00:00',
      },
    });
    expect(types).toEqual(['inviteCreated', 'auditLogged']);
    expect(facts[1]).toMatchObject({ entry: { action_type: 40, target_id: null } });
    expect(dispatches[0]).toMatchObject({
      t: 'INVITE_CREATE',
      d: { code: 'abcdefgh', guild_id: '1', channel_id: '50', uses: 0, inviter: { id: '12' } },
      to: { kind: 'channel', channelId: '50' },
    });
  });

  it('never expires with a max_age of 0', () => {
    expect(create(arrange(), { maxAgeSec: 0 }).outcome).toMatchObject({ value: { expires_at: null } });
  });

  it('returns the equal invite again unless a unique one is requested', () => {
    const guild = arrange();
    create(guild);
    const again = (fields: object, by = caller('12')) =>
      create(guild, { code: 'newnewne', reuse: 'abcdefgh', ...fields }, by).outcome;
    expect(again({})).toMatchObject({ value: { code: 'abcdefgh' }, facts: [] });
    for (const other of [{ maxUses: 1 }, { maxAgeSec: 60 }, { temporary: true }]) {
      const fresh = arrange();
      create(fresh);
      const input = { code: 'newnewne', reuse: 'abcdefgh', ...other };
      expect(create(fresh, input).outcome).toMatchObject({ value: { code: 'newnewne' } });
    }
    expect(again({}, caller('11'))).toMatchObject({ value: { code: 'newnewne' } });
  });

  it('is refused for categories, for a code in use, and beyond the bound', () => {
    const guild = arrange();
    expect(create(guild, { channelId: '51' }).code).toBe(50024);
    expect(create(guild, { channelId: '59' }).code).toBe(10003);
    expect(create(guild, { inviteCount: 1000 }).code).toBe(30016);
    create(guild);
    expect(create(guild).code).toBe(50020);
  });

  it('grants only roles that the inviter may assign', () => {
    expect(create(arrange(), { roleIds: ['101'] }).code).toBe(50013);
    expect(create(arrange(), { roleIds: ['101'] }, caller('10')).outcome).toMatchObject({
      value: { roles: [{ id: '101', position: 2 }] },
    });
    expect(create(arrange(), { roleIds: ['100'] }, caller('10')).code).toBe(50013);
    expect(create(arrange(), { roleIds: ['nonsense'] }, caller('10')).code).toBe(10011);
  });
});

describe('accepting an invite', () => {
  it('makes a member with the promised roles that still exist', () => {
    const guild = arrange();
    create(guild, { roleIds: ['101', '102'] }, caller('10'));
    guild.roles.delete('101' as RoleId);
    expect(accept(guild, '77')).toMatchObject({
      outcome: { value: { added: true, member: { roles: ['102'] } } },
      types: ['memberAdded', 'inviteUsed'],
    });
    expect(guild.invites.get('abcdefgh')?.uses).toBe(1);
  });

  it.each(['77', '12'])('grants user %s no role that became managed since', (userId) => {
    const guild = arrange();
    create(guild, { roleIds: ['101', '102'] }, caller('10'));
    guild.roles.set('101' as RoleId, { ...role('101', 0n, 2), managed: true });
    expect(accept(guild, userId)).toMatchObject({ outcome: { value: { member: { roles: ['102'] } } } });
  });

  it('changes nothing for a user who is a member already', () => {
    const guild = arrange();
    create(guild);
    expect(accept(guild, '12')).toMatchObject({ outcome: { value: { added: false } }, types: [] });
  });

  it('is refused to bots, banned users and unknown users, and while invites are paused', () => {
    const guild = arrange();
    create(guild);
    guild.bans.set(uid('79'), { user: user('79'), reason: null });
    expect(accept(guild, '78').code).toBe(20001);
    expect(accept(guild, '79').code).toBe(40007);
    expect(accept(guild, '80').code).toBe(10013);
    expect(accept(guild, '77', envAt(), 'another1').code).toBe(10006);
    const paused = arrange(['INVITES_DISABLED']);
    create(paused);
    expect(accept(paused, '77').code).toBe(10006);
  });

  it('ends with the invite: its age', () => {
    const guild = arrange();
    create(guild);
    expect(accept(guild, '77', later(3_600_000 - 1)).code).toBeUndefined();
    expect(accept(guild, '79', later(3_600_000)).code).toBe(10006);
  });

  it('ends with the invite: its uses', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), (maxUses) => {
        const guild = arrange();
        create(guild, { maxUses });
        const codes = Array.from({ length: 7 }, (_, at) => {
          guild.users.set(uid(`50${at}`), user(`50${at}`));
          return accept(guild, `50${at}`).code;
        });
        expect(codes.filter((code) => code === undefined)).toHaveLength(maxUses);
        expect(codes.slice(maxUses).every((code) => code === 10006)).toBe(true);
      }),
    );
  });
});

describe('looking at invites', () => {
  it('returns guild, channel and counts to any caller', () => {
    const guild = arrange();
    create(guild);
    guild.presences.set(uid('12'), { user: { id: '12' }, guild_id: '1' });
    const resolve = (withCounts: boolean) =>
      run<InviteObject>(guild, 'resolveInvite', { code: 'abcdefgh', readerId: null, withCounts }, server)
        .outcome;
    expect(resolve(true)).toMatchObject({
      value: { approximate_member_count: 4, approximate_presence_count: 1, guild_id: '1' },
    });
    const plain = resolve(false);
    expect(plain.ok && Object.keys(plain.value)).not.toContain('approximate_member_count');
    expect(plain.ok && Object.keys(plain.value)).not.toContain('uses');
    expect(
      run(
        guild,
        'resolveInvite',
        { code: 'abcdefgh', readerId: null, withCounts: false },
        server,
        later(3_600_000),
      ).code,
    ).toBe(10006);
  });

  it('returns metadata to members who may revoke the invite', () => {
    const guild = arrange();
    create(guild);
    const shown = [guild.invites.get('abcdefgh')];
    const keys = (by: string) => {
      const { outcome } = run<InviteObject[]>(guild, 'presentInvites', { invites: shown }, caller(by));
      return outcome.ok ? Object.keys(outcome.value[0] ?? {}) : [];
    };
    expect(keys('12')).not.toContain('uses');
    expect(keys('11')).toContain('uses');
    expect(keys('2')).toContain('uses');
  });

  it('lists the invites of the guild only with MANAGE_GUILD or VIEW_AUDIT_LOG', () => {
    const guild = arrange();
    const ask = (by: string) => run(guild, 'authorizeGuildInvites', {}, caller(by)).code;
    expect(ask('12')).toBe(50013);
    guild.roles.set('101' as RoleId, role('101', P.VIEW_AUDIT_LOG, 2));
    guild.members.set(uid('12'), fullMember('12', ['101']));
    expect(ask('12')).toBeUndefined();
    expect(ask('2')).toBeUndefined();
  });
});

describe('revoking an invite', () => {
  it('requires permission to manage the channel or the guild', () => {
    const guild = arrange();
    create(guild);
    const revoke = (by: string) =>
      run(guild, 'revokeInvite', { code: 'abcdefgh' }, caller(by, { reason: 'old' }));
    expect(revoke('12').code).toBe(50013);
    const { types, facts, dispatches } = revoke('11');
    expect(types).toEqual(['inviteDeleted', 'auditLogged']);
    expect(facts[1]).toMatchObject({
      entry: {
        action_type: 42,
        reason: 'old',
        changes: expect.arrayContaining([{ key: 'max_age', old_value: 3600 }]),
      },
    });
    expect(dispatches[0]).toMatchObject({
      t: 'INVITE_DELETE',
      d: { code: 'abcdefgh', channel_id: '50', guild_id: '1' },
    });
    expect(revoke('11').code).toBe(10006);
  });
});

describe('a member who left and joins again', () => {
  const UNTIL_MS = NOW_MS + 3_600_000;
  const until = new Date(UNTIL_MS).toISOString();
  const leave = (guild: Guild) => run(guild, 'leaveGuild', {}, caller('77'));
  const timedOut = () => {
    const guild = arrange();
    create(guild, { maxAgeSec: 0 });
    accept(guild, '77');
    const member = guild.members.get(uid('77'))!;
    guild.members.set(uid('77'), { ...member, communication_disabled_until: until });
    leave(guild);
    return guild;
  };
  const now = (guild: Guild) => guild.members.get(uid('77'));

  it('keeps the time-out however often the user rejoins, and has the flag DID_REJOIN', () => {
    const guild = timedOut();
    for (const ms of [0, 1, UNTIL_MS - NOW_MS - 1]) {
      accept(guild, '77', later(ms));
      expect(now(guild)).toMatchObject({ communication_disabled_until: until, flags: 1 });
      leave(guild);
    }
  });

  it('keeps the time-out also when a bot adds the user', () => {
    const guild = timedOut();
    run(guild, 'addMember', { userId: '77' }, server);
    expect(now(guild)).toMatchObject({ communication_disabled_until: until, flags: 1 });
  });

  it('loses a time-out that ended during the absence or that a moderator lifted', () => {
    const guild = timedOut();
    accept(guild, '77', later(UNTIL_MS - NOW_MS));
    expect(now(guild)).toMatchObject({ communication_disabled_until: null, flags: 1 });
    leave(guild);
    accept(guild, '77');
    expect(now(guild)).toMatchObject({ communication_disabled_until: null, flags: 1 });
  });

  it('differs from a member who joins for the first time, who has neither time-out nor flag', () => {
    const guild = timedOut();
    accept(guild, '79');
    expect(guild.members.get(uid('79'))).toMatchObject({ communication_disabled_until: null, flags: 0 });
  });
});

describe('a temporary invite', () => {
  const endOf = (guild: Guild, joinedAt: string) =>
    run<null>(guild, 'endTemporaryMembership', { userId: '77', joinedAt }, server);
  const joined = (features: object = { temporary: true }) => {
    const guild = arrange();
    create(guild, features);
    const { facts } = accept(guild, '77');
    return { guild, facts, joinedAt: guild.members.get(uid('77'))?.joined_at ?? '' };
  };

  it('creates a membership that ends on request, unlike an ordinary invite', () => {
    const { guild, facts, joinedAt } = joined();
    expect(facts[0]).toMatchObject({ type: 'memberAdded', temporary: true });
    expect(endOf(guild, joinedAt).types).toEqual(['memberRemoved']);
    expect(guild.members.get(uid('77'))).toBeNull();
    expect(joined({}).facts[0]).not.toHaveProperty('temporary');
  });

  it.each([
    ['has a role', ['102'] as RoleId[], 0],
    ['has left and joined again', [], 1],
  ])('keeps a member who %s', (_, roles, laterMs) => {
    const { guild, joinedAt } = joined();
    const member = guild.members.get(uid('77'));
    if (!member) throw new Error('not joined');
    guild.members.set(uid('77'), { ...member, roles });
    const named = laterMs === 0 ? joinedAt : new Date(Date.parse(joinedAt) - laterMs).toISOString();
    expect(endOf(guild, named).types).toEqual([]);
  });

  it('keeps a member with a session only where that is asked for', () => {
    const { guild, joinedAt } = joined();
    guild.audiences.add(new RecordingSession('s1', '77'));
    const end = (ifOffline: boolean) =>
      run<null>(guild, 'endTemporaryMembership', { userId: '77', joinedAt, ifOffline }, server).types;
    expect(end(true)).toEqual([]);
    guild.audiences.delete('s1');
    expect(end(true)).toEqual(['memberRemoved']);
    const { guild: other, joinedAt: otherwise } = joined();
    other.audiences.add(new RecordingSession('s1', '77'));
    expect(endOf(other, otherwise).types).toEqual(['memberRemoved']);
  });

  it('sends no command to a guild without the user', () => {
    expect(endOf(arrange(), 'never').types).toEqual([]);
  });
});

describe('the target of an invite', () => {
  const application = { id: '500', name: 'Chess' };
  const activity = { urlMappings: [{ prefix: '/', target: 'chess.example' }] };

  it('is an activity of an application that has one, shown in the invite and its dispatch, and never reused', () => {
    const guild = arrange();
    const made = create(guild, { leadsTo: { application, activity } });
    expect(made.outcome).toMatchObject({ value: { target_type: 2, target_application: application } });
    expect(made.dispatches[0]).toMatchObject({ d: { target_type: 2, target_application: application } });
    const other = create(guild, { code: 'ijklmnop', reuse: 'abcdefgh' });
    expect(other.outcome).toMatchObject({ value: { code: 'ijklmnop' } });
    expect(create(guild, { code: 'q', leadsTo: { application } }).code).toBe(50035);
  });

  it('is a stream that is live in the channel', () => {
    const guild = arrange();
    const stream = (more: object = {}) => create(guild, { leadsTo: { userId: '11' }, ...more });
    expect(stream().code).toBe(50035);
    const state = { user_id: '11', channel_id: '50', session_id: 's', self_stream: true };
    guild.voiceStates.set(uid('11'), state as never);
    expect(stream().outcome).toMatchObject({ value: { target_type: 1, target_user: { id: '11' } } });
    guild.voiceStates.set(uid('11'), { ...state, channel_id: '52' } as never);
    expect(stream({ code: 'ijklmnop' }).code).toBe(50035);
  });
});
