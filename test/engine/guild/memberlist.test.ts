// Goal: a member list shows the members who may see a channel, in groups and by name, whatever changes.
import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { listScope, MemberList, wireRow } from '../../../engine/guild/memberlist.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { murmur3 } from '../../../protocol/murmur3.ts';
import type { APIRole } from '../../../protocol/objects.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, id, member, overwrite, role } from '../../support/guild.ts';

const hoisted = (roleId: string, position: number, permissions = 0n): APIRole => ({
  ...role(roleId, permissions, position),
  hoist: true,
});

const presence = (userId: string, status = 'online') =>
  ({
    user: { id: userId },
    guild_id: GUILD_ID,
    status,
    activities: [],
    client_status: {},
  }) as unknown as GatewayPresenceUpdate;

function online(guild: Guild, ...userIds: string[]): void {
  for (const userId of userIds) guild.presences.set(id<UserId>(userId), presence(userId));
}

function listOf(guild: Guild, channelId = '30'): MemberList {
  const scope = listScope(guild, id<ChannelId>(channelId));
  if (!scope) throw new Error('The channel has no list.');
  return new MemberList(guild, scope, 0);
}

/** The keys of all rows. */
const keysOf = (list: MemberList) => list.slice(0, 10_000).map(({ key }) => key);

describe('a member list', () => {
  it('has a group for each hoisted role in its order, then those online, then those offline', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      roles: [hoisted('10', 1), hoisted('11', 2), role('12', 0n, 3)],
      members: [
        member('20', { roles: ['10', '11'] }),
        member('21', { roles: ['10'] }),
        member('22', { roles: ['12'] }),
        member('23', { roles: ['11'] }),
      ],
      channels: [channel('30')],
    });
    online(guild, '20', '21', '22');
    const list = listOf(guild);
    expect(keysOf(list)).toEqual(['11', '20', '10', '21', 'online', '22', 'offline', '2', '23']);
    expect(list.groups).toEqual([
      { id: '11', count: 1 },
      { id: '10', count: 1 },
      { id: 'online', count: 1 },
      { id: 'offline', count: 2 },
    ]);
    expect(list.onlineCount).toBe(3);
  });

  it('orders the members of a group by the name that clients show, without regard to case', () => {
    const named = (userId: string, nick: string | null, globalName: string | null, username: string) =>
      member(userId, { nick, user: { ...member(userId).user, global_name: globalName, username } });
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      members: [
        named('20', null, null, 'delta'),
        named('21', 'Bravo', 'zulu', 'zulu'),
        named('22', null, 'Charlie', 'alpha'),
        named('23', 'alpha', null, 'x'),
        named('24', 'alpha', null, 'a'),
      ],
      channels: [channel('30')],
    });
    online(guild, '20', '21', '22', '24', '23');
    expect(keysOf(listOf(guild)).slice(0, 6)).toEqual(['online', '23', '24', '21', '22', '20']);
  });

  it('lists nobody offline in a guild of more than 1,000 members', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      members: [member('20')],
      channels: [channel('30')],
    });
    guild.memberCount = LIMITS.member_list_offline_max;
    online(guild, '20');
    const list = listOf(guild);
    expect(keysOf(list)).toContain('offline');
    guild.memberCount += 1;
    expect(list.isStale(guild)).toBe(true);
    const large = listOf(guild);
    expect(keysOf(large)).toEqual(['online', '20']);
    guild.memberCount -= 1;
    expect(large.isStale(guild)).toBe(true);
  });

  it('lists those who see a private channel, under the hash that clients compute', () => {
    const rights = [
      overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL }),
      overwrite('10', 0, { allow: P.VIEW_CHANNEL }),
      overwrite('11', 0, { allow: P.SEND_MESSAGES }),
    ];
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      roles: [role('10', 0n, 1), role('11', 0n, 2)],
      members: [member('20', { roles: ['10'] }), member('21'), member('22', { roles: ['11'] })],
      channels: [channel('30', rights)],
    });
    online(guild, '20', '21', '22');
    const list = listOf(guild);
    expect(keysOf(list)).toEqual(['online', '20', 'offline', '2']);
    expect(list.scope.id).toBe(String(murmur3(`allow:10,deny:${GUILD_ID}`)));
  });

  it('is that of its channel for a thread, and none for an unknown channel', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      channels: [channel('30'), channel('31', [], { type: 11, parent_id: '30' })],
    });
    expect(listScope(guild, id('31'))?.channel.id).toBe('30');
    expect(listScope(guild, id('99'))).toBeNull();
  });

  it('shows a member with the presence, and one who is offline as offline', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      members: [member('20')],
      channels: [channel('30')],
    });
    guild.presences.set(id('20'), presence('20', 'idle'));
    const [, shown, , owner] = listOf(guild).slice(0, 10).map(wireRow);
    expect(shown).toEqual({ member: { ...member('20'), presence: presence('20', 'idle') } });
    expect(owner).toMatchObject({
      member: { user: { id: '2' }, presence: { status: 'offline', activities: [] } },
    });
  });

  it('is after any changes what it would be if it was made again', () => {
    const step = fc.record({
      at: fc.nat(11),
      what: fc.constantFrom('online', 'offline', 'leave', 'join', 'rename', 'role'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, isSmall) => {
        const users = Array.from({ length: 12 }, (_, at) => String(20 + at));
        const guild = buildGuild({
          everyone: P.VIEW_CHANNEL,
          roles: [hoisted('10', 1)],
          members: users.slice(0, 6).map((userId) => member(userId)),
          channels: [channel('30')],
        });
        if (!isSmall) guild.memberCount = 5_000;
        const list = listOf(guild);
        for (const [number, { at, what }] of steps.entries()) {
          const userId = id<UserId>(users[at] ?? '');
          const known = guild.members.get(userId);
          if (what === 'online' && known) guild.presences.set(userId, presence(userId));
          if (what === 'offline') guild.presences.delete(userId);
          if (what === 'leave') guild.members.set(userId, null);
          if (what === 'join') guild.members.set(userId, member(userId));
          if (what === 'rename' && known) guild.members.set(userId, { ...known, nick: `n${number % 5}` });
          if (what === 'role' && known)
            guild.members.set(userId, { ...known, roles: known.roles.length ? [] : ['10'] });
          list.update(guild, userId);
        }
        const again = listOf(guild);
        expect(list.slice(0, 100).map(wireRow)).toEqual(again.slice(0, 100).map(wireRow));
        expect([list.size, list.groups]).toEqual([again.size, again.groups]);
        const pieces = [list.slice(0, 3), list.slice(3, 4), list.slice(4, 100)].flat();
        expect(pieces).toEqual(list.slice(0, 100));
      }),
    );
  });
});
