import type { MessagePage } from '../../engine/channel/recent.ts';
import type { MessageFacts } from '../../engine/guild/facts.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import { areReadable } from '../../protocol/components.ts';
import { type ChannelId, type MessageId, snowflakeAt, type UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, rows, type Statement, type StatementTable } from '../database/statement.ts';
import { deadlineOf, pollsGone, withoutVotes } from './polls.ts';

/** Kinds of content of a message, by their names in the search. */
export const HAS = [
  ...(['link', 'embed', 'file', 'image', 'video', 'sound', 'sticker', 'poll', 'snapshot'] as const),
];
type HasKind = (typeof HAS)[number];

/** Kinds of terms. Each begins with a control character, which no word contains. */
const PREFIXES = {
  owner: 'g',
  author: 'a',
  authorType: 't',
  mention: 'm',
  role: 'r',
  everyone: 'v',
  reply: 'q',
  has: 'h',
  host: 'l',
  provider: 'p',
  embedType: 'e',
  extension: 'x',
  filename: 'f',
} as const;

export type TermKind = keyof typeof PREFIXES;
const MARK = '\u0001';
/** A lexeme has at most 2 KiB. */
const VALUE_CHARS_MAX = 500;

export const termOf = (kind: TermKind, value: string): string =>
  `${MARK}${PREFIXES[kind]}${value.toLowerCase().slice(0, VALUE_CHARS_MAX)}`;

const URLS = /https?:\/\/[^\s<>"']+/gi;
const URLS_MAX = 50;

function hostsIn(content: string): string[] {
  const urls = (content.match(URLS) ?? []).slice(0, URLS_MAX);
  return urls.flatMap((url) => (URL.canParse(url) ? [new URL(url).hostname] : []));
}

const MEDIA: Readonly<Record<string, HasKind>> = { image: 'image', video: 'video', audio: 'sound' };
const EMBEDDED: Readonly<Record<string, HasKind>> = { image: 'image', gifv: 'image', video: 'video' };

/** @param hosts Of the links in its text. */
function kindsOf(message: StoredMessage, hosts: readonly string[]): HasKind[] {
  const { attachments = [], embeds = [], sticker_items: stickers = [], poll } = message;
  const media = attachments.flatMap(({ content_type: type }) => MEDIA[type?.split('/')[0] ?? ''] ?? []);
  const embedded = embeds.flatMap(({ type }) => EMBEDDED[type ?? ''] ?? []);
  return [
    ...(hosts.length > 0 ? (['link'] as const) : []),
    ...(embeds.length > 0 ? (['embed'] as const) : []),
    ...(attachments.length > 0 ? (['file'] as const) : []),
    ...[...media, ...embedded],
    ...(stickers.length > 0 ? (['sticker'] as const) : []),
    ...(poll ? (['poll'] as const) : []),
    ...(message.message_snapshots?.length ? (['snapshot'] as const) : []),
  ];
}

function authorType({ author, webhook_id: webhook }: StoredMessage): string {
  if (webhook !== undefined) return 'webhook';
  return author.bot ? 'bot' : 'user';
}

const extensionOf = (filename: string): string[] => {
  const found = /\.([^.]+)$/.exec(filename)?.[1];
  return found === undefined ? [] : [found];
};

/** All terms of a message, each once. Those of earlier versions lack fields. */
function termsOf(ownerId: string, message: StoredMessage): string[] {
  const { author, mentions = [], mention_roles: roles = [], mention_everyone: everyone } = message;
  const { content = '', embeds = [], attachments = [] } = message;
  const names = attachments.map(({ filename }) => filename);
  const replied = message.message_reference?.message_id;
  const terms = new Set<string>();
  const add = (kind: TermKind, values: readonly string[]): void => {
    for (const value of values) if (value !== '') terms.add(termOf(kind, value));
  };
  const hosts = hostsIn(content);
  add('owner', [ownerId]);
  add('author', [author.id]);
  add('authorType', [authorType(message)]);
  for (const { id } of mentions) add('mention', [id]);
  add('role', roles);
  if (everyone) add('everyone', ['yes']);
  if (replied !== undefined) add('reply', [replied]);
  add('has', kindsOf(message, hosts));
  add('host', hosts);
  for (const { provider, type } of embeds) {
    add('provider', [provider?.name ?? '']);
    add('embedType', [type ?? '']);
  }
  add('extension', names.flatMap(extensionOf));
  add('filename', names);
  return [...terms];
}

/** Longest part of a text that is indexed, characters. */
const TEXT_CHARS_MAX = 4_000;

/** The search column of a row `r` with `data` and `terms`; no terms stand for a message that no search finds. */
export const SEARCH_OF_ROW = `CASE WHEN r.terms IS NULL THEN ''::tsvector ELSE
  to_tsvector('simple', left(r.data->>'content', ${TEXT_CHARS_MAX})) || array_to_tsvector(r.terms) END`;

/** Messages of private channels, which own their messages, are not searched. */
export const searchTerms = (ownerId: string, message: StoredMessage): string[] | null =>
  ownerId === String(message.channel_id) ? null : termsOf(ownerId, message);

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

interface MessageRow {
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
function counted<M extends Pick<StoredMessage, 'poll'>>(data: M, votes: MessageRow['votes']): M {
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
  return (await sql.query<MessageRow>(text, values)).map(({ data, pinned_ms, reactions, votes }) => ({
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

/** The index on authors bounds the read to the user's messages since that time, in all channels of the owner. */
const LAST_OF_USER = `SELECT data->>'timestamp' AS at FROM messages
WHERE owner_id = $1 AND author_id = $2 AND id >= $3 AND channel_id = $4 AND (data->>'type')::int = ANY ($5::int[])
ORDER BY id DESC LIMIT 1`;

export async function lastOfUserMs(
  sql: Sql,
  ownerId: string,
  channelId: ChannelId,
  userId: UserId,
  sinceMs: number,
): Promise<number | null> {
  const values = [ownerId, userId, snowflakeAt(sinceMs), channelId, [...FORWARDABLE]];
  const [last] = await sql.query<{ at: string }>(LAST_OF_USER, values);
  return last ? Date.parse(last.at) : null;
}
