import type { JoinRequestFacts } from '../../engine/guild/facts.ts';
import type { JoinRequest } from '../../engine/guild/joinrequests.types.ts';
import type { GuildId, JoinRequestId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import type { JoinRequestFilter } from './port.ts';

const KEY = { guild_id: 'bigint', user_id: 'bigint' };
const WRITE = upsert(
  'join_requests',
  { ...KEY, id: 'bigint', status: 'text', data: 'jsonb' },
  'guild_id, user_id',
);
const REMOVE = remove('join_requests', KEY);

export const joinRequestStatements: StatementTable<JoinRequestFacts> = {
  joinRequestWritten: (guildId, { request: { id, user, status, ...data } }) => [
    { sql: WRITE, row: { guild_id: guildId, user_id: user.id, id, status, data } },
  ],
  joinRequestDeleted: (guildId, { request: { user } }) => [
    { sql: REMOVE, row: { guild_id: guildId, user_id: user.id } },
  ],
};

interface JoinRequestRow {
  readonly id: JoinRequestId;
  readonly status: JoinRequest['status'];
  readonly data: Omit<JoinRequest, 'id' | 'status' | 'user'>;
  readonly user: JoinRequest['user'];
}

const SELECT = `SELECT j.id::text AS id, j.status, j.data, u.data AS "user"
FROM join_requests j JOIN users u ON u.id = j.user_id WHERE j.guild_id = $1`;

const requestOf = ({ id, status, data, user }: JoinRequestRow): JoinRequest => ({
  id,
  user,
  status,
  ...data,
});

export async function joinRequestsOf(
  sql: Sql,
  guildId: GuildId,
  userIds: readonly UserId[],
): Promise<JoinRequest[]> {
  const found = await sql.query<JoinRequestRow>(`${SELECT} AND j.user_id = ANY ($2::bigint[])`, [
    guildId,
    userIds,
  ]);
  return found.map(requestOf);
}

/** Newest first. With both `before` and `after` only `before` is used, as in other lists. */
export async function joinRequests(
  sql: Sql,
  guildId: GuildId,
  { statuses, before, after, limit }: JoinRequestFilter,
): Promise<{ total: number; requests: JoinRequest[] }> {
  const COUNT =
    'SELECT count(*)::int AS total FROM join_requests WHERE guild_id = $1 AND status = ANY ($2::text[])';
  const [count] = await sql.query<{ readonly total: number }>(COUNT, [guildId, statuses]);
  const isUp = after !== undefined && before === undefined;
  const edge = before ?? after;
  const where = edge === undefined ? '' : `AND j.id ${isUp ? '>' : '<'} $4::bigint`;
  const order = isUp ? '' : 'DESC';
  // The index has the ids of one status in order, so each status is read for itself and at most `limit` rows far.
  const page = `SELECT p.* FROM unnest($2::text[]) AS wanted (status), LATERAL (
    ${SELECT} AND j.status = wanted.status ${where} ORDER BY j.id ${order} LIMIT $3::int
  ) AS p ORDER BY p.id::bigint ${order} LIMIT $3::int`;
  const found = await sql.query<JoinRequestRow>(page, [
    guildId,
    statuses,
    limit,
    ...(edge === undefined ? [] : [edge]),
  ]);
  return { total: count?.total ?? 0, requests: (isUp ? found.reverse() : found).map(requestOf) };
}

export async function joinRequestUser(
  sql: Sql,
  guildId: GuildId,
  requestId: JoinRequestId,
): Promise<UserId | null> {
  const text = 'SELECT user_id::text AS user_id FROM join_requests WHERE guild_id = $1 AND id = $2::bigint';
  const [found] = await sql.query<{ readonly user_id: UserId }>(text, [guildId, requestId]);
  return found?.user_id ?? null;
}

const PENDING = `SELECT user_id::text AS user_id FROM members
WHERE guild_id = $1 AND data->>'pending' = 'true' AND user_id > $2::bigint ORDER BY user_id LIMIT $3::int`;

export async function pendingMembers(
  sql: Sql,
  guildId: GuildId,
  after: UserId | null,
  limit: number,
): Promise<UserId[]> {
  const found = await sql.query<{ readonly user_id: UserId }>(PENDING, [guildId, after ?? '0', limit]);
  return found.map(({ user_id }) => user_id);
}
