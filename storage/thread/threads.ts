import type { ThreadFacts } from '../../engine/guild/facts.ts';
import type { StoredThread } from '../../engine/guild/threads.state.ts';
import type { Thread, ThreadMember } from '../../engine/thread/thread.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { isoTimestamp, microsecondsOf } from '../../protocol/timestamps.ts';
import type { Sql } from '../database/driver.ts';
import {
  lastRows,
  remove,
  rows,
  type Statement,
  type StatementTable,
  upsert,
} from '../database/statement.ts';
import type { ArchivePage, ListedThread, ThreadSearch, ThreadStore } from './port.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert(
  'threads',
  {
    ...{ ...KEY, parent_id: 'bigint', type: 'smallint', archived: 'boolean', archive_us: 'bigint' },
    ...{ due_ms: 'bigint', message_count: 'integer', total_message_sent: 'integer', data: 'jsonb' },
  },
  'guild_id, id',
);
const WRITE_DIRECTORY = upsert(
  'channel_directory',
  { channel_id: 'bigint', guild_id: 'bigint' },
  'channel_id',
);
const COUNT = `UPDATE threads t SET message_count = r.message_count, total_message_sent = r.total_message_sent, due_ms = r.due_ms
FROM ${lastRows({ ...KEY, message_count: 'integer', total_message_sent: 'integer', due_ms: 'bigint' }, 'guild_id, id')}
WHERE t.guild_id = r.guild_id AND t.id = r.id`;
/** The purge deletes the messages later, as there may be millions. */
const DELETE = `
WITH r AS (SELECT guild_id, id FROM ${rows(KEY)}),
  purge AS (INSERT INTO purges SELECT DISTINCT guild_id, id FROM r ON CONFLICT DO NOTHING),
  a AS (DELETE FROM channel_directory t USING r WHERE t.channel_id = r.id),
  b AS (DELETE FROM channel_activity t USING r WHERE t.owner_id = r.guild_id AND t.channel_id = r.id),
  c AS (DELETE FROM thread_members t USING r WHERE t.guild_id = r.guild_id AND t.thread_id = r.id)
DELETE FROM threads t USING r WHERE t.guild_id = r.guild_id AND t.id = r.id`;
const MEMBER = { guild_id: 'bigint', thread_id: 'bigint', user_id: 'bigint' };
const ENTER = upsert(
  'thread_members',
  { ...MEMBER, join_timestamp: 'text', flags: 'integer' },
  'guild_id, thread_id, user_id',
);
const LEAVE = remove('thread_members', MEMBER);

function written(guildId: string, { thread, dueMs }: ThreadFacts['threadUpdated']): Statement {
  const {
    last_message_id: _message,
    last_pin_timestamp: _pin,
    member_count: _members,
    message_count,
    total_message_sent,
    ...data
  } = thread;
  return {
    sql: WRITE,
    row: {
      ...{ guild_id: guildId, id: thread.id, parent_id: thread.parent_id, type: thread.type, data },
      archived: thread.thread_metadata.archived,
      archive_us: microsecondsOf(thread.thread_metadata.archive_timestamp),
      due_ms: dueMs,
      ...{ message_count, total_message_sent },
    },
  };
}

const entered = (guildId: string, threadId: ChannelId, all: readonly ThreadMember[]): Statement[] =>
  all.map((member) => ({ sql: ENTER, row: { guild_id: guildId, thread_id: threadId, ...member } }));

export const threadStatements: StatementTable<ThreadFacts> = {
  threadCreated: (guildId, { thread, dueMs, members }) => [
    written(guildId, { thread, dueMs }),
    { sql: WRITE_DIRECTORY, row: { channel_id: thread.id, guild_id: guildId } },
    ...entered(guildId, thread.id, members),
  ],
  threadUpdated: (guildId, fact) => [written(guildId, fact)],
  threadDeleted: (guildId, { thread }) => [{ sql: DELETE, row: { guild_id: guildId, id: thread.id } }],
  threadMembersChanged: (guildId, { threadId, added, removed }) => [
    ...removed.map((userId) => ({
      sql: LEAVE,
      row: { guild_id: guildId, thread_id: threadId, user_id: userId },
    })),
    ...entered(guildId, threadId, added),
  ],
  threadCounted: (guildId, { threadId, messageCount, totalMessageSent, dueMs }) => [
    {
      sql: COUNT,
      row: {
        ...{ guild_id: guildId, id: threadId, message_count: messageCount },
        ...{ total_message_sent: totalMessageSent, due_ms: dueMs },
      },
    },
  ],
};

/** A thread `t` with its activity, as a value of a SELECT. */
const OBJECT = `t.data || jsonb_build_object('message_count', t.message_count, 'total_message_sent', t.total_message_sent,
    'last_message_id', a.last_message_id::text, 'last_pin_ms', a.last_pin_ms, 'member_count',
    (SELECT count(*) FROM (SELECT 1 FROM thread_members c WHERE c.guild_id = t.guild_id AND c.thread_id = t.id
      LIMIT ${LIMITS.thread_member_count_max}) counted))`;
const MEMBERS = `coalesce((SELECT jsonb_agg(jsonb_build_object('user_id', m.user_id::text, 'join_timestamp', m.join_timestamp,
    'flags', m.flags) ORDER BY m.user_id) FROM thread_members m WHERE m.guild_id = t.guild_id AND m.thread_id = t.id), '[]')`;
const FROM = 'FROM threads t LEFT JOIN channel_activity a ON a.owner_id = t.guild_id AND a.channel_id = t.id';

/** The active threads of the guild `g`, each with its members, as a value of a SELECT. */
export const ACTIVE_THREADS = `coalesce((SELECT jsonb_agg(jsonb_build_object('thread', ${OBJECT}, 'members', ${MEMBERS}) ORDER BY t.id)
    ${FROM} WHERE t.guild_id = g.id AND NOT t.archived), '[]')`;

export interface ThreadRow {
  readonly thread: Thread & { readonly last_pin_ms: number | null };
  readonly members: readonly ThreadMember[];
}

const threadOf = ({ last_pin_ms: pinMs, ...thread }: ThreadRow['thread']): Thread => ({
  ...thread,
  last_pin_timestamp: pinMs === null ? null : isoTimestamp(pinMs),
});

export const storedThread = ({ thread, members }: ThreadRow): StoredThread => ({
  thread: threadOf(thread),
  members,
});

const PRIVATE = `t.type = ${CHANNEL.PRIVATE_THREAD}`;
const KINDS = {
  public: { where: `NOT (${PRIVATE})`, order: 't.archive_us DESC, t.id DESC' },
  private: { where: PRIVATE, order: 't.archive_us DESC, t.id DESC' },
  joined: { where: `${PRIVATE} AND own.user_id IS NOT NULL`, order: 't.id DESC' },
} as const satisfies Record<ArchivePage['kind'], object>;

/** Above every id and every time. */
const HIGHEST = '9223372036854775807';
const LOWEST = '-1';

type OwnRow = Pick<ThreadRow, 'thread'> & { readonly own: ThreadMember | null };
/** The membership of the reader, $3, in a thread. */
const OWN = `CASE WHEN own.user_id IS NULL THEN NULL ELSE jsonb_build_object('user_id', own.user_id::text,
  'join_timestamp', own.join_timestamp, 'flags', own.flags) END`;
const JOIN_OWN =
  'LEFT JOIN thread_members own ON own.guild_id = t.guild_id AND own.thread_id = t.id AND own.user_id = $3';
const listed = ({ thread, own }: OwnRow): ListedThread => ({ thread: threadOf(thread), own });

async function archived(
  sql: Sql,
  guildId: GuildId,
  { parentId, kind, readerId, beforeUs, beforeId, limit }: ArchivePage,
): Promise<ListedThread[]> {
  const { where, order } = KINDS[kind];
  const found = await sql.query<OwnRow>(
    `SELECT ${OBJECT} AS thread, ${OWN} AS own
     ${FROM} ${JOIN_OWN}
     WHERE t.guild_id = $1 AND t.parent_id = $2 AND t.archived AND ${where} AND t.archive_us < $4 AND t.id < $5
     ORDER BY ${order} LIMIT $6`,
    [guildId, parentId, readerId, beforeUs ?? HIGHEST, beforeId ?? HIGHEST, limit],
  );
  return found.map(listed);
}

/** The sort order of found threads. Names that contain all words rank equally. */
const SORTS = {
  relevance: 'coalesce(a.last_message_id, t.id)',
  last_message_time: 'coalesce(a.last_message_id, t.id)',
  creation_time: 't.id',
  archive_time: 't.archive_us',
} as const satisfies Record<ThreadSearch['sortBy'], string>;

const escaped = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`;

async function search(sql: Sql, guildId: GuildId, wanted: ThreadSearch) {
  const { parentId, readerId, words, tags, matchesAll, archived: isArchived, sortBy } = wanted;
  const order = wanted.ascends ? 'ASC' : 'DESC';
  const found = await sql.query<OwnRow & { total: string }>(
    `SELECT ${OBJECT} AS thread, ${OWN} AS own, count(*) OVER () AS total
     ${FROM} ${JOIN_OWN}
     WHERE t.guild_id = $1 AND t.parent_id = $2 AND NOT (${PRIVATE}) AND ($4::boolean IS NULL OR t.archived = $4)
       AND t.id > $5 AND t.id < $6 AND lower(t.data->>'name') LIKE ALL ($7::text[])
       AND (cardinality($8::text[]) = 0 OR CASE WHEN $9 THEN t.data->'applied_tags' ?& $8 ELSE t.data->'applied_tags' ?| $8 END)
     ORDER BY ${SORTS[sortBy]} ${order}, t.id ${order} LIMIT $10 OFFSET $11`,
    [
      ...[guildId, parentId, readerId, isArchived, wanted.minId ?? LOWEST, wanted.maxId ?? HIGHEST],
      ...[words.map(escaped), tags, matchesAll, wanted.limit, wanted.offset],
    ],
  );
  return { found: found.map(listed), total: Number(found[0]?.total ?? 0) };
}

/** A thread's `archive_us` is never before its creation, so that the index on parents bounds the read. */
const LAST_OF_USER = `SELECT max(data->'thread_metadata'->>'create_timestamp') AS at FROM threads
WHERE guild_id = $1 AND parent_id = $2 AND archive_us >= $3 AND data->>'owner_id' = $4`;

export const threadStore = (sql: Sql): ThreadStore => ({
  async get(guildId, ids) {
    const found = await sql.query<ThreadRow>(
      `SELECT ${OBJECT} AS thread, ${MEMBERS} AS members ${FROM} WHERE t.guild_id = $1 AND t.id = ANY ($2::bigint[])`,
      [guildId, ids],
    );
    return found.map(storedThread);
  },
  archived: (guildId, page) => archived(sql, guildId, page),
  async listed(guildId, readerId, ids) {
    if (ids.length === 0) return [];
    const found = await sql.query<OwnRow>(
      `SELECT ${OBJECT} AS thread, ${OWN} AS own ${FROM} ${JOIN_OWN}
       WHERE t.guild_id = $1 AND t.id = ANY ($2::bigint[]) ORDER BY t.id DESC`,
      [guildId, ids, readerId],
    );
    return found.map(listed);
  },
  search: (guildId, wanted) => search(sql, guildId, wanted),
  async lastOfUserMs(guildId, parentId, userId, sinceMs) {
    const [last] = await sql.query<{ at: string | null }>(LAST_OF_USER, [
      ...[guildId, parentId, sinceMs * 1_000, userId],
    ]);
    return last?.at ? Date.parse(last.at) : null;
  },
  due: async (nowMs, after, limit) => {
    const found = await sql.query<{ id: GuildId }>(
      'SELECT DISTINCT guild_id AS id FROM threads WHERE due_ms <= $1 AND guild_id > $2 ORDER BY guild_id LIMIT $3',
      [nowMs, after ?? LOWEST, limit],
    );
    return found.map(({ id }) => id);
  },
  nextDueMs: async () => {
    const [row] = await sql.query<{ ms: string | null }>('SELECT min(due_ms) AS ms FROM threads');
    return row?.ms == null ? null : Number(row.ms);
  },
});
