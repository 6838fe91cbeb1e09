/** Goal: the member routes read what clients send, ask the guild first, and answer with the right status. */
import { describe, expect, it, vi } from 'vitest';
import type { Guild } from '../../../../engine/guild/guild.ts';
import type { UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { members, membersUnlisted } from '../../../../transports/rest/resources/members.ts';
import { buildGuild, role, user } from '../../../support/guild.ts';
import { dataUri, pngPixel } from '../../../support/media.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, type Fakes, restGuild } from '../../../support/restguild.ts';

const uid = (text: string) => text as UserId;
const PNG = dataUri(pngPixel());

/** Users: 2 owner, 10 inviter, 12 plain; 77 exists and is no member. */
function arrange(fakes: Fakes = {}) {
  const guild: Guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CHANGE_NICKNAME,
    roles: [role('100', P.CREATE_INSTANT_INVITE, 3), role('101', 0n, 1)],
    members: [fullMember('10', ['100']), fullMember('12')],
  });
  guild.info = { ...guild.info, max_members: 100, system_channel_id: null, system_channel_flags: 0 };
  guild.members.set(uid('77'), null);
  guild.users.set(uid('77'), user('77'));
  return { guild, ...restGuild(guild, { ...members, ...membersUnlisted }, fakes) };
}

describe('lists of members', () => {
  const store = () => ({
    membersAfter: vi.fn(async () => [fullMember('12')]),
    membersByPrefix: vi.fn(async () => [fullMember('12')]),
  });

  it('are for bots with the GUILD_MEMBERS intent, one member a page by default', async () => {
    const guilds = store();
    const { invoke } = arrange({ read: { guilds } });
    expect(codeOf(await invoke('list_guild_members'))).toBe(50001);
    expect(guilds.membersAfter).not.toHaveBeenCalled();
    const result = await invoke('list_guild_members', { applicationFlags: 1 << 15 });
    expect(result).toMatchObject({ status: 200, body: [{ user: { id: '12' } }] });
    expect(guilds.membersAfter).toHaveBeenCalledWith('1', null, 1);
    await invoke('list_guild_members', { applicationFlags: 1 << 15, query: { limit: '1000', after: '5' } });
    expect(guilds.membersAfter).toHaveBeenLastCalledWith('1', '5', 1000);
    const wrong = await invoke('list_guild_members', { applicationFlags: 1 << 15, query: { limit: '1001' } });
    expect([wrong.status, codeOf(wrong)]).toEqual([400, 50035]);
  });

  it('are searched by members only', async () => {
    const guilds = store();
    const { invoke } = arrange({ read: { guilds } });
    await invoke('search_guild_members', { as: '12', query: { query: 'us', limit: '5' } });
    expect(guilds.membersByPrefix).toHaveBeenCalledWith('1', 'us', 5);
    expect(codeOf(await invoke('search_guild_members', { as: '77', query: { query: 'us' } }))).toBe(10004);
    expect(codeOf(await invoke('search_guild_members', { as: '12' }))).toBe(50035);
  });
});

describe('one member', () => {
  it('is returned, or refused as unknown', async () => {
    const { invoke } = arrange();
    expect(await invoke('get_guild_member', { params: { user_id: '12' } })).toMatchObject({
      status: 200,
      body: { user: { id: '12' }, roles: [], nick: null },
    });
    const unknown = await invoke('get_guild_member', { params: { user_id: '77' } });
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 10007]);
    expect(codeOf(await invoke('get_guild_member', { params: { user_id: 'me' } }))).toBe(50035);
  });

  it('is changed field by field; null resets a field, absent keeps it', async () => {
    const { invoke, guild } = arrange();
    const patch = (body: object) => invoke('update_guild_member', { params: { user_id: '12' }, body });
    expect(await patch({ nick: 'N', roles: ['101', null] })).toMatchObject({
      status: 200,
      body: { nick: 'N', roles: ['101'] },
    });
    expect((await patch({})).body).toMatchObject({ nick: 'N', roles: ['101'] });
    expect((await patch({ nick: null, roles: null })).body).toMatchObject({ nick: null, roles: [] });
    expect(codeOf(await patch({ nick: 'x'.repeat(33) }))).toBe(50035);
    expect(codeOf(await patch({ communication_disabled_until: 'soon' }))).toBe(50035);
    expect(codeOf(await patch({ mute: true }))).toBe(40032);
    expect(guild.members.get(uid('12'))?.nick).toBeNull();
  });

  it('renames itself with the older request too, which returns the nick alone', async () => {
    const { invoke } = arrange();
    for (const nick of ['Me', null])
      expect(await invoke('update_my_guild_nick', { as: '12', body: { nick } })).toMatchObject({
        ...{ status: 200, body: { nick } },
      });
  });

  it('stores the images of the own member, and refuses bytes that are no image', async () => {
    const put = vi.fn(async () => undefined);
    const { invoke } = arrange({ blobs: { put } });
    const result = await invoke('update_my_guild_member', { as: '12', body: { nick: 'Me', avatar: PNG } });
    expect(result).toMatchObject({
      status: 200,
      body: { nick: 'Me', avatar: expect.stringMatching(/^[0-9a-f]{32}$/) },
    });
    expect(put).toHaveBeenCalledWith(
      expect.stringMatching(/^guilds\/1\/users\/12\/avatars\//),
      expect.anything(),
      'image/png',
    );
    const bad = 'data:image/png;base64,AAAA';
    expect(codeOf(await invoke('update_my_guild_member', { as: '12', body: { banner: bad } }))).toBe(50035);
  });

  it('is kicked by members with KICK_MEMBERS, and the reason is kept', async () => {
    const { invoke, facts } = arrange();
    const kick = (as: string) =>
      invoke('delete_guild_member', { as, params: { user_id: '12' }, reason: 'spam' });
    expect(codeOf(await kick('10'))).toBe(50013);
    expect(await kick('2')).toMatchObject({ status: 204, body: undefined });
    expect(facts.at(-1)).toMatchObject({ entry: { action_type: 20, reason: 'spam' } });
  });

  it('is given a role, and loses it', async () => {
    const { invoke, guild } = arrange();
    const params = { user_id: '12', role_id: '101' };
    expect((await invoke('add_guild_member_role', { params })).status).toBe(204);
    expect(guild.members.get(uid('12'))?.roles).toEqual(['101']);
    expect((await invoke('delete_guild_member_role', { params })).status).toBe(204);
    expect(guild.members.get(uid('12'))?.roles).toEqual([]);
    expect(codeOf(await invoke('add_guild_member_role', { params, as: '12' }))).toBe(50013);
  });
});

describe('adding a member', () => {
  const withToken = (guildCount = 0) =>
    arrange({
      authenticate: async (token: string) =>
        token === 'of-77' ? { userId: '77', bot: false, applicationId: null, applicationFlags: 0 } : null,
      read: { users: { guildIds: async () => Array(guildCount).fill('1') } },
    } as Fakes);
  const body = { access_token: 'of-77' };
  const params = { user_id: '77' };

  it('requires the token of that user, and returns 201, and 204 the second time', async () => {
    const { invoke, guild } = withToken();
    expect(await invoke('add_guild_member', { as: '10', params, body })).toMatchObject({
      status: 201,
      body: { user: { id: '77' } },
    });
    expect(guild.memberCount).toBe(4);
    expect(await invoke('add_guild_member', { as: '10', params, body })).toMatchObject({
      status: 204,
      body: undefined,
    });
  });

  it('refuses the token of another user, one guild too many, callers without the permission, and users', async () => {
    const { invoke } = withToken();
    const other = { access_token: 'of-78' };
    expect(codeOf(await invoke('add_guild_member', { as: '10', params, body: other }))).toBe(50025);
    expect(codeOf(await invoke('add_guild_member', { as: '10', params: { user_id: '78' }, body }))).toBe(
      50025,
    );
    expect(codeOf(await invoke('add_guild_member', { as: '12', params, body }))).toBe(50013);
    expect(codeOf(await invoke('add_guild_member', { as: '10', bot: false, params, body }))).toBe(20002);
    expect(codeOf(await withToken(100).invoke('add_guild_member', { as: '10', params, body }))).toBe(30001);
  });
});
