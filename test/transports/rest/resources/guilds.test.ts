/** Goal: requests about the guild itself reach its rules, with images stored only for those who may set them. */
import { describe, expect, it } from 'vitest';
import { guilds } from '../../../../transports/rest/resources/guilds.ts';
import { backed } from '../../../support/backed.ts';
import { GUILD_ID } from '../../../support/guild.ts';
import { dataUri, gifPixel } from '../../../support/media.ts';

const params = { guild_id: GUILD_ID };
const GIF = dataUri(gifPixel(), 'image/gif');

describe('a guild', () => {
  it('is readable by members only, with counts on request', async () => {
    const { as } = backed(guilds);
    const plain = as('11');
    const counted = await plain('get_guild', { params, query: { with_counts: 'true' } });
    expect(counted).toMatchObject({ status: 200, body: { name: 'Wayfarers', approximate_member_count: 1 } });
    expect((await plain('get_guild', { params })).body).not.toHaveProperty('approximate_member_count');
    expect(await plain('get_guild_preview', { params })).toMatchObject({
      status: 200,
      body: { id: GUILD_ID },
    });
    expect(await as('12')('get_guild', { params })).toMatchObject({ status: 404, body: { code: 10004 } });
  });

  it('is previewed by non-members only when it is discoverable', async () => {
    const { as, guild } = backed(guilds);
    const stranger = as('12');
    expect(await stranger('get_guild_preview', { params })).toMatchObject({ body: { code: 10004 } });
    guild.info = { ...guild.info, features: ['DISCOVERABLE'] };
    expect(await stranger('get_guild_preview', { params })).toMatchObject({
      status: 200,
      body: { id: GUILD_ID, emojis: [], stickers: [] },
    });
  });

  it('is changed by members with MANAGE_GUILD, and returns images by their hashes', async () => {
    const { as, blobs, dispatches } = backed(guilds);
    const body = { name: 'Settlers', icon: GIF, banner: GIF, verification_level: 2, preferred_locale: 'de' };
    const answer = await as('2')('update_guild', { params, body, reason: 'new times' });
    const { icon, banner } = answer.body as { icon: string; banner: string };
    expect(answer).toMatchObject({
      status: 200,
      body: { name: 'Settlers', verification_level: 2, preferred_locale: 'de' },
    });
    expect(icon).toMatch(/^a_[0-9a-f]{32}$/);
    expect([...blobs.keys()]).toEqual([`icons/${GUILD_ID}/${icon}`, `banners/${GUILD_ID}/${banner}`]);
    expect(dispatches.at(-1)?.d).toMatchObject({ action_type: 1, reason: 'new times' });
  });

  it('stores no image for a caller without permission', async () => {
    const { as, blobs } = backed(guilds);
    expect(await as('11')('update_guild', { params, body: { icon: GIF } })).toMatchObject({
      status: 403,
      body: { code: 50013 },
    });
    expect(blobs.size).toBe(0);
  });

  it.each<[string, object]>([
    ['name', { name: 'x' }],
    ['verification_level', { verification_level: 5 }],
    ['afk_timeout', { afk_timeout: 61 }],
    ['preferred_locale', { preferred_locale: 'xx' }],
    ['icon', { icon: 'nonsense' }],
    ['features', { features: 'COMMUNITY' }],
  ])('is refused with 50035 for a wrong %s', async (field, body) => {
    const answer = await backed(guilds).as('2')('update_guild', { params, body });
    expect(answer).toMatchObject({ status: 400, body: { code: 50035, errors: { [field]: {} } } });
  });
});
