/** Goal: the ban routes ban first and then delete, page by page and within their bound. */
import { describe, expect, it, vi } from 'vitest';
import { snowflakeAt, type UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { bans } from '../../../../transports/rest/resources/bans.ts';
import { buildGuild, role, user } from '../../../support/guild.ts';
import { fullMember, NOW_MS } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** Users: 2 owner, 10 may ban but not manage, 12 plain. `stored` messages of anyone wait in the store. */
function arrange(stored = 0) {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('100', P.BAN_MEMBERS, 3)],
    members: [fullMember('10', ['100']), fullMember('12'), fullMember('13')],
  });
  guild.members.set('78' as UserId, null);
  guild.users.set('78' as UserId, null);
  let left = stored;
  const authoredSince = vi.fn(async (_owner: string, _author: string, _since: string, limit: number) => {
    const page = Math.min(left, limit);
    left -= page;
    return Array.from({ length: page }, (_, at) => ({ channelId: '50', id: String(1000 + at) }));
  });
  const list = vi.fn(async () => [{ user: user('12'), reason: null }]);
  const rest = restGuild(guild, bans, { read: { messages: { authoredSince }, guilds: { bans: list } } });
  const deleted = () =>
    rest.facts.flatMap((fact) => (fact.type === 'messagesBulkDeleted' ? fact.messageIds : [])).length;
  return { guild, ...rest, authoredSince, list, deleted };
}

describe('a ban', () => {
  const params = { user_id: '12' };

  it('deletes no messages by default', async () => {
    const { invoke, authoredSince, guild } = arrange(3);
    expect(await invoke('ban_user_from_guild', { params, as: '10' })).toMatchObject({
      status: 204,
      body: undefined,
    });
    expect(guild.bans.get('12' as UserId)).toBeTruthy();
    expect(authoredSince).not.toHaveBeenCalled();
  });

  it('deletes messages of the given seconds, or of the days that older clients send', async () => {
    for (const body of [{ delete_message_seconds: 86_400 }, { delete_message_days: 1 }]) {
      const { invoke, authoredSince, deleted } = arrange(2_500);
      await invoke('ban_user_from_guild', { params, body });
      expect(authoredSince.mock.calls[0]?.slice(0, 3)).toEqual(['1', '12', snowflakeAt(NOW_MS - 86_400_000)]);
      expect(deleted()).toBe(2_500);
    }
  });

  it('deletes at most ten thousand messages', async () => {
    const { invoke, deleted } = arrange(25_000);
    await invoke('ban_user_from_guild', { params, body: { delete_message_seconds: 604_800 } });
    expect(deleted()).toBe(10_000);
  });

  it('deletes no messages of users who could not be banned', async () => {
    const { invoke, authoredSince } = arrange(3);
    const body = { delete_message_seconds: 60 };
    expect(codeOf(await invoke('ban_user_from_guild', { params: { user_id: '2' }, as: '10', body }))).toBe(
      50013,
    );
    expect(codeOf(await invoke('ban_user_from_guild', { params, as: '12', body }))).toBe(50013);
    expect(authoredSince).not.toHaveBeenCalled();
  });

  it('is refused for ages out of bounds', async () => {
    const { invoke } = arrange();
    for (const body of [{ delete_message_seconds: 604_801 }, { delete_message_days: 8 }])
      expect(codeOf(await invoke('ban_user_from_guild', { params, body }))).toBe(50035);
  });

  it('requires both permissions in bulk, and returns the banned users', async () => {
    const { invoke } = arrange();
    const body = { user_ids: ['12', '13', '78'] };
    expect(codeOf(await invoke('bulk_ban_users_from_guild', { as: '10', body }))).toBe(50013);
    expect(await invoke('bulk_ban_users_from_guild', { body })).toMatchObject({
      status: 200,
      body: { banned_users: ['12', '13'], failed_users: ['78'] },
    });
    expect(codeOf(await invoke('bulk_ban_users_from_guild', { body }))).toBe(500000);
    const crowd = { user_ids: Array.from({ length: 201 }, (_, at) => String(at)) };
    expect(codeOf(await invoke('bulk_ban_users_from_guild', { body: crowd }))).toBe(50035);
  });
});

describe('bans', () => {
  it('are listed in pages of 1,000, to members who may ban', async () => {
    const { invoke, list } = arrange();
    expect(codeOf(await invoke('list_guild_bans', { as: '12' }))).toBe(50013);
    expect(await invoke('list_guild_bans', { as: '10' })).toMatchObject({
      status: 200,
      body: [{ reason: null }],
    });
    expect(list).toHaveBeenCalledExactlyOnceWith('1', { limit: 1000 });
    await invoke('list_guild_bans', { query: { limit: '5', after: '9' } });
    expect(list).toHaveBeenLastCalledWith('1', { limit: 5, after: '9' });
  });

  it('are read and lifted one by one', async () => {
    const { invoke } = arrange();
    const params = { user_id: '12' };
    await invoke('ban_user_from_guild', { params, reason: 'why' });
    expect(await invoke('get_guild_ban', { params })).toMatchObject({ status: 200, body: { reason: 'why' } });
    expect((await invoke('unban_user_from_guild', { params })).status).toBe(204);
    const gone = await invoke('unban_user_from_guild', { params });
    expect([gone.status, codeOf(gone)]).toEqual([404, 10026]);
  });
});
