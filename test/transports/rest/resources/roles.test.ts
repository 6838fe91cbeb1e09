/** Goal: requests about roles reach the rules in their own terms, icons are kept only for those who may set them. */

import { describe, expect, it } from 'vitest';
import type { APIRole } from '../../../../protocol/objects.ts';
import { P } from '../../../../protocol/permissions.ts';
import { roles } from '../../../../transports/rest/resources/roles.ts';
import { backed, foundedGuild } from '../../../support/backed.ts';
import { GUILD_ID } from '../../../support/guild.ts';
import { dataUri, pngPixel } from '../../../support/media.ts';

const params = { guild_id: GUILD_ID };
const PNG = dataUri(pngPixel());

describe('roles', () => {
  it('are created, read, changed, moved and deleted', async () => {
    const { as } = backed(roles);
    const owner = as('2');
    const body = { name: 'cook', permissions: Number(P.KICK_MEMBERS), color: 255, hoist: true };
    const made = await owner('create_guild_role', { params, body });
    expect(made).toMatchObject({
      status: 200,
      body: { name: 'cook', permissions: '2', color: 255, position: 1 },
    });
    const { id } = made.body as APIRole;
    const one = { ...params, role_id: id };
    expect((await owner('get_guild_role', { params: one })).body).toEqual(made.body);
    await owner('create_guild_role', { params, body: { name: null } });
    const moved = await owner('bulk_update_guild_roles', {
      params,
      body: [{ id, position: 1 }, { id: null }],
    });
    expect((moved.body as APIRole[]).map(({ name }) => name)).toEqual(['@everyone', 'cook', 'new role']);
    expect(await owner('update_guild_role', { params: one, body: { name: 'chef' } })).toMatchObject({
      status: 200,
      body: { name: 'chef', hoist: true },
    });
    expect(await owner('delete_guild_role', { params: one })).toMatchObject({ status: 204, body: undefined });
    expect(await owner('get_guild_role', { params: one })).toMatchObject({
      status: 404,
      body: { code: 10011 },
    });
    expect((await owner('list_guild_roles', { params })).body).toHaveLength(2);
  });

  it('store an icon under the id of the new role', async () => {
    const { as, blobs } = backed(roles);
    const made = await as('2')('create_guild_role', { params, body: { icon: PNG } });
    const { id, icon } = made.body as APIRole;
    expect([...blobs.keys()]).toEqual([`role-icons/${id}/${icon}`]);
  });

  it('store no icon for a caller without permission', async () => {
    const { as, blobs } = backed(roles);
    expect(await as('11')('create_guild_role', { params, body: { icon: PNG } })).toMatchObject({
      status: 403,
      body: { code: 50013 },
    });
    expect(await as('12')('list_guild_roles', { params })).toMatchObject({
      status: 404,
      body: { code: 10004 },
    });
    expect(blobs.size).toBe(0);
  });

  it('are refused with 50035 for a colour above 0xffffff and bytes that are no image', async () => {
    const owner = backed(roles).as('2');
    const answers = await Promise.all(
      [{ color: 0x1000000 }, { icon: `data:image/png;base64,${Buffer.from('text').toString('base64')}` }].map(
        (body) => owner('create_guild_role', { params, body }),
      ),
    );
    expect(answers).toMatchObject([
      { status: 400, body: { code: 50035, errors: { color: {} } } },
      { status: 400, body: { code: 50035, errors: { icon: {} } } },
    ]);
  });

  it('have member counts, also without members, except @everyone', async () => {
    const guild = foundedGuild();
    const counts = new Map([['100', 3]]);
    const read = { guilds: { roleMemberCounts: async () => counts } };
    for (const id of ['100', '101']) guild.roles.set(id as never, { id, position: 1 } as never);
    const answer = await backed(roles, guild, { read }).as('11')('guild_role_member_counts', { params });
    expect(answer).toMatchObject({ status: 200, body: { 100: 3, 101: 0 } });
    expect(answer.body).not.toHaveProperty(GUILD_ID);
  });
});
