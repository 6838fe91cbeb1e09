import type { GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { UserStore } from '../../storage/user/port.ts';

/**
 * Why a user may not join one more guild; null for one who may. Joins at the same time may exceed the limit by a few.
 *
 * @param joining The guild to join, if the user may be its member already: then joining it changes nothing.
 */
export async function membershipRefusal(
  users: Pick<UserStore, 'guildIds'>,
  { userId, bot = false }: { readonly userId: UserId; readonly bot?: boolean },
  joining?: GuildId,
): Promise<Refusal | null> {
  const guildIds = await users.guildIds(userId);
  if (joining !== undefined && guildIds.includes(joining)) return null;
  const max = bot ? LIMITS.guilds_per_bot_max : LIMITS.guilds_per_user_max;
  return guildIds.length < max ? null : refusal('MAXIMUM_GUILDS');
}
