/** Goal: roles keep one clear order, and no member gives or takes a role above their own. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import type { Guild, GuildInfo } from '../../../engine/guild/guild.ts';
import { type RoleDraft, roles } from '../../../engine/guild/roles.ts';
import { compareRoles, guildPermissions, outranksRole } from '../../../engine/permissions/permissions.ts';
import type { RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { APIRole } from '../../../protocol/objects.ts';
import { ALL_PERMISSIONS, P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  GUILD_ID,
  type GuildWithSessions,
  overwrite,
  RecordingSession,
  role,
} from '../../support/guild.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(roles, audit);
const EVERYONE = GUILD_ID as string as RoleId;

const fullRole = (
  roleId: string,
  permissions: bigint,
  position: number,
  more: Partial<APIRole> = {},
): APIRole => ({
  ...role(roleId, permissions, position),
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  mentionable: false,
  managed: false,
  icon: null,
  unicode_emoji: null,
  ...more,
});

/** Users: 2 owner, 10 role manager (role 103 of 105), 11 plain. Roles 101 to 105 at positions 1 to 5, 104 managed. */
function arrange(info: Partial<GuildInfo> = {}): GuildWithSessions {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [
      fullRole('101', 0n, 1),
      fullRole('102', P.KICK_MEMBERS, 2),
      fullRole('103', P.MANAGE_ROLES | P.MANAGE_MESSAGES, 3),
      fullRole('104', 0n, 4, { managed: true }),
      fullRole('105', P.ADMINISTRATOR, 5),
    ],
    members: [fullMember('10', ['103']), fullMember('11', ['102'])],
  });
  guild.roles.set(EVERYONE, fullRole(GUILD_ID, P.VIEW_CHANNEL | P.SEND_MESSAGES, 0));
  guild.info = { ...guild.info, features: [], ...info };
  return guild;
}

const manager = caller('10', { reason: 'spring cleaning' });
const owner = caller('2');
const order = (guild: Guild): string[] => [...guild.roles.values()].sort(compareRoles).map(({ id }) => id);
const positions = (guild: Guild): number[] =>
  [...guild.roles.values()].map(({ position }) => position).sort((a, b) => a - b);

describe('creating a role', () => {
  it('inserts the role just above @everyone, moves the others up and logs it', () => {
    const guild = arrange();
    const { outcome, dispatches } = run<APIRole>(
      guild,
      'createRole',
      { draft: { name: 'new', hoist: true } },
      manager,
    );
    expect(outcome).toMatchObject({
      ok: true,
      value: { name: 'new', hoist: true, position: 1, permissions: String(P.VIEW_CHANNEL | P.SEND_MESSAGES) },
    });
    const created = outcome.ok ? outcome.value.id : '';
    expect(order(guild)).toEqual([GUILD_ID, created, '101', '102', '103', '104', '105']);
    expect(positions(guild)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(dispatches.map(({ t }) => t)).toEqual([
      'GUILD_ROLE_CREATE',
      ...Array.from({ length: 5 }, () => 'GUILD_ROLE_UPDATE'),
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
    ]);
    expect(dispatches.at(-1)?.d).toMatchObject({
      action_type: 30,
      target_id: created,
      user_id: '10',
      reason: 'spring cleaning',
      changes: expect.arrayContaining([{ key: 'name', new_value: 'new' }]),
    });
  });

  it.each<[string, RoleDraft, Partial<GuildInfo>, number | undefined]>([
    ['bits the caller holds', { permissions: String(P.MANAGE_MESSAGES) }, {}, undefined],
    ['a permission that the caller lacks', { permissions: String(P.KICK_MEMBERS) }, {}, 50013],
    ['ADMINISTRATOR by one who is none', { permissions: String(P.ADMINISTRATOR) }, {}, 50013],
    ['bits nobody has assigned yet', { permissions: String(1n << 60n) }, {}, undefined],
    ['a second colour without the feature', { colors: { secondary_color: 1 } }, {}, 50101],
    [
      'a second colour',
      { colors: { secondary_color: 1 } },
      { features: ['ENHANCED_ROLE_COLORS'] },
      undefined,
    ],
    ['an icon without the feature', { icon: 'ab' }, {}, 50101],
    ['an emoji for an icon', { unicode_emoji: '🔥' }, { features: ['ROLE_ICONS'] }, undefined],
  ])('answers %s', (_what, draft, info, code) => {
    expect(run(arrange(info), 'createRole', { draft }, manager).code).toBe(code);
  });

  it('keeps color and colors equal, and restricts a third colour to its fixed set', () => {
    const guild = arrange({ features: ['ENHANCED_ROLE_COLORS'] });
    const made = (draft: RoleDraft) => run<APIRole>(guild, 'createRole', { draft }, owner).outcome;
    expect(made({ color: 7 })).toMatchObject({ value: { color: 7, colors: { primary_color: 7 } } });
    expect(made({ colors: { primary_color: 9 } })).toMatchObject({ value: { color: 9 } });
    expect(made({ colors: { primary_color: 1, tertiary_color: 2 } })).toMatchObject({
      value: {
        color: 11127295,
        colors: { primary_color: 11127295, secondary_color: 16759788, tertiary_color: 16761760 },
      },
    });
  });

  it('is refused at the limit', () => {
    const guild = arrange();
    for (let i = guild.roles.size; i < LIMITS.roles_per_guild_max; i++) {
      guild.roles.set(String(1000 + i) as RoleId, fullRole(String(1000 + i), 0n, i));
    }
    expect(run(guild, 'createRole', { draft: {} }, owner).code).toBe(30005);
  });
});

describe('changing and deleting a role', () => {
  it.each<[string, string, object, number | undefined]>([
    ['an unknown role', 'updateRole', { roleId: '9', draft: {} }, 10011],
    ['a role below', 'updateRole', { roleId: '102', draft: { name: 'x' } }, undefined],
    ['the own highest role', 'updateRole', { roleId: '103', draft: { name: 'x' } }, 50013],
    ['a role above', 'updateRole', { roleId: '105', draft: { name: 'x' } }, 50013],
    ['bits lacked', 'updateRole', { roleId: '101', draft: { permissions: String(P.BAN_MEMBERS) } }, 50013],
    [
      'bits lacked but there',
      'updateRole',
      { roleId: '102', draft: { permissions: String(P.KICK_MEMBERS) } },
      undefined,
    ],
    ['an unknown role away', 'deleteRole', { roleId: '9' }, 10011],
    ['a role below away', 'deleteRole', { roleId: '102' }, undefined],
    ['the own highest role away', 'deleteRole', { roleId: '103' }, 50013],
    ['a managed role away', 'deleteRole', { roleId: '104' }, 50028],
    ['@everyone away', 'deleteRole', { roleId: GUILD_ID }, 50028],
  ])('answers %s', (_what, command, input, code) => {
    expect(run(arrange(), command, input, manager).code).toBe(code);
  });

  it('changes only the permitted fields of @everyone', () => {
    const guild = arrange();
    const draft = { name: 'x', hoist: true, permissions: String(P.VIEW_CHANNEL) };
    run(guild, 'updateRole', { roleId: GUILD_ID, draft }, owner);
    expect(guild.roles.get(EVERYONE)).toMatchObject({
      permissions: String(P.VIEW_CHANNEL),
      name: `role ${GUILD_ID}`,
    });
    expect(guild.roles.get(EVERYONE)?.hoist).toBe(false);
  });

  it('dispatches nothing when nothing changes', () => {
    expect(run(arrange(), 'updateRole', { roleId: '102', draft: { name: 'role 102' } }, owner).facts).toEqual(
      [],
    );
  });

  it('lets an icon and an emoji replace each other', () => {
    const guild = arrange({ features: ['ROLE_ICONS'] });
    run(guild, 'updateRole', { roleId: '101', draft: { icon: 'aa' } }, owner);
    const changed = run(guild, 'updateRole', { roleId: '101', draft: { unicode_emoji: '🔥' } }, owner);
    expect(guild.roles.get('101' as RoleId)).toMatchObject({ icon: null, unicode_emoji: '🔥' });
    expect(changed.dispatches.at(-1)?.d).toMatchObject({
      changes: [
        { key: 'icon_hash', old_value: 'aa' },
        { key: 'unicode_emoji', new_value: '🔥' },
      ],
    });
  });

  it('takes a deleted role from members, overwrites and the order', () => {
    const guild = arrange();
    const room = channel('60', [overwrite('102', 0, { allow: P.VIEW_CHANNEL }), overwrite('101', 0, {})]);
    guild.channels.set(room.id, room);
    run(guild, 'deleteRole', { roleId: '102' }, owner);
    expect(guild.members.get('11' as UserId)?.roles).toEqual([]);
    expect(guild.channels.get(room.id)?.permission_overwrites?.map(({ id }) => id)).toEqual(['101']);
    expect(positions(guild)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('moving roles', () => {
  const moved = (moves: readonly [string, number][], by = owner) => {
    const guild = arrange();
    const ran = run<APIRole[]>(
      guild,
      'moveRoles',
      { moves: moves.map(([id, position]) => ({ id, position })) },
      by,
    );
    return { ...ran, order: order(guild), guild };
  };

  it('inserts a role at the requested position and closes the gap', () => {
    const { order, outcome } = moved([['101', 4]]);
    expect(order).toEqual([GUILD_ID, '102', '103', '104', '101', '105']);
    expect(outcome.ok && outcome.value.map(({ id }) => id)).toEqual(order);
  });

  it('accepts the complete list of a client, with @everyone and higher roles', () => {
    const whole: [string, number][] = [
      [GUILD_ID, 0],
      ['102', 1],
      ['101', 2],
      ['103', 3],
      ['104', 4],
      ['105', 5],
    ];
    const { code, order, dispatches } = moved(whole, manager);
    expect(code).toBeUndefined();
    expect(order).toEqual([GUILD_ID, '102', '101', '103', '104', '105']);
    expect(dispatches.filter(({ t }) => t === 'GUILD_ROLE_UPDATE')).toHaveLength(2);
  });

  it.each<[string, [string, number], number]>([
    ['an unknown role', ['9', 1], 10011],
    ['@everyone off its place', [GUILD_ID, 1], 50035],
    ['a role past the own highest', ['101', 4], 50013],
    ['a role to the own highest', ['102', 3], 50013],
    ['the own highest', ['103', 1], 50013],
    ['a role above', ['105', 1], 50013],
  ])('refuses to move %s', (_what, move, code) => {
    expect(moved([move], manager).code).toBe(code);
  });

  it('always results in a permutation, with unchanged roles above the caller', () => {
    const moves = fc.array(
      fc.tuple(fc.constantFrom('101', '102', '103', '104', '105'), fc.integer({ min: -3, max: 9 })),
    );
    fc.assert(
      fc.property(moves, fc.constantFrom(owner, manager), (list, by) => {
        const before = arrange();
        const { guild } = moved(list, by);
        expect(positions(guild)).toEqual([0, 1, 2, 3, 4, 5]);
        if (by === owner) return;
        for (const each of before.roles.values()) {
          if (!outranksRole(before, '10' as UserId, each))
            expect(guild.roles.get(each.id as RoleId)).toEqual(each);
        }
      }),
    );
  });
});

describe('the visibility of channels', () => {
  it('is dispatched to exactly the members whose view a role changes', () => {
    const guild = arrange();
    const hidden = channel('60', [overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL })]);
    const staff = channel('61', [
      overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL }),
      overwrite('102', 0, { allow: P.VIEW_CHANNEL }),
    ]);
    for (const each of [hidden, staff]) guild.channels.set(each.id, each);
    for (const userId of ['2', '10', '11']) {
      guild.audiences.add(new RecordingSession(userId, userId));
    }
    const granted = run(
      guild,
      'updateRole',
      { roleId: '102', draft: { permissions: String(P.ADMINISTRATOR) } },
      owner,
    );
    expect(granted.dispatches.filter(({ t }) => t.startsWith('CHANNEL'))).toEqual([
      { t: 'CHANNEL_CREATE', d: hidden, to: { kind: 'users', userIds: ['11'] } },
    ]);
    const deleted = run(guild, 'deleteRole', { roleId: '102' }, owner);
    const lost = deleted.dispatches.filter(({ t }) => t === 'CHANNEL_DELETE');
    expect(lost.map(({ d, to }) => [(d as typeof staff).id, to])).toEqual([
      ['61', { kind: 'users', userIds: ['11'] }],
      ['60', { kind: 'users', userIds: ['11'] }],
    ]);
  });

  it('is not dispatched when a role change hides no channel', () => {
    const guild = arrange();
    guild.channels.set(channel('60').id, channel('60'));
    guild.audiences.add(new RecordingSession('s', '11'));
    const { dispatches } = run(guild, 'updateRole', { roleId: '102', draft: { permissions: '0' } }, owner);
    expect(dispatches.map(({ t }) => t)).toEqual(['GUILD_ROLE_UPDATE', 'GUILD_AUDIT_LOG_ENTRY_CREATE']);
  });
});

describe('any sequence of commands', () => {
  const bits = fc.bigInt({ min: 0n, max: ALL_PERMISSIONS }).map(String);
  const target = fc.constantFrom(GUILD_ID as string, '101', '102', '103', '104', '105');
  const command = fc.oneof(
    fc.record({ permissions: bits }).map((draft) => ['createRole', { draft }] as const),
    fc
      .tuple(target, bits)
      .map(([roleId, permissions]) => ['updateRole', { roleId, draft: { permissions } }] as const),
    target.map((roleId) => ['deleteRole', { roleId }] as const),
    fc
      .array(fc.record({ id: target, position: fc.nat(8) }), { maxLength: 6 })
      .map((moves) => ['moveRoles', { moves }] as const),
  );

  it('gives no role a permission that its editor lacks, and the editor none', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 8 }), bits, (commands, own) => {
        const guild = arrange();
        guild.roles.set('103' as RoleId, fullRole('103', BigInt(own) | P.MANAGE_ROLES, 3));
        for (const [name, input] of commands) {
          const held = guildPermissions(guild, '10' as UserId, NOW_MS);
          const before = new Map(guild.roles);
          run(guild, name, input, manager);
          for (const [roleId, after] of guild.roles) {
            const was = BigInt(before.get(roleId)?.permissions ?? 0);
            expect(BigInt(after.permissions) & ~was & ~held).toBe(0n);
          }
          expect(guildPermissions(guild, '10' as UserId, NOW_MS) & ~held).toBe(0n);
        }
      }),
    );
  });
});
