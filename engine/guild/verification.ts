import { GuildMemberFlags } from 'discord-api-types/v10';
import { snowflakeMs } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { By } from '../kernel/authority.ts';
import type { Env } from '../kernel/outcome.ts';
import type { Guild } from './guild.ts';

/** A guild's `verification_level`. */
const LEVEL = { MEDIUM: 2, HIGH: 3, VERY_HIGH: 4 } as const;

/** How old an account, and how long ago a member joined, at least. */
const ACCOUNT_AGE_MS = 5 * 60_000;
const MEMBERSHIP_AGE_MS = 10 * 60_000;

/**
 * Why a member may not speak in the guild yet: 50009 by its verification level. Members with a role or
 * the flag BYPASSES_VERIFICATION, bots and the owner always may. LOW asks for a confirmed address and VERY_HIGH for a phone number: accounts of this server count as
 * confirmed, and have no phone numbers, so that VERY_HIGH asks for a role.
 *
 * @source https://docs.discord.com/developers/resources/guild#guild-object-verification-level
 */
export function verificationRefusal({ info, members }: Guild, by: By, env: Env): Refusal | null {
  const level = info.verification_level ?? 0;
  const member = members.get(by.userId);
  // What needs no permission, such as a vote, is not for those who have not passed the screening.
  if (member?.pending && by.userId !== info.owner_id) return refusal('MISSING_PERMISSIONS');
  if (level < LEVEL.MEDIUM || by.bot || by.system || by.userId === info.owner_id) return null;
  if (!member || member.user.bot || member.roles.length > 0) return null;
  if (member.flags & GuildMemberFlags.BypassesVerification) return null;
  const isOld = env.nowMs - snowflakeMs(by.userId) >= ACCOUNT_AGE_MS;
  const isLong = level < LEVEL.HIGH || env.nowMs - joinedMs(member.joined_at) >= MEMBERSHIP_AGE_MS;
  return isOld && isLong && level < LEVEL.VERY_HIGH ? null : refusal('VERIFICATION_LEVEL_TOO_HIGH');
}

const joinedMs = (joinedAt: string | null | undefined): number => (joinedAt ? Date.parse(joinedAt) : 0);
