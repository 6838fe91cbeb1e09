import type { GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';

/** Condition under which members count as inactive. */
export interface Inactivity {
  /** Seen before this day, in whole UTC days since 1970. */
  readonly beforeDay: number;
  /** Members before this time, Unix milliseconds. */
  readonly joinedBeforeMs: number;
  /** The only roles that such a member may have. */
  readonly roleIds: readonly RoleId[];
}

/** The stored time has microseconds and an offset, which `timestamptz` reads. */
const INACTIVE = `
SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id LEFT JOIN seen_users s ON s.user_id = m.user_id
WHERE m.guild_id = $1 AND m.user_id > $2 AND m.roles <@ $3::bigint[] AND coalesce(s.day, 0) < $4::integer
  AND (m.data->>'joined_at')::timestamptz < to_timestamp($5::bigint / 1000.0)
  AND u.data->>'bot' IS DISTINCT FROM 'true'
ORDER BY m.user_id LIMIT $6`;

/** Inactive members, bots excluded, with ids above `after`, ascending. */
export async function inactiveMembers(
  sql: Sql,
  guildId: GuildId,
  { beforeDay, joinedBeforeMs, roleIds }: Inactivity,
  after: UserId | null,
  limit: number,
): Promise<UserId[]> {
  const values = [guildId, after ?? '0', roleIds, beforeDay, joinedBeforeMs, limit];
  const found = await sql.query<{ readonly user_id: UserId }>(INACTIVE, values);
  return found.map(({ user_id }) => user_id);
}
