import { refusal } from '../../protocol/refusal.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import type { GuildTopic } from './topic.ts';

type PremiumTierCommands = {
  /** Sets the tier, from 0 to 3; for the operator. Limits of emoji, stickers, sounds and bitrates follow from it. */
  setPremiumTier: { input: { readonly tier: number }; value: null };
};

/** Boosts that a tier needs, by tier: the count that clients show. */
const BOOSTS = [0, 2, 7, 14];
/** How many may show their video on a stage, by tier. */
const STAGE_VIDEO_USERS = [50, 50, 150, 300];
/** The feature that the third tier alone unlocks; the other features of tiers are enabled in every guild. */
const THIRD_TIER_FEATURE = 'VANITY_URL';

/** A guild's premium tier: nothing is sold here, so the operator sets it. */
export const premiumTier: GuildTopic<PremiumTierCommands, never> = {
  commands: {
    setPremiumTier: {
      decide: (guild, { tier }, by) => {
        if (!by.system) return refused(refusal('MISSING_PERMISSIONS'));
        if (guild.info.premium_tier === tier) return accepted(null);
        const others = guild.info.features.filter((feature) => feature !== THIRD_TIER_FEATURE);
        const info = {
          ...guild.info,
          premium_tier: tier,
          premium_subscription_count: BOOSTS[tier] ?? 0,
          max_stage_video_channel_users: STAGE_VIDEO_USERS[tier] ?? 50,
          features: tier === 3 ? [...others, THIRD_TIER_FEATURE] : others,
        };
        return accepted(null, [{ type: 'guildUpdated', info }]);
      },
    },
  },
  facts: {},
};
