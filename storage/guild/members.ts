import type { MemberFacts } from '../../engine/guild/facts.ts';
import type { Member } from '../../engine/guild/guild.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import { memberJoined, memberLeft } from './formermembers.ts';
import { tagLeft } from './tagupdates.ts';

const COLUMNS = {
  guild_id: 'bigint',
  user_id: 'bigint',
  roles: 'bigint[]',
  nick_search: 'text',
  data: 'jsonb',
};

/**
 * The names for the search are taken from the stored user, not from the fact. The user is stored before the member; without
 * the user `username_search` would be null and the write would fail.
 */
const WRITE = `
INSERT INTO members (guild_id, user_id, roles, nick_search, data, username_search, name_search)
SELECT r.guild_id, r.user_id, r.roles, r.nick_search, r.data, u.username_search, u.name_search
FROM ${lastRows(COLUMNS, 'guild_id, user_id')} LEFT JOIN users u ON u.id = r.user_id
ON CONFLICT (guild_id, user_id) DO UPDATE SET roles = EXCLUDED.roles, nick_search = EXCLUDED.nick_search,
  data = EXCLUDED.data, username_search = EXCLUDED.username_search, name_search = EXCLUDED.name_search`;

const KEY = { user_id: 'bigint', guild_id: 'bigint' };
const ENTER = upsert('user_guilds', KEY, 'user_id, guild_id');
const ENTER_TEMPORARY = upsert('user_guilds', { ...KEY, temporary_since: 'text' }, 'user_id, guild_id');
const REMOVE = remove('members', KEY);
const LEAVE = remove('user_guilds', KEY);
const LEAVE_THREADS = remove('thread_members', KEY);
const FORGET_ANSWERS = remove('onboarding_answers', KEY);

/** Case folding for the prefix search, applied to stored names and queries. */
export const folded = (name: string | null | undefined): string | null => name?.toLowerCase() ?? null;

function written(guildId: string, member: Member): Statement {
  const { user, roles, ...data } = member;
  const row = { guild_id: guildId, user_id: user.id, roles, nick_search: folded(member.nick), data };
  return { sql: WRITE, row };
}

export const memberAdded = (
  guildId: string,
  { member, temporary }: MemberFacts['memberAdded'],
): readonly Statement[] => {
  const row = { user_id: member.user.id, guild_id: guildId };
  return [
    written(guildId, member),
    memberJoined(guildId, member.user.id),
    temporary
      ? { sql: ENTER_TEMPORARY, row: { ...row, temporary_since: member.joined_at } }
      : { sql: ENTER, row },
  ];
};

export const memberStatements: StatementTable<MemberFacts> = {
  memberAdded,
  memberUpdated: (guildId, { member }) => [written(guildId, member)],
  memberRemoved: (guildId, { user, timedOutUntil = null }) => [
    ...[REMOVE, LEAVE, LEAVE_THREADS, FORGET_ANSWERS].map((sql) => ({
      ...{ sql, row: { user_id: user.id, guild_id: guildId } },
    })),
    memberLeft(guildId, user.id, timedOutUntil),
    ...(user.bot ? [] : [tagLeft(guildId, user.id)]),
  ],
};

const SELECT = `SELECT m.data, m.roles::text[] AS roles, u.data AS "user" FROM members m JOIN users u ON u.id = m.user_id`;

interface MemberRow {
  readonly data: Omit<Member, 'user' | 'roles'>;
  readonly roles: Member['roles'];
  readonly user: Member['user'];
}

async function select(sql: Sql, rest: string, values: readonly unknown[]): Promise<Member[]> {
  const found = await sql.query<MemberRow>(`${SELECT} ${rest}`, values);
  return found.map(({ data, roles, user }) => ({ ...data, roles, user }));
}

export const members = (sql: Sql, guildId: GuildId, userIds: readonly UserId[]): Promise<Member[]> =>
  select(sql, 'WHERE m.guild_id = $1 AND m.user_id = ANY ($2::bigint[])', [guildId, userIds]);

export const membersAfter = (
  sql: Sql,
  guildId: GuildId,
  after: UserId | null,
  limit: number,
): Promise<Member[]> =>
  select(sql, 'WHERE m.guild_id = $1 AND m.user_id > $2 ORDER BY m.user_id LIMIT $3', [
    guildId,
    after ?? '0',
    limit,
  ]);

/** The columns are in byte order; U+10FFFF sorts after everything that can follow the prefix. */
const BY_PREFIX = `JOIN (
  ${['nick_search', 'username_search', 'name_search']
    .map((name) => `SELECT user_id FROM members WHERE guild_id = $1 AND ${name} >= $2 AND ${name} < $3`)
    .join(' UNION ')}
) found ON found.user_id = m.user_id WHERE m.guild_id = $1 ORDER BY m.user_id LIMIT $4`;

export function membersByPrefix(
  sql: Sql,
  guildId: GuildId,
  prefix: string,
  limit: number,
): Promise<Member[]> {
  const from = prefix.toLowerCase();
  if (from === '') return membersAfter(sql, guildId, null, limit);
  return select(sql, BY_PREFIX, [guildId, from, `${from}\u{10FFFF}`, limit]);
}
