/** Goal: a guild has as many expressions as its tier allows, and each is changed only by its creator and by managers. */
import { describe, expect, it } from 'vitest';
import { expressionLimits } from '../../../protocol/expressions.ts';
import type { RoleId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, OWNER_ID, role } from '../../support/guild.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

describe('the expression limits of a guild', () => {
  it.each([
    [0, [], 50, 5, 8],
    [1, [], 100, 15, 24],
    [2, [], 150, 30, 36],
    [3, [], 250, 60, 48],
    [4, [], 50, 5, 8],
    [0, ['MORE_EMOJI', 'MORE_STICKERS', 'MORE_SOUNDBOARD'], 200, 60, 96],
    [3, ['MORE_EMOJI'], 250, 60, 48],
  ])(
    'are, for tier %i with %j, %i emoji of each sort, %i stickers and %i sounds',
    (tier, features, ...limits) => {
      const { emojis, animatedEmojis, stickers, sounds } = expressionLimits(tier, features);
      expect([emojis, stickers, sounds]).toEqual(limits);
      expect(animatedEmojis).toBe(emojis);
    },
  );
});

/** User 10 creates, 11 manages, 12 does neither. */
const arrange = () =>
  buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('100', P.CREATE_GUILD_EXPRESSIONS, 1), role('101', P.MANAGE_GUILD_EXPRESSIONS, 2)],
    members: [fullMember('10', ['100']), fullMember('11', ['101']), fullMember('12')],
  });

describe('an expression', () => {
  const make = (guild: ReturnType<typeof arrange>, n: number, animated = false) =>
    ruled(guild, 'createEmoji', { emojiId: `${700 + n}`, name: `e${n}x`, roles: [], animated }, '10');

  it('is refused beyond the limit of its sort', () => {
    const guild = arrange();
    guild.info = { ...guild.info, premium_tier: 0, features: [] };
    for (let n = 0; n < 50; n += 1) expect(make(guild, n).outcome.ok).toBe(true);
    expect(make(guild, 50).code).toBe(30008);
    for (let n = 50; n < 100; n += 1) expect(make(guild, n, true).outcome.ok).toBe(true);
    expect(make(guild, 100, true).code).toBe(30018);
  });

  it('stays restricted to roles when the last role is deleted, until a manager changes it', () => {
    const guild = arrange();
    guild.info = { ...guild.info, premium_tier: 0, features: [] };
    for (const id of ['200', '201']) guild.roles.set(id as RoleId, role(id, 0n, 0));
    guild.members.set('13' as UserId, fullMember('13', ['200']));
    const roles = ['200', '201'];
    ruled(guild, 'createEmoji', { emojiId: '701', name: 'mine', roles, animated: false }, '10');
    const rolesShown = () => {
      const { outcome } = ruled(guild, 'getEmoji', { emojiId: '701' }, '12');
      return outcome.ok && (outcome.value as { roles: string[] }).roles;
    };
    const usedBy = () =>
      ['12', '13'].filter((as) => ruled(guild, 'useEmoji', { emojiId: '701' }, as).outcome.ok);
    expect([rolesShown(), usedBy()]).toEqual([roles, ['13']]);
    ruled(guild, 'deleteRole', { roleId: '201' }, OWNER_ID);
    expect([rolesShown(), usedBy()]).toEqual([['200'], ['13']]);
    ruled(guild, 'deleteRole', { roleId: '200' }, OWNER_ID);
    expect([rolesShown(), usedBy()]).toEqual([roles, []]);
    ruled(guild, 'updateEmoji', { emojiId: '701', roles: [] }, '11');
    expect([rolesShown(), usedBy()]).toEqual([[], ['12', '13']]);
  });

  it('is changed by its creator and by managers, and has a creator only for them', () => {
    const guild = arrange();
    guild.info = { ...guild.info, premium_tier: 0, features: [] };
    make(guild, 1);
    const rename = (name: string, as: string) => ruled(guild, 'updateEmoji', { emojiId: '701', name }, as);
    expect(rename('own', '10').outcome).toMatchObject({ ok: true, value: { name: 'own' } });
    expect(rename('managed', '11').outcome.ok).toBe(true);
    expect(rename('other', '12').code).toBe(50013);
    expect(ruled(guild, 'deleteEmoji', { emojiId: '701' }, '12').code).toBe(50013);
    const shown = (as: string) => ruled(guild, 'getEmoji', { emojiId: '701' }, as).outcome;
    expect(shown('11')).toMatchObject({ value: { user: { id: '10' } } });
    expect(shown('12')).not.toMatchObject({ value: { user: { id: '10' } } });
    expect(ruled(guild, 'deleteEmoji', { emojiId: '701' }, '10').dispatches[0]).toMatchObject({
      t: 'GUILD_EMOJIS_UPDATE',
      d: { guild_id: '1', emojis: [] },
      to: { kind: 'guild' },
    });
  });

  it('is in the preview of its guild, without its creator', () => {
    const guild = arrange();
    guild.info = { ...guild.info, premium_tier: 0, features: [] };
    make(guild, 1);
    const sticker = { stickerId: '801', name: 'wave', tags: 'wave', description: '', format: 1 };
    ruled(guild, 'createSticker', sticker, '10');
    const shown = ruled<object>(guild, 'previewGuild', {}, '11').outcome;
    expect(shown).toMatchObject({
      value: { emojis: [{ id: '701', name: 'e1x' }], stickers: [{ id: '801', name: 'wave' }] },
    });
    expect(JSON.stringify(shown)).not.toContain('"user"');
  });

  it('requires a verified or partnered guild if it is a Lottie sticker', () => {
    const guild = arrange();
    guild.info = { ...guild.info, premium_tier: 0, features: [] };
    const sticker = { stickerId: '801', name: 'wave', tags: 'wave', description: '', format: 3 };
    expect(ruled(guild, 'createSticker', sticker, '10').code).toBe(50046);
    for (const feature of ['VERIFIED', 'PARTNERED']) {
      guild.info = { ...guild.info, features: [feature] };
      expect(ruled(guild, 'createSticker', sticker, '10').outcome.ok).toBe(true);
    }
  });
});
