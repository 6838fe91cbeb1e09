import type { BanFacts } from '../../engine/guild/facts.ts';
import type { Ban } from '../../engine/guild/guild.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';

const KEY = { guild_id: 'bigint', user_id: 'bigint' };
const WRITE = upsert('bans', { ...KEY, reason: 'text' }, 'guild_id, user_id');
const REMOVE = remove('bans', KEY);

export const banStatements: StatementTable<BanFacts> = {
  banAdded: (guildId, { ban }) => [
    { sql: WRITE, row: { guild_id: guildId, user_id: ban.user.id, reason: ban.reason } },
  ],
  banRemoved: (guildId, { user }) => [{ sql: REMOVE, row: { guild_id: guildId, user_id: user.id } }],
};

const SELECT =
  'SELECT u.data AS "user", b.reason FROM bans b JOIN users u ON u.id = b.user_id WHERE b.guild_id = $1';

/** Bans, ascending by user id. With both `before` and `after` only `before` is used, as on the platform. */
export async function bans(
  sql: Sql,
  guildId: GuildId,
  page: { before?: UserId; after?: UserId; limit: number },
): Promise<Ban[]> {
  if (page.before !== undefined) {
    const below = `${SELECT} AND b.user_id < $2 ORDER BY b.user_id DESC LIMIT $3`;
    return (await sql.query<Ban>(below, [guildId, page.before, page.limit])).reverse();
  }
  const above = `${SELECT} AND b.user_id > $2 ORDER BY b.user_id LIMIT $3`;
  return sql.query<Ban>(above, [guildId, page.after ?? '0', page.limit]);
}

export const bansOf = (sql: Sql, guildId: GuildId, userIds: readonly UserId[]): Promise<Ban[]> =>
  sql.query<Ban>(`${SELECT} AND b.user_id = ANY ($2::bigint[])`, [guildId, userIds]);
