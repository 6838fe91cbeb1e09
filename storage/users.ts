import type { APIUser } from 'discord-api-types/v10';
import type { StoredToken, UserFacts } from '../engine/user/facts.ts';
import type { GuildId, UserId } from '../protocol/ids.ts';
import type { Sql } from './driver.ts';
import { folded } from './members.ts';
import type { TemporaryMembership, UserStore } from './ports.ts';
import { lastRows, remove, type Statement, type StatementTable, upsert } from './statement.ts';

const COLUMNS = { id: 'bigint', username_search: 'text', name_search: 'text', data: 'jsonb' };
const WRITE = upsert('users', COLUMNS, 'id');
/** The members of a renamed user repeat the names for their search. */
const RENAME = `
UPDATE members t SET username_search = r.username_search, name_search = r.name_search
FROM ${lastRows(COLUMNS, 'id')} JOIN user_guilds g ON g.user_id = r.id
WHERE t.guild_id = g.guild_id AND t.user_id = g.user_id
  AND (t.username_search, t.name_search) IS DISTINCT FROM (r.username_search, r.name_search)`;

const TOKEN = { user_id: 'bigint', id: 'bigint' };
const ISSUE = upsert('tokens', { ...TOKEN, kind: 'text', hash: 'text' }, 'user_id, id');
const REVOKE = remove('tokens', TOKEN);

const written = (sql: string, user: APIUser): Statement => ({
  sql,
  row: {
    id: user.id,
    username_search: folded(user.username),
    name_search: folded(user.global_name),
    data: user,
  },
});

export const userStatements: StatementTable<UserFacts> = {
  userCreated: (_, { user }) => [written(WRITE, user)],
  userUpdated: (_, { user }) => [written(WRITE, user), written(RENAME, user)],
  tokenIssued: (_, { token: { id, userId, kind, hash } }) => [
    { sql: ISSUE, row: { user_id: userId, id, kind, hash } },
  ],
  tokenRevoked: (ownerId, { tokenId }) => [{ sql: REVOKE, row: { user_id: ownerId, id: tokenId } }],
};

/** An owner is always a member, so that only the user's own guilds are looked at. */
const OWNED = `SELECT count(*) AS count FROM user_guilds u JOIN guilds g ON g.id = u.guild_id
WHERE u.user_id = $1 AND g.data->>'owner_id' = $1::bigint::text`;

interface Row {
  readonly data: APIUser;
}

export const userStore = (sql: Sql): UserStore => ({
  get: async (userIds) => {
    const text = 'SELECT data FROM users WHERE id = ANY ($1::bigint[])';
    return (await sql.query<Row>(text, [userIds])).map(({ data }) => data);
  },
  guildIds: async (userId) => {
    const text = 'SELECT guild_id AS id FROM user_guilds WHERE user_id = $1 ORDER BY guild_id';
    return (await sql.query<{ id: GuildId }>(text, [userId])).map(({ id }) => id);
  },
  temporaryGuilds: (userId) =>
    sql.query<TemporaryMembership>(
      'SELECT guild_id AS "guildId", temporary_since AS "joinedAt" FROM user_guilds WHERE user_id = $1 AND temporary_since IS NOT NULL ORDER BY guild_id',
      [userId],
    ),
  ownedGuildCount: async (userId) => {
    const [row] = await sql.query<{ count: string }>(OWNED, [userId]);
    return Number(row?.count ?? 0);
  },
  tokens: (userId) =>
    sql.query<StoredToken>(
      'SELECT id, user_id AS "userId", kind, hash FROM tokens WHERE user_id = $1 ORDER BY id',
      [userId],
    ),
  list: async (after: UserId | null, limit) => {
    const text = 'SELECT data FROM users WHERE id > $1 ORDER BY id LIMIT $2';
    return (await sql.query<Row>(text, [after ?? '0', limit])).map(({ data }) => data);
  },
});
