// Goal: a list of users for an invite is read with its bounds, replaces the last one, and is shown to few.
import { describe, expect, it } from 'vitest';
import type { UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { invites, invitesUnlisted } from '../../../../transports/rest/resources/invites.ts';
import { inviteTargets } from '../../../../transports/rest/resources/invitetargets.ts';
import { vanity } from '../../../../transports/rest/resources/vanity.ts';
import { buildGuild, channel, role, user } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** 2 owns the guild; 10 invites, 11 reads the log, 12 manages the guild, 13 does neither. Users from 1000 on exist. */
function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CREATE_INSTANT_INVITE,
    roles: [role('101', P.VIEW_AUDIT_LOG, 2), role('102', P.MANAGE_GUILD, 3)],
    members: [fullMember('10'), fullMember('11', ['101']), fullMember('12', ['102']), fullMember('13')],
    channels: [channel('30')],
  });
  guild.info = { ...guild.info, features: [], vanity_url_code: null };
  const get = async (ids: readonly string[]) =>
    ids.filter((id) => Number(id) >= 1000 && Number(id) < 3000).map((id) => user(id));
  return {
    guild,
    ...restGuild(
      guild,
      { ...invites, ...inviteTargets, ...invitesUnlisted, ...vanity },
      {
        read: {
          users: { get, guildIds: async () => [] },
          guilds: { invites: async () => [...guild.invites.values()].filter((invite) => invite !== null) },
          directory: { inviteGuild: async (code: string) => (guild.invites.get(code) ? guild.id : null) },
        },
      },
    ),
  };
}
type Arranged = ReturnType<typeof arrange>;

const csv = (text: string) => [
  { field: 'target_users_file', filename: 'users.csv', contentType: 'text/csv', bytes: Buffer.from(text) },
];
const many = (count: number) => Array.from({ length: count }, (_, at) => String(1000 + at)).join('\n');

async function made({ invoke }: Arranged, files = csv('')): Promise<string> {
  const params = { channel_id: '30' };
  const given = files[0]?.bytes.length ? { files } : {};
  const { body } = await invoke('create_channel_invite', { params, as: '10', body: {}, ...given });
  return (body as { code: string }).code;
}
const put = ({ invoke }: Arranged, code: string, text: string, as = '10') =>
  invoke('update_invite_target_users', { params: { code }, files: csv(text), as });

describe('an invite', () => {
  it('has the user list of its creation, and another after an upload', async () => {
    const given = arrange();
    const code = await made(given, csv('user_id\r\n1000\r\n1001\r\n1000'));
    const params = { code };
    expect(await given.invoke('get_invite_target_users', { params, as: '10' })).toMatchObject({
      headers: { 'Content-Type': 'text/csv' },
      body: 'user_id\n1000\n1001\n',
    });
    expect(await put(given, code, '"1002"\n')).toMatchObject({ status: 204 });
    expect(given.facts.at(-1)).toMatchObject({ entry: { action_type: 41 } });
    const job = await given.invoke('get_invite_target_users_job_status', { params, as: '10' });
    expect(job.body).toMatchObject({ status: 2, total_users: 1, processed_users: 1, error_message: null });
    given.guild.users.set('1000' as UserId, user('1000'));
    given.guild.users.set('1002' as UserId, user('1002'));
    const accept = (as: string) => given.invoke('accept_invite', { params, as, bot: false, body: {} });
    expect(codeOf(await accept('1000'))).toBe(10006);
    expect((await accept('1002')).status).toBe(200);
  });

  it('is answered with an error if it has no list', async () => {
    const given = arrange();
    const params = { code: await made(given) };
    expect(codeOf(await given.invoke('get_invite_target_users', { params }))).toBe(10129);
    expect(codeOf(await given.invoke('get_invite_target_users_job_status', { params }))).toBe(10124);
    expect(codeOf(await given.invoke('get_invite_target_users', { params: { code: 'none' } }))).toBe(10006);
  });

  it('returns its list to the inviter, to readers of the audit log, who may not change it, and to managers', async () => {
    const given = arrange();
    const code = await made(given, csv('1000'));
    const params = { code };
    for (const operation of ['get_invite_target_users', 'get_invite_target_users_job_status']) {
      for (const as of ['10', '11', '12'])
        expect((await given.invoke(operation, { params, as })).status).toBe(200);
      expect(codeOf(await given.invoke(operation, { params, as: '13' }))).toBe(50013);
    }
    for (const as of ['10', '12']) expect((await put(given, code, '1001', as)).status).toBe(204);
    // A caller without the permission does not learn either which ids are users'.
    for (const as of ['11', '13'])
      for (const text of ['1001', '5', 'x'.repeat(40_000)])
        expect(codeOf(await put(given, code, text, as))).toBe(50013);
  });

  it('accepts 1,000 users, and refuses one more, unknown users, and a missing file', async () => {
    const given = arrange();
    const code = await made(given);
    expect((await put(given, code, many(1_000))).status).toBe(204);
    for (const text of [many(1_001), 'user_id', '', 'nobody', '5', 'x'.repeat(40_000)])
      expect(await put(given, code, text)).toMatchObject({
        status: 400,
        body: { code: 50035, errors: { target_users_file: {} } },
      });
    const none = await given.invoke('update_invite_target_users', { params: { code }, files: [] });
    expect(codeOf(none)).toBe(50035);
  });

  it('is refused for malformed ids with the number of each line, ten at most', async () => {
    const given = arrange();
    const lines = ['Line 3: invalid user ID - must be a valid snowflake', 'Line 5: no such user'];
    const files = csv('user_id\n1000\nnobody\n\n5000000000000000');
    const params = { channel_id: '30' };
    expect(await given.invoke('create_channel_invite', { params, as: '10', body: {}, files })).toMatchObject({
      status: 400,
      body: {
        code: 50035,
        errors: { target_users_file: { _errors: lines.map((message) => ({ message })) } },
        target_users_file: lines,
      },
    });
    const { body } = await put(
      given,
      await made(given),
      'nobody\n'.repeat(5) + many(30).replaceAll('1', 'x'),
    );
    expect((body as { target_users_file: string[] }).target_users_file).toHaveLength(10);
  });

  it('is readable only by the users on its list, its inviter and members who may read the list', async () => {
    const given = arrange();
    const params = { code: await made(given, csv('1000')) };
    const lookUp = async (as: string | null) => (await given.invoke('invite_resolve', { params, as })).status;
    for (const as of ['1000', '10', '11', '12', '2']) expect([as, await lookUp(as)]).toEqual([as, 200]);
    for (const as of ['13', '1001', null]) expect([as, await lookUp(as)]).toEqual([as, 404]);
    const open = { code: await made(given) };
    expect((await given.invoke('invite_resolve', { params: open, as: null })).status).toBe(200);
  });

  it('is not returned again, if it has a list, for a request without one', async () => {
    const given = arrange();
    const code = await made(given, csv('1000'));
    expect(await made(given)).not.toBe(code);
  });
});

it('a vanity URL is returned with its uses to members with MANAGE_GUILD', async () => {
  const given = arrange();
  expect(codeOf(await given.invoke('get_guild_vanity_url', { as: '13' }))).toBe(50013);
  expect((await given.invoke('get_guild_vanity_url')).body).toEqual({ code: null, uses: 0 });
  const code = await made(given);
  given.guild.info = { ...given.guild.info, vanity_url_code: code };
  expect((await given.invoke('get_guild_vanity_url')).body).toEqual({ code, uses: 0 });
});
