/** Goal: the invite routes find the guild behind a channel or a code, and hand out fair codes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Invite } from '../../../../engine/guild/guild.ts';
import type { ChannelId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { inviteCode } from '../../../../services/guilds/invitecode.ts';
import { invites } from '../../../../transports/rest/resources/invites.ts';
import { buildGuild, channel, overwrite, role } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** Users: 2 owner, 11 manager of channel 50, 12 plain. The store knows what the guild's window knows. */
function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CREATE_INSTANT_INVITE,
    roles: [role('101', 0n, 1)],
    members: [fullMember('11'), fullMember('12')],
    channels: [channel('50', [overwrite('11', 1, { allow: P.MANAGE_CHANNELS })]), channel('51')],
  });
  const stored = () => [...guild.invites.values()].filter((invite): invite is Invite => invite !== null);
  const read = {
    guilds: {
      invites: async (_guild: string, channelId: ChannelId | null) =>
        stored().filter((invite) => channelId === null || invite.channel_id === channelId),
    },
    directory: {
      inviteGuild: async (code: string) =>
        stored().some((invite) => invite.code === code) ? guild.id : null,
    },
  };
  return { guild, ...restGuild(guild, invites, { read }) };
}

const create = async (rest: ReturnType<typeof arrange>, body: object = {}, as = '12', channelId = '50') =>
  rest.invoke('create_channel_invite', { as, params: { channel_id: channelId }, body });
const codeIn = (result: { body: unknown }) => (result.body as { code: string }).code;

describe('creating an invite', () => {
  it('deletes expired invites, a bounded number at a time', async () => {
    const rest = arrange();
    const codes = Array.from({ length: 30 }, (_, index) => `old${index}`);
    const { body } = await create(rest);
    const [made] = [...rest.guild.invites.values()];
    for (const code of codes)
      rest.guild.invites.set(code, { ...made!, code, expires_at: '2020-01-01T00:00:00.000000+00:00' });
    await create(rest, { unique: true });
    const left = [...rest.guild.invites.values()].filter((invite) => invite !== null);
    expect(left.map(({ code }) => code)).toContain(codeIn({ body }));
    expect(left).toHaveLength(2 + 30 - 25);
  });

  it('returns an invite of one day by default, and the same one again', async () => {
    const rest = arrange();
    const first = await create(rest);
    expect(first).toMatchObject({
      status: 200,
      body: {
        code: expect.stringMatching(/^[A-Za-z0-9]{8}$/),
        max_age: 86_400,
        max_uses: 0,
        temporary: false,
      },
    });
    expect(codeIn(await create(rest))).toBe(codeIn(first));
    expect(codeIn(await create(rest, { unique: true }))).not.toBe(codeIn(first));
    expect(codeIn(await create(rest, { max_uses: 1 }))).not.toBe(codeIn(first));
    expect(codeIn(await create(rest, {}, '12', '51'))).not.toBe(codeIn(first));
  });

  it('returns the equal invite although an older one gives roles', async () => {
    const rest = arrange();
    const older = codeIn(await create(rest, { role_ids: ['101'] }, '2'));
    const equal = codeIn(await create(rest, {}, '2'));
    expect(equal).not.toBe(older);
    expect(codeIn(await create(rest, {}, '2'))).toBe(equal);
  });

  it('accepts roles as a list or as text', async () => {
    for (const role_ids of [['101'], '101', ' 101 ,']) {
      expect(await create(arrange(), { role_ids }, '2')).toMatchObject({ body: { roles: [{ id: '101' }] } });
    }
  });

  it('refuses values out of bounds, and unknown channels', async () => {
    expect(codeOf(await create(arrange(), { max_age: 5_184_001 }))).toBe(50035);
    expect(await create(arrange(), { max_age: 5_184_000 })).toMatchObject({ status: 200 });
    expect(codeOf(await create(arrange(), { max_uses: 101 }))).toBe(50035);
    expect(codeOf(await create(arrange(), {}, '12', '59'))).toBe(10003);
  });
});

describe('listing invites', () => {
  it('returns the invites of a channel to members who manage it', async () => {
    const rest = arrange();
    const here = codeIn(await create(rest));
    await create(rest, {}, '12', '51');
    const params = { channel_id: '50' };
    expect(codeOf(await rest.invoke('list_channel_invites', { as: '12', params }))).toBe(50013);
    expect(await rest.invoke('list_channel_invites', { as: '11', params })).toMatchObject({
      status: 200,
      body: [{ code: here, uses: 0 }],
    });
  });

  it('returns the invites of the guild to its managers', async () => {
    const rest = arrange();
    await create(rest);
    expect(codeOf(await rest.invoke('list_guild_invites', { as: '12' }))).toBe(50013);
    expect((await rest.invoke('list_guild_invites', {})).body).toHaveLength(1);
  });
});

describe('an invite code', () => {
  it('is readable by anyone', async () => {
    const rest = arrange();
    const code = codeIn(await create(rest));
    const resolved = await rest.invoke('invite_resolve', {
      as: null,
      params: { code },
      query: { with_counts: 'true' },
    });
    expect(resolved).toMatchObject({
      status: 200,
      body: { code, guild: { id: '1' }, approximate_member_count: 3 },
    });
    for (const unknown of ['nonsense', 'x'.repeat(101)]) {
      const answer = await rest.invoke('invite_resolve', { as: null, params: { code: unknown } });
      expect([answer.status, codeOf(answer)]).toEqual([404, 10006]);
    }
  });

  it('is revoked by managers of the channel', async () => {
    const rest = arrange();
    const code = codeIn(await create(rest));
    const revoke = (as: string) => rest.invoke('invite_revoke', { as, params: { code } });
    expect(codeOf(await revoke('12'))).toBe(50013);
    expect(await revoke('11')).toMatchObject({ status: 200, body: { code } });
    expect(codeOf(await revoke('11'))).toBe(10006);
  });

  it('has eight letters or digits, with any random bytes', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.integer({ min: 0, max: 255 })), (bytes) => {
        const code = inviteCode((size) =>
          Uint8Array.from({ length: size }, () => bytes.next().value as number),
        );
        expect(code).toMatch(/^[A-Za-z0-9]{8}$/);
      }),
    );
    const [unfair, fair] = [255, 0];
    const given = [
      [unfair, fair, unfair, fair, fair, fair, fair, fair],
      [fair, fair],
    ];
    expect(inviteCode(() => Uint8Array.from(given.shift() ?? []))).toBe('AAAAAAAA');
  });
});
