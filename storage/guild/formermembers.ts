import type { FormerMember } from '../../engine/guild/guild.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type Statement, upsert } from '../database/statement.ts';

const KEY = { guild_id: 'bigint', user_id: 'bigint' };
const WRITE = upsert('former_members', { ...KEY, timed_out_until: 'text' }, 'guild_id, user_id');
const REMOVE = remove('former_members', KEY);

/** The row of a member who leaves. */
export const memberLeft = (guildId: string, userId: UserId, timedOutUntil: string | null): Statement => ({
  sql: WRITE,
  row: { guild_id: guildId, user_id: userId, timed_out_until: timedOutUntil },
});

/** Removes the row of a user who joins. */
export const memberJoined = (guildId: string, userId: UserId): Statement => ({
  sql: REMOVE,
  row: { guild_id: guildId, user_id: userId },
});

const SELECT = `SELECT user_id::text AS "userId", timed_out_until AS "timedOutUntil" FROM former_members
WHERE guild_id = $1 AND user_id = ANY ($2::bigint[])`;

export const formerMembersOf = (
  sql: Sql,
  guildId: GuildId,
  userIds: readonly UserId[],
): Promise<FormerMember[]> => sql.query<FormerMember>(SELECT, [guildId, userIds]);
