// Goal: a bot comes into a guild with a role of its own, which holds no more than who let it in, and leaves with it.

import { describe, expect, test } from 'vitest';
import { type GuildCommands, guildRules } from '../../../engine/guild/rules.ts';
import type { ApplicationId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { P } from '../../../protocol/permissions.ts';
import { foundedGuild } from '../../support/backed.ts';
import { OWNER_ID, role, user } from '../../support/guild.ts';
import { envAt, NOW_MS } from '../../support/people.ts';

const BOT = '50' as UserId;
const APP = '78' as ApplicationId;
const PLAIN = '11' as UserId;

function arrange() {
  const guild = foundedGuild();
  guild.users.set(BOT, user(BOT, true) as APIUser);
  guild.bans.set(BOT, null);
  const env = envAt(NOW_MS);
  const types: string[] = [];
  function run<K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    userId: UserId = OWNER_ID,
    system?: true,
  ) {
    const who = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    const by = system ? { ...who, system } : who;
    const outcome = guildRules.decide(guild, type, input, { by, requires: P.MANAGE_GUILD }, env);
    if (!outcome.ok) return outcome.refusal.code;
    types.splice(0, types.length, ...outcome.facts.map((fact) => fact.type));
    for (const fact of outcome.facts) guildRules.apply(guild, fact);
    return outcome.value;
  }
  const install = (permissions: string, userId?: UserId) =>
    run('installBot', { botId: BOT, applicationId: APP, name: 'Game', permissions }, userId);
  const own = () => [...guild.roles.values()].find(({ managed }) => managed);
  return { guild, run, install, own, types };
}

describe('a bot that is installed', () => {
  test('is a member with a managed role of its application’s name', () => {
    const { guild, install, own, types } = arrange();
    expect(install('3072')).toEqual({ added: true });
    expect(own()).toMatchObject({ name: 'Game', permissions: '3072', managed: true, tags: { bot_id: BOT } });
    expect(guild.members.get(BOT)?.roles).toEqual([own()!.id]);
    expect(types.filter((type) => type === 'auditLogged')).toHaveLength(2);
  });

  test('gets no role when it asks for no permissions', () => {
    const { guild, install, own } = arrange();
    install('0');
    expect(own()).toBeUndefined();
    expect(guild.members.get(BOT)?.roles).toEqual([]);
  });

  test('gets the newly requested permissions on a second install', () => {
    const { guild, install, own, types } = arrange();
    install('1024');
    const { id } = own()!;
    expect(install('2048')).toEqual({ added: false });
    expect(own()).toMatchObject({ id, permissions: '2048' });
    expect(types).toEqual(['roleUpdated']);
    install('2048');
    expect(types).toEqual([]);
    guild.members.set(BOT, { ...guild.members.get(BOT)!, roles: [] });
    install('2048');
    expect(types).toEqual(['memberUpdated']);
  });

  test('holds no more permissions than the member who installed it', () => {
    const { guild, install, own } = arrange();
    const bits = P.MANAGE_GUILD | P.KICK_MEMBERS;
    guild.roles.set('60' as RoleId, { ...role('60', bits, 1) });
    guild.members.set(PLAIN, { ...guild.members.get(PLAIN)!, roles: ['60'] });
    install(String(P.ADMINISTRATOR | P.KICK_MEMBERS | P.BAN_MEMBERS), PLAIN);
    expect(BigInt(own()!.permissions) & (P.ADMINISTRATOR | P.BAN_MEMBERS)).toBe(0n);
    expect(BigInt(own()!.permissions) & P.KICK_MEMBERS).toBe(P.KICK_MEMBERS);
  });

  test('loses its role when it is kicked, so that a later install creates a new one', () => {
    const { run, install, own, guild } = arrange();
    install('1024');
    run('kickMember', { userId: BOT });
    expect(own()).toBeUndefined();
    expect(guild.members.get(BOT)).toBeFalsy();
  });
});

describe('a user who joins with a role', () => {
  const join = ({ run }: ReturnType<typeof arrange>, system?: true) =>
    run('joinWithRole', { userId: BOT, name: 'Helm', permissions: '8' }, OWNER_ID, system);
  const helm = ({ guild }: ReturnType<typeof arrange>) =>
    [...guild.roles.values()].find(({ name }) => name === 'Helm');

  test('becomes a member with the role in one decision', () => {
    const at = arrange();
    expect(join(at, true)).toEqual({ added: true });
    expect(at.types.filter((type) => type !== 'auditLogged' && type !== 'roleUpdated')).toEqual(
      expect.arrayContaining(['roleCreated', 'memberAdded']),
    );
    expect(helm(at)).toMatchObject({ permissions: '8', managed: false });
    expect(at.guild.members.get(BOT)?.roles).toEqual([helm(at)!.id]);
    expect(join(at, true)).toEqual({ added: false });
    expect(at.guild.members.get(BOT)?.roles).toHaveLength(2);
  });

  test('is not added when the guild has the maximum number of roles', () => {
    const at = arrange();
    for (let id = 1_000; at.guild.roles.size < LIMITS.roles_per_guild_max; id += 1)
      at.guild.roles.set(String(id) as RoleId, role(String(id), 0n, 1));
    expect(join(at, true)).toBe(30005);
    expect(at.guild.members.get(BOT)).toBeFalsy();
  });

  test('gets no role when the guild rejects the user, nor from callers other than the operator', () => {
    const at = arrange();
    expect(join(at)).toBe(50013);
    at.guild.bans.set(BOT, { user: user(BOT, true), reason: null } as never);
    expect(join(at, true)).toBe(40007);
    expect(helm(at)).toBeUndefined();
  });
});

describe('the install of a bot', () => {
  test('is refused when the caller may not manage the guild', () => {
    expect(arrange().install('0', PLAIN)).toBe(50013);
    expect(arrange().install('0', '12' as UserId)).toBe(10004);
  });

  test('is refused for a banned bot and for an account that is not a bot', () => {
    const { guild, install } = arrange();
    guild.bans.set(BOT, { user: user(BOT, true), reason: null } as never);
    expect(install('0')).toBe(40007);
    const other = arrange();
    other.guild.users.set(BOT, user(BOT) as APIUser);
    expect(other.install('0')).toBe(50010);
  });
});
