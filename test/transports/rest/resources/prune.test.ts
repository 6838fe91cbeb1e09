// Goal: the prune routes take both permissions, keep their bounds, and show the guild all inactive members page by page.
import { describe, expect, it, vi } from 'vitest';
import type { RoleId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { prune } from '../../../../transports/rest/resources/prune.ts';
import { buildGuild, role } from '../../../support/guild.ts';
import { fullMember, NOW_MS } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** Users: 10 holds both permissions, 11 and 12 one each; 1000 and up are inactive members without roles. */
function arrange(inactive = 2) {
  const crowd = Array.from({ length: inactive }, (_, at) => String(1000 + at));
  const guild = buildGuild({
    roles: [
      role('100', P.KICK_MEMBERS | P.MANAGE_GUILD, 5),
      role('101', P.KICK_MEMBERS, 4),
      role('102', P.MANAGE_GUILD, 3),
    ],
    members: [
      ...[fullMember('10', ['100']), fullMember('11', ['101']), fullMember('12', ['102'])],
      ...crowd.map((id) => fullMember(id)),
    ],
  });
  guild.info = { ...guild.info, features: [] };
  const inactiveMembers = vi.fn(
    async (_guild: string, _inactivity: object, after: string | null, limit: number) =>
      crowd.filter((id) => after === null || Number(id) > Number(after)).slice(0, limit),
  );
  return { inactiveMembers, guild, ...restGuild(guild, prune, { read: { guilds: { inactiveMembers } } }) };
}

const DAY_MS = 86_400_000;

describe('a prune', () => {
  it('is previewed and run by members with MANAGE_GUILD and KICK_MEMBERS', async () => {
    const { invoke, inactiveMembers, guild } = arrange();
    for (const as of ['11', '12']) {
      expect(codeOf(await invoke('preview_prune_guild', { as }))).toBe(50013);
      expect(codeOf(await invoke('prune_guild', { as, body: {} }))).toBe(50013);
    }
    expect(await invoke('preview_prune_guild', { as: '10' })).toMatchObject({ body: { pruned: 2 } });
    const joinedBeforeMs = NOW_MS - 7 * DAY_MS;
    const beforeDay = Math.floor(joinedBeforeMs / DAY_MS);
    expect(inactiveMembers).toHaveBeenCalledWith('1', { beforeDay, joinedBeforeMs, roleIds: [] }, null, 500);
    expect(await invoke('prune_guild', { as: '10', body: {} })).toMatchObject({ body: { pruned: 2 } });
    expect(guild.memberCount).toBe(4);
  });

  it('returns no count when none is requested', async () => {
    const { invoke, guild } = arrange();
    const body = { compute_prune_count: false };
    expect(await invoke('prune_guild', { body })).toMatchObject({ body: { pruned: null } });
    expect(guild.memberCount).toBe(4);
  });

  it.each([
    ['true', 2],
    ['false', null],
  ])('accepts the text %s for compute_prune_count, as a library sends it', async (word, pruned) => {
    const { invoke } = arrange();
    const body = { compute_prune_count: word };
    expect(await invoke('prune_guild', { body })).toMatchObject({ status: 200, body: { pruned } });
  });

  it('refuses roles that are no ids, and accepts lists with a trailing comma', async () => {
    const { invoke, guild } = arrange();
    for (const include_roles of ['abc', '100,abc', '100;101', '-1'])
      for (const asked of [{ query: { include_roles } }, { body: { include_roles } }]) {
        const reply = await invoke('query' in asked ? 'preview_prune_guild' : 'prune_guild', asked);
        expect([codeOf(reply), reply.body]).toMatchObject([50_035, { errors: { include_roles: {} } }]);
      }
    expect(guild.memberCount).toBe(6);
    expect(codeOf(await invoke('prune_guild', { body: { compute_prune_count: 'yes' } }))).toBe(50_035);
    expect(await invoke('preview_prune_guild', { query: { include_roles: '100, 101,' } })).toMatchObject({
      status: 200,
    });
  });

  it('is logged once for many pages', async () => {
    const { invoke, facts } = arrange(1_200);
    expect(await invoke('prune_guild', { body: { days: 30 } })).toMatchObject({ body: { pruned: 1_200 } });
    const logged = facts.flatMap((fact) => (fact.type === 'auditLogged' ? [fact.entry] : []));
    expect(logged).toMatchObject([{ options: { delete_member_days: '30', members_removed: '1200' } }]);
  });

  it('logs the members removed so far when its author loses the permission between two pages', async () => {
    const { invoke, facts, guild, inactiveMembers } = arrange(1_200);
    const pages = inactiveMembers.getMockImplementation()!;
    inactiveMembers.mockImplementation(async (id, inactivity, after, limit) => {
      if (after !== null) guild.roles.set('100' as RoleId, role('100', P.KICK_MEMBERS, 5));
      return pages(id, inactivity, after, limit);
    });
    expect(codeOf(await invoke('prune_guild', { as: '10', body: { days: 30 } }))).toBe(50_013);
    const logged = facts.flatMap((fact) => (fact.type === 'auditLogged' ? [fact.entry] : []));
    expect(logged).toMatchObject([
      { user_id: '10', options: { delete_member_days: '30', members_removed: '500' } },
    ]);
  });

  it.each([
    ['one day', { days: 1 }],
    ['30 days', { days: 30 }],
    ['100 roles', { include_roles: ids(100) }],
    ['roles as text', { include_roles: '5,6' }],
  ])('accepts %s', async (_name, body) => {
    expect((await arrange().invoke('prune_guild', { body })).status).toBe(200);
    expect((await arrange().invoke('preview_prune_guild', { query: body })).status).toBe(200);
  });

  it.each([
    ['zero days', { days: 0 }, 'days'],
    ['31 days', { days: 31 }, 'days'],
    ['101 roles', { include_roles: ids(101) }, 'include_roles'],
  ])('refuses %s', async (_name, body, path) => {
    for (const answer of [
      await arrange().invoke('prune_guild', { body }),
      await arrange().invoke('preview_prune_guild', { query: body }),
    ])
      expect(answer).toMatchObject({ status: 400, body: { code: 50035, errors: { [path]: {} } } });
  });

  it('includes roles given as a list, as text, or one by one in a query', async () => {
    for (const include_roles of [['5', '6'], '5, 6', '5,6,,5']) {
      const { invoke, inactiveMembers } = arrange();
      await invoke('preview_prune_guild', { query: { include_roles } });
      expect(inactiveMembers.mock.calls[0]?.[1]).toMatchObject({ roleIds: ['5', '6'] });
    }
  });
});

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, at) => String(5000 + at));
}
