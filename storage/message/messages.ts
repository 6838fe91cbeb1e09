import type { MessagePage } from '../../engine/channel/recent.ts';
import type { MessageFacts } from '../../engine/guild/facts.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { areReadable } from '../../protocol/components.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, rows, type Statement, type StatementTable } from '../database/statement.ts';
import { deadlineOf, pollsGone, withoutVotes } from './polls.ts';
import { SEARCH_OF_ROW, searchTerms } from './terms.ts';

const KEY = { owner_id: 'bigint', channel_id: 'bigint', id: 'bigint' };
const SAME = 't.owner_id = r.owner_id AND t.channel_id = r.channel_id AND t.id = r.id';

/**
 * Not an upsert: a duplicate id must fail, or the second message would replace an acknowledged one. The last message of a
 * channel is the one with the greatest id, whatever their order of arrival.
 */
const CREATE = `
WITH r AS (SELECT * FROM ${rows({ ...KEY, author_id: 'bigint', pinned_ms: 'bigint', data: 'jsonb', terms: 'text[]' })}),
  m AS (INSERT INTO messages (owner_id, channel_id, id, author_id, pinned_ms, data, search)
        SELECT owner_id, channel_id, id, author_id, pinned_ms, data, ${SEARCH_OF_ROW} FROM r)
INSERT INTO channel_activity AS a (owner_id, channel_id, last_message_id)
SELECT owner_id, channel_id, max(id) FROM r GROUP BY owner_id, channel_id ORDER BY owner_id, channel_id
ON CONFLICT (owner_id, channel_id) DO UPDATE
SET last_message_id = greatest(a.last_message_id, EXCLUDED.last_message_id)`;

/** Returns `FilesRow`s, as deleting does; joins the same row again for its files before the update. */
const UPDATE = `UPDATE messages t SET data = r.data, search = ${SEARCH_OF_ROW}
FROM ${lastRows({ ...KEY, data: 'jsonb', terms: 'text[]' }, 'owner_id, channel_id, id')}
JOIN messages o ON o.owner_id = r.owner_id AND o.channel_id = r.channel_id AND o.id = r.id
WHERE ${SAME} RETURNING t.channel_id, o.data->'files' AS files, r.data->'files' AS kept`;

const DELETE = `
WITH r AS (SELECT * FROM ${rows(KEY)}),
  c AS (DELETE FROM reaction_counts t USING r WHERE t.owner_id = r.owner_id AND t.message_id = r.id),
  u AS (DELETE FROM reactions t USING r WHERE t.owner_id = r.owner_id AND t.message_id = r.id),
  ${pollsGone('r')}
DELETE FROM messages t USING r WHERE ${SAME} RETURNING t.channel_id, t.data->'files' AS files`;

/** Sets or clears pins, and updates the channel's latest pin from the last row of the channel. */
const PIN = `
WITH r AS (SELECT * FROM ${rows({ ...KEY, pinned_ms: 'bigint', last_pin_ms: 'bigint' })}),
  m AS (UPDATE messages t SET pinned_ms = r.pinned_ms
        FROM (SELECT DISTINCT ON (owner_id, channel_id, id) * FROM r ORDER BY owner_id, channel_id, id, ord DESC) r
        WHERE ${SAME})
INSERT INTO channel_activity (owner_id, channel_id, last_pin_ms)
SELECT DISTINCT ON (owner_id, channel_id) owner_id, channel_id, last_pin_ms FROM r ORDER BY owner_id, channel_id, ord DESC
ON CONFLICT (owner_id, channel_id) DO UPDATE SET last_pin_ms = EXCLUDED.last_pin_ms`;

function written(sql: string, ownerId: string, message: StoredMessage): Statement {
  // Reactions and votes have their own tables; `pinned` is derived from `pinned_ms`.
  const { reactions: _, pinned: __, pinned_ms, poll, ...rest } = message;
  const data = poll ? { ...rest, poll: withoutVotes(poll) } : rest;
  const { channel_id, id, author } = message;
  const terms = searchTerms(ownerId, message);
  return { sql, row: { owner_id: ownerId, channel_id, id, author_id: author.id, pinned_ms, data, terms } };
}

export const messageStatements: StatementTable<MessageFacts> = {
  messageCreated: (ownerId, { message }) => [
    written(CREATE, ownerId, message),
    ...(message.poll ? deadlineOf(ownerId, message) : []),
  ],
  messageUpdated: (ownerId, { message }) => [
    written(UPDATE, ownerId, message),
    ...(message.poll ? deadlineOf(ownerId, message) : []),
  ],
  messageDeleted: (ownerId, { channelId, messageId }) => [
    { sql: DELETE, row: { owner_id: ownerId, channel_id: channelId, id: messageId } },
  ],
  messagesBulkDeleted: (ownerId, { channelId, messageIds }) =>
    messageIds.map((id) => ({ sql: DELETE, row: { owner_id: ownerId, channel_id: channelId, id } })),
  messagePinned: (ownerId, { channelId, messageId, pinnedMs }) => {
    const key = { owner_id: ownerId, channel_id: channelId, id: messageId };
    return [{ sql: PIN, row: { ...key, pinned_ms: pinnedMs, last_pin_ms: pinnedMs } }];
  },
  messageUnpinned: (ownerId, { channelId, messageId, lastPinMs }) => {
    const key = { owner_id: ownerId, channel_id: channelId, id: messageId };
    return [{ sql: PIN, row: { ...key, pinned_ms: null, last_pin_ms: lastPinMs } }];
  },
};

interface Row {
  readonly data: Omit<StoredMessage, 'reactions' | 'pinned' | 'pinned_ms'>;
  readonly pinned_ms: string | null;
  readonly reactions: StoredMessage['reactions'] | null;
  readonly votes: { readonly id: number; readonly count: number; readonly me_voted: boolean }[] | null;
}

/**
 * Omits components that client libraries cannot parse: earlier versions stored them unchecked, and one such message crashes
 * every bot that reads it.
 */
function readable<M extends Pick<StoredMessage, 'components' | 'message_snapshots'>>(data: M): M {
  const { components, message_snapshots: snapshots } = data;
  if (!components?.length && !snapshots?.length) return data;
  return {
    ...data,
    ...(components && !areReadable(components) ? { components: [] } : {}),
    ...(snapshots
      ? { message_snapshots: snapshots.map((one) => ({ ...one, message: readable(one.message) })) }
      : {}),
  };
}

/** The poll of a message with its votes counted. */
function counted<M extends Pick<StoredMessage, 'poll'>>(data: M, votes: Row['votes']): M {
  const { poll } = data;
  if (!poll || !votes) return data;
  const results = { is_finalized: poll.results?.is_finalized ?? false, answer_counts: votes };
  return { ...data, poll: { ...poll, results } };
}

/** Reads messages with their counts: a few index entries per message, however many users reacted or voted. */
async function select(
  sql: Sql,
  from: string,
  order: string,
  values: readonly unknown[],
): Promise<StoredMessage[]> {
  const text = `SELECT m.data, m.pinned_ms, c.reactions, CASE WHEN m.data ? 'poll' THEN (
        SELECT jsonb_agg(jsonb_build_object('id', answer_id, 'count', count, 'me_voted', false) ORDER BY answer_id)
        FROM poll_counts WHERE owner_id = m.owner_id AND message_id = m.id AND count > 0) END AS votes FROM ${from} CROSS JOIN LATERAL (
      SELECT jsonb_agg(jsonb_build_object('key', key, 'emoji', emoji, 'count', count) ORDER BY seq) AS reactions
      FROM reaction_counts WHERE owner_id = m.owner_id AND message_id = m.id) c ORDER BY ${order}`;
  return (await sql.query<Row>(text, values)).map(({ data, pinned_ms, reactions, votes }) => ({
    ...counted(readable(data), votes),
    pinned: pinned_ms !== null,
    pinned_ms: pinned_ms === null ? null : Number(pinned_ms),
    reactions: reactions ?? [],
  }));
}

/** Above every id and time. With a bound that is always present, a prepared plan can use the index. */
const NO_BOUND = '9223372036854775807';

const OF_CHANNEL = 'SELECT * FROM messages WHERE owner_id = $1 AND channel_id = $2';
const BEFORE = `(${OF_CHANNEL} AND id < $3 ORDER BY id DESC LIMIT $4) m`;
const AFTER = `(${OF_CHANNEL} AND id > $3 ORDER BY id LIMIT $4) m`;
const AROUND = `((${OF_CHANNEL} AND id <= $3 ORDER BY id DESC LIMIT $4) UNION ALL
  (${OF_CHANNEL} AND id > $3 ORDER BY id LIMIT $5)) m`;
const NEWEST_FIRST = 'm.id DESC';

/** Lists messages. `around` takes precedence over `before`, and `before` over `after`; `around` includes its own message. */
export function listMessages(
  sql: Sql,
  ownerId: string,
  channelId: ChannelId,
  { before, after, around, limit }: MessagePage,
): Promise<StoredMessage[]> {
  if (around !== undefined) {
    const newer = Math.floor(limit / 2);
    return select(sql, AROUND, NEWEST_FIRST, [ownerId, channelId, around, limit - newer, newer]);
  }
  if (before === undefined && after !== undefined)
    return select(sql, AFTER, NEWEST_FIRST, [ownerId, channelId, after, limit]);
  return select(sql, BEFORE, NEWEST_FIRST, [ownerId, channelId, before ?? NO_BOUND, limit]);
}

export const getMessages = (
  sql: Sql,
  ownerId: string,
  ids: readonly { readonly channelId: ChannelId; readonly id: MessageId }[],
): Promise<StoredMessage[]> =>
  select(
    sql,
    'messages m JOIN unnest($2::bigint[], $3::bigint[]) AS k(channel_id, id) ON m.owner_id = $1 AND m.channel_id = k.channel_id AND m.id = k.id',
    NEWEST_FIRST,
    [ownerId, ids.map(({ channelId }) => channelId), ids.map(({ id }) => id)],
  );

const PINS = `(${OF_CHANNEL} AND pinned_ms IS NOT NULL AND pinned_ms < $3
  ORDER BY pinned_ms DESC, id DESC LIMIT $4) m`;

export const pins = (
  sql: Sql,
  ownerId: string,
  channelId: ChannelId,
  beforeMs: number | null,
  limit: number,
): Promise<StoredMessage[]> =>
  select(sql, PINS, 'm.pinned_ms DESC, m.id DESC', [ownerId, channelId, beforeMs ?? NO_BOUND, limit]);

export async function pinTimes(
  sql: Sql,
  ownerId: string,
  channelId: ChannelId,
): Promise<ReadonlyMap<MessageId, number>> {
  const text =
    'SELECT id, pinned_ms FROM messages WHERE owner_id = $1 AND channel_id = $2 AND pinned_ms IS NOT NULL';
  const found = await sql.query<{ id: MessageId; pinned_ms: string }>(text, [ownerId, channelId]);
  return new Map(found.map(({ id, pinned_ms }) => [id, Number(pinned_ms)]));
}

/** The newest `limit` messages, grouped by channel. Messages of deleted channels that await the purge are omitted. */
export async function authoredSince(
  sql: Sql,
  ownerId: string,
  authorId: UserId,
  sinceId: MessageId,
  limit: number,
): Promise<{ channelId: ChannelId; id: MessageId }[]> {
  const found = await sql.query<{ channel_id: ChannelId; id: MessageId }>(
    `SELECT channel_id, id FROM (
       SELECT channel_id, id FROM messages m WHERE owner_id = $1 AND author_id = $2 AND id >= $3
         AND NOT EXISTS (SELECT FROM purges p WHERE p.owner_id = m.owner_id AND p.channel_id = m.channel_id)
       ORDER BY id DESC LIMIT $4) newest ORDER BY channel_id, id`,
    [ownerId, authorId, sinceId, limit],
  );
  return found.map(({ channel_id, id }) => ({ channelId: channel_id, id }));
}
