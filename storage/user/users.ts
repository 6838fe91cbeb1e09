import type { StoredToken, UserFacts } from '../../engine/user/facts.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { usernameKeys } from '../../protocol/usernames.ts';
import type { Sql } from '../database/driver.ts';
import {
  lastRows,
  remove,
  rows,
  type Statement,
  type StatementTable,
  upsert,
} from '../database/statement.ts';
import { folded } from '../guild/members.ts';
import type { TemporaryMembership, UserStore } from './port.ts';

const COLUMNS = { id: 'bigint', username_search: 'text', name_search: 'text', data: 'jsonb' };
const WRITE = upsert('users', COLUMNS, 'id');
/** Updates the copies of a renamed user's names in their members, which the search uses. */
const RENAME = `
UPDATE members t SET username_search = r.username_search, name_search = r.name_search
FROM ${lastRows(COLUMNS, 'id')} JOIN user_guilds g ON g.user_id = r.id
WHERE t.guild_id = g.guild_id AND t.user_id = g.user_id
  AND (t.username_search, t.name_search) IS DISTINCT FROM (r.username_search, r.name_search)`;

const NAME = { key: 'text', user_id: 'bigint' };
/**
 * Not an upsert: when two users take one name at the same time, the second commit must fail. The owner is looked up for
 * each row, because PostgreSQL expects 100 rows and would join them by a scan of a table that is not large.
 */
const TAKE_NAME = `INSERT INTO usernames (key, user_id) SELECT DISTINCT r.key, r.user_id FROM ${rows(NAME)}
WHERE r.user_id IS DISTINCT FROM (SELECT u.user_id FROM usernames u WHERE u.key = r.key)`;
const RELEASE_NAMES = `DELETE FROM usernames t USING ${rows({ user_id: 'bigint', kept: 'text[]' })}
WHERE t.user_id = r.user_id AND NOT t.key = ANY (r.kept)`;

const TOKEN = { user_id: 'bigint', id: 'bigint' };
const ISSUE = upsert('tokens', { ...TOKEN, kind: 'text', hash: 'text' }, 'user_id, id');
const REVOKE = remove('tokens', TOKEN);

/** A mark only increases: sessions of one user may end at several shards. */
const SEEN = `INSERT INTO seen_users AS s (user_id, day)
SELECT user_id, max(day) FROM ${rows({ user_id: 'bigint', day: 'integer' })} GROUP BY user_id
ON CONFLICT (user_id) DO UPDATE SET day = GREATEST(s.day, EXCLUDED.day)`;

const written = (sql: string, user: APIUser): Statement => ({
  sql,
  row: {
    id: user.id,
    username_search: folded(user.username),
    name_search: folded(user.global_name),
    data: user,
  },
});

/** Reserves the names of users, which are unique; bots' names are not. */
const named = (user: APIUser): Statement[] =>
  user.bot
    ? []
    : usernameKeys(user.username).map((key) => ({ sql: TAKE_NAME, row: { key, user_id: user.id } }));

const renamed = (user: APIUser): Statement[] =>
  user.bot
    ? []
    : [{ sql: RELEASE_NAMES, row: { user_id: user.id, kept: usernameKeys(user.username) } }, ...named(user)];

export const userStatements: StatementTable<UserFacts> = {
  userCreated: (_, { user }) => [written(WRITE, user), ...named(user)],
  userUpdated: (_, { user }) => [written(WRITE, user), written(RENAME, user), ...renamed(user)],
  tokenIssued: (_, { token: { id, userId, kind, hash } }) => [
    { sql: ISSUE, row: { user_id: userId, id, kind, hash } },
  ],
  tokenRevoked: (ownerId, { tokenId }) => [{ sql: REVOKE, row: { user_id: ownerId, id: tokenId } }],
  userSeen: (ownerId, { day }) => [{ sql: SEEN, row: { user_id: ownerId, day } }],
};

/** An owner is always a member, so only the user's own guilds are examined. */
const OWNED = `SELECT count(*) AS count FROM user_guilds u JOIN guilds g ON g.id = u.guild_id
WHERE u.user_id = $1 AND g.data->>'owner_id' = $1::bigint::text`;

interface UserRow {
  readonly data: APIUser;
}

/** Whether another user has the same name or a look-alike. The name of a bot is never reserved. */
const TAKEN = `SELECT 1 FROM usernames WHERE key = ANY ($1::text[]) AND user_id IS DISTINCT FROM $2::bigint
AND NOT EXISTS (SELECT 1 FROM users WHERE id = $2::bigint AND data->>'bot' = 'true') LIMIT 1`;

export const userStore = (sql: Sql): UserStore => ({
  usernameTaken: async (username, userId) =>
    (await sql.query(TAKEN, [usernameKeys(username), userId])).length > 0,
  get: async (userIds) => {
    const text = 'SELECT data FROM users WHERE id = ANY ($1::bigint[])';
    return (await sql.query<UserRow>(text, [userIds])).map(({ data }) => data);
  },
  peopleNamed: async (username) => {
    const text = `SELECT data FROM users WHERE username_search = $1 AND data->>'bot' IS NULL ORDER BY id LIMIT 2`;
    return (await sql.query<UserRow>(text, [folded(username)])).map(({ data }) => data);
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
  temporaryUsers: async (after, limit) => {
    const text =
      'SELECT DISTINCT user_id AS id FROM user_guilds WHERE temporary_since IS NOT NULL AND user_id > $1 ORDER BY user_id LIMIT $2';
    return (await sql.query<{ id: UserId }>(text, [after ?? '0', limit])).map(({ id }) => id);
  },
  ownedGuildCount: async (userId) => {
    const [row] = await sql.query<{ count: string }>(OWNED, [userId]);
    return Number(row?.count ?? 0);
  },
  tokens: (userIds) =>
    sql.query<StoredToken>(
      'SELECT id, user_id AS "userId", kind, hash FROM tokens WHERE user_id = ANY($1::bigint[]) ORDER BY id',
      [userIds],
    ),
  list: async (after: UserId | null, limit) => {
    const text = 'SELECT data FROM users WHERE id > $1 ORDER BY id LIMIT $2';
    return (await sql.query<UserRow>(text, [after ?? '0', limit])).map(({ data }) => data);
  },
});
