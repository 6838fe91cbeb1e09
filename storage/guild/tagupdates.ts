import type { GuildTag } from '../../engine/guild/pages.types.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { rows, type Statement } from '../database/statement.ts';
import type { TagStore, TagUpdate } from './port.ts';

const KEY = { guild_id: 'bigint', user_id: 'bigint' };
/** Stands for all users of the tag. */
const ALL = '0';
const AGAIN = 'ON CONFLICT (guild_id, user_id) DO UPDATE SET seq = DEFAULT';

const QUEUE = `INSERT INTO tag_updates (guild_id, user_id)
SELECT DISTINCT r.guild_id, r.user_id FROM ${rows(KEY)} ${AGAIN}`;
const QUEUE_LEFT = `INSERT INTO tag_updates (guild_id, user_id)
SELECT DISTINCT r.guild_id, r.user_id FROM ${rows(KEY)}
JOIN users u ON u.id = r.user_id AND u.data->'primary_guild'->>'identity_guild_id' = r.guild_id::text ${AGAIN}`;

/** Queues all users of a guild's tag. */
export const tagChanged = (guildId: string): Statement => ({
  sql: QUEUE,
  row: { guild_id: guildId, user_id: ALL },
});

/** Queues a former member who shows the guild's tag. The stored user decides: the guild may have an older copy. */
export const tagLeft = (guildId: string, userId: UserId): Statement => ({
  sql: QUEUE_LEFT,
  row: { guild_id: guildId, user_id: userId },
});

/** Queues all users of the tags of deleted guilds; part of a statement in which `r` has their ids. */
export const TAGS_OF_DELETED = `INSERT INTO tag_updates (guild_id, user_id)
  SELECT t.guild_id, ${ALL} FROM guild_pages t JOIN r ON t.guild_id = r.id AND t.page = 'tag' ${AGAIN}`;

export const tagStore = (sql: Sql): TagStore => ({
  updates: (after, limit) =>
    sql.query<TagUpdate>(
      `SELECT guild_id AS "guildId", nullif(user_id, ${ALL}) AS "userId", seq FROM tag_updates
       WHERE seq > $1 ORDER BY seq LIMIT $2`,
      [after ?? '0', limit],
    ),
  drop: async ({ guildId, userId, seq }) => {
    const text = 'DELETE FROM tag_updates WHERE guild_id = $1 AND user_id = $2 AND seq = $3';
    await sql.query(text, [guildId, userId ?? ALL, seq]);
  },
  of: async (guildId) => {
    const text = `SELECT data FROM guild_pages WHERE guild_id = $1 AND page = 'tag'`;
    return (await sql.query<{ data: GuildTag }>(text, [guildId]))[0]?.data ?? null;
  },
  users: async (guildId, after, limit) => {
    const text = `SELECT id FROM users WHERE data->'primary_guild'->>'identity_guild_id' = $1 AND id > $2
      ORDER BY id LIMIT $3`;
    return (await sql.query<{ id: UserId }>(text, [guildId, after ?? '0', limit])).map(({ id }) => id);
  },
});
