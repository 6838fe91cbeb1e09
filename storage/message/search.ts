import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { HAS, SEARCH_OF_ROW, searchTerms, type TermKind, termOf } from './messages.ts';
import type { MessageSearch, SearchHits, SearchStore } from './port.ts';

const quoted = (lexeme: string): string => `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const anyOf = (kind: TermKind, values: readonly string[]): string[] =>
  values.length === 0 ? [] : [`(${values.map((value) => quoted(termOf(kind, value))).join(' | ')})`];

/** Options that a leading `-` negates. At least one plain option and none of the negated ones must match. */
function signed(kind: TermKind, options: readonly string[]): string[] {
  const without = options.filter((option) => option.startsWith('-')).map((option) => option.slice(1));
  const required = options.filter((option) => !option.startsWith('-'));
  return [...anyOf(kind, required), ...without.map((value) => `!${quoted(termOf(kind, value))}`)];
}

/** Words beyond this number only have to occur in the text, which bounds the query. */
const NEIGHBOURS_MAX = 16;
const PHRASE = "SELECT phraseto_tsquery('simple', $1)::text AS phrase";

/**
 * The words of a search, in their order, with at most `slop` other words between two neighbours. The database decides
 * what a word is, so that text and search agree.
 *
 * @returns Null for a text without a word, such as signs and emoji alone, which nothing matches.
 */
async function wordQuery(sql: Sql, words: string, slop: number): Promise<string[] | null> {
  if (words.trim() === '') return [];
  const [found] = await sql.query<{ readonly phrase: string }>(PHRASE, [words]);
  const lexemes = found?.phrase.match(/'(?:[^'\\]|''|\\.)*'/g) ?? [];
  const [first] = lexemes;
  if (first === undefined) return null;
  const pairs = lexemes.slice(1).map((lexeme, at) => {
    if (at >= NEIGHBOURS_MAX) return lexeme;
    const distances = Array.from({ length: slop + 1 }, (_, skipped) => skipped + 1);
    return `(${distances.map((distance) => `${lexemes[at]} <${distance}> ${lexeme}`).join(' | ')})`;
  });
  return pairs.length > 0 ? pairs : [first];
}

/** Everything but words, channels and pins, as one query of the index. */
function termQuery(guildId: GuildId, wanted: MessageSearch): string {
  const has = wanted.has.filter((one) => HAS.some((kind) => one === kind || one === `-${kind}`));
  const required = has.filter((one) => !one.startsWith('-'));
  const absent = has.filter((one) => one.startsWith('-'));
  return [
    quoted(termOf('owner', guildId)),
    ...anyOf('author', wanted.authorIds),
    ...signed('authorType', wanted.authorTypes),
    ...anyOf('mention', wanted.mentions),
    ...anyOf('role', wanted.mentionedRoles),
    ...anyOf('reply', wanted.repliedMessages),
    ...(wanted.mentionsEveryone === null
      ? []
      : [`${wanted.mentionsEveryone ? '' : '!'}${quoted(termOf('everyone', 'yes'))}`]),
    // All of them: a message with a link and an image.
    ...required.flatMap((one) => anyOf('has', [one])),
    ...signed('has', absent),
    ...anyOf('host', wanted.hosts),
    ...anyOf('provider', wanted.providers),
    ...anyOf('embedType', wanted.embedTypes),
    ...anyOf('extension', wanted.extensions),
    ...anyOf('filename', wanted.filenames),
  ].join(' & ');
}

/** Channels that are read, and threads of them: of private ones those that the reader is in or may manage. */
const CHANNELS = `(m.channel_id = ANY ($2::bigint[]) OR m.channel_id IN (
  SELECT t.id FROM threads t LEFT JOIN thread_members own
    ON own.guild_id = t.guild_id AND own.thread_id = t.id AND own.user_id = $4
  WHERE t.guild_id = $1 AND t.parent_id = ANY ($2::bigint[]) AND ($5::bigint[] IS NULL OR t.id = ANY ($5) OR t.parent_id = ANY ($5))
    AND (t.type <> 12 OR own.user_id IS NOT NULL OR t.parent_id = ANY ($3::bigint[]))))`;

const REPLIED = `EXISTS (SELECT 1 FROM messages q WHERE q.owner_id = m.owner_id AND q.channel_id = m.channel_id
  AND q.id = (m.data->'message_reference'->>'message_id')::bigint AND q.author_id = ANY ($9::bigint[]))`;

const MATCH = `FROM messages m,
    (SELECT $6::tsquery AS query, $7::tsquery AS words) s
  WHERE m.owner_id = $1 AND m.search @@ s.query AND ${CHANNELS}
    AND ($5::bigint[] IS NULL OR m.channel_id = ANY ($5) OR m.channel_id IN (SELECT id FROM threads WHERE guild_id = $1 AND parent_id = ANY ($5)))
    AND ($8::boolean IS NULL OR (m.pinned_ms IS NOT NULL) = $8) AND (cardinality($9::bigint[]) = 0 OR ${REPLIED})
    AND m.id > $10 AND m.id < $11`;

const HIGHEST = '9223372036854775807';
/** The direction does not apply to relevance. @source https://docs.discord.com/developers/resources/message#search-guild-messages, footnote 1 */
const RELEVANCE = 'ts_rank(m.search, s.words) DESC, m.id DESC';
const ORDERS = {
  timestamp: { desc: 'm.id DESC', asc: 'm.id' },
  relevance: { desc: RELEVANCE, asc: RELEVANCE },
} as const;

async function find(sql: Sql, guildId: GuildId, wanted: MessageSearch): Promise<SearchHits> {
  const { readable, managed, readerId, channelIds: within, pinned, repliedUsers, minId, maxId } = wanted;
  const words = await wordQuery(sql, wanted.words, wanted.slop);
  if (!words) return { hits: [], total: 0 };
  const query = [termQuery(guildId, wanted), ...words].join(' & ');
  const found = await sql.query<{ id: MessageId; channel_id: ChannelId; total: string }>(
    `SELECT m.id, m.channel_id, count(*) OVER () AS total ${MATCH}
     ORDER BY ${ORDERS[wanted.sortBy][wanted.ascends ? 'asc' : 'desc']} LIMIT $12 OFFSET $13`,
    [
      ...[guildId, readable, managed, readerId, within, query, words.join(' & '), pinned],
      ...[repliedUsers, minId ?? '-1', maxId ?? HIGHEST, wanted.limit, wanted.offset],
    ],
  );
  return {
    hits: found.map(({ id, channel_id: channelId }) => ({ id, channelId })),
    total: Number(found[0]?.total ?? 0),
  };
}

interface Unsearched {
  readonly owner_id: string;
  readonly channel_id: ChannelId;
  readonly id: MessageId;
  readonly data: StoredMessage;
}

const FILL = `UPDATE messages t SET search = ${SEARCH_OF_ROW}
FROM jsonb_to_recordset($1::jsonb) AS r(owner_id bigint, channel_id bigint, id bigint, data jsonb, terms text[])
WHERE t.owner_id = r.owner_id AND t.channel_id = r.channel_id AND t.id = r.id AND t.search IS NULL`;

/** Indexes some messages of earlier versions. @returns how many there were. */
async function indexSome(sql: Sql, limit: number): Promise<number> {
  const found = await sql.query<Unsearched>(
    'SELECT owner_id, channel_id, id, data FROM messages WHERE search IS NULL LIMIT $1',
    [limit],
  );
  if (found.length === 0) return 0;
  const rows = found.map(({ owner_id, channel_id, id, data }) => ({
    ...{ owner_id, channel_id, id, data: { content: data.content } },
    terms: searchTerms(owner_id, { ...data, channel_id }),
  }));
  await sql.query(FILL, [JSON.stringify(rows)]);
  return found.length;
}

export const searchStore = (sql: Sql): SearchStore => ({
  find: (guildId, wanted) => find(sql, guildId, wanted),
  async isIndexed(guildId) {
    const found = await sql.query('SELECT 1 FROM messages WHERE owner_id = $1 AND search IS NULL LIMIT 1', [
      guildId,
    ]);
    return found.length === 0;
  },
  indexSome: (limit) => indexSome(sql, limit),
});
