// Goal: the operator alone sets a guild's premium tier, and limits follow it up and down.
import { describe, expect, it } from 'vitest';
import { guildRules } from '../../../engine/guild/rules.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, role } from '../../support/guild.ts';
import { envAt, fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const ALL = P.ADMINISTRATOR | P.CREATE_GUILD_EXPRESSIONS;

function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('100', ALL, 1)],
    members: [fullMember('10', ['100'])],
  });
  guild.info = { ...guild.info, premium_tier: 0, premium_subscription_count: 0, features: ['NEWS'] };
  const set = (tier: number) => {
    const outcome = guildRules.decide(guild, 'setPremiumTier', { tier }, SYSTEM, envAt());
    if (outcome.ok) for (const fact of outcome.facts) guildRules.apply(guild, fact);
    return outcome;
  };
  const emoji = (n: number) =>
    ruled(guild, 'createEmoji', { emojiId: `${1000 + n}`, name: `e${n}x`, roles: [], animated: false }, '10');
  return { guild, set, emoji };
}

describe('the premium tier', () => {
  it('is refused to administrators of the guild', () => {
    const { guild } = arrange();
    expect(ruled(guild, 'setPremiumTier', { tier: 3 }, '10').code).toBe(50013);
    expect(guild.info.premium_tier).toBe(0);
  });

  it('changes the count of boosts that clients show, and the third unlocks a vanity URL', () => {
    const { guild, set } = arrange();
    for (const [tier, boosts, features] of [
      [1, 2, ['NEWS']],
      [3, 14, ['NEWS', 'VANITY_URL']],
      [2, 7, ['NEWS']],
      [0, 0, ['NEWS']],
    ] as const) {
      set(tier);
      expect(guild.info).toMatchObject({ premium_tier: tier, premium_subscription_count: boosts, features });
    }
  });

  it('creates no fact when it does not change', () => {
    const { set } = arrange();
    expect(set(0)).toMatchObject({ ok: true, facts: [] });
  });

  it('raises the limit of emoji at once; a lower tier keeps existing emoji and rejects new ones', () => {
    const { guild, set, emoji } = arrange();
    for (let n = 0; n < 50; n += 1) emoji(n);
    expect(emoji(50).code).toBe(30008);
    set(1);
    expect(emoji(50).outcome.ok).toBe(true);
    set(0);
    expect(guild.expressions.emojis.size).toBe(51);
    expect(emoji(51).code).toBe(30008);
  });
});
