import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { GuildId, MessageId } from '../../../protocol/ids.ts';
import { readsAllContent } from '../../../protocol/intents.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { refusal } from '../../../protocol/refusal.ts';
import {
  MessageSearch as MessageSearchObject,
  SearchIndexNotReady,
} from '../../../protocol/schemas/message.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import type { MessageSearch } from '../../../storage/message/port.ts';
import { type Answer, type Bucket, type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limit for this route; a search costs more than a page.
const SEARCH: Bucket = { per: 'guild_id', limit: 10, windowMs: 10_000 };
const RETRY_SEC = 2;

const ids = () => Optional(Arr(Snowflake(), LIMITS.search_ids_max));
const texts = (max: number) => Optional(Arr(Str(0, max), LIMITS.search_ids_max));

const Search = Obj({
  sort_by: Optional(Choice('timestamp', 'relevance')),
  sort_order: Optional(Choice('asc', 'desc')),
  content: Optional(Str(0, LIMITS.search_content_chars_max)),
  slop: Optional(Int(0, LIMITS.search_slop_max)),
  author_id: ids(),
  author_type: Optional(Arr(Choice('user', 'bot', 'webhook', '-user', '-bot', '-webhook'), 6)),
  mentions: ids(),
  mentions_role_id: ids(),
  replied_to_user_id: ids(),
  replied_to_message_id: ids(),
  mention_everyone: Optional(Bool()),
  min_id: Optional(Snowflake<MessageId>()),
  max_id: Optional(Snowflake<MessageId>()),
  limit: Optional(Int(1, LIMITS.search_page_max)),
  offset: Optional(Int(0, LIMITS.search_offset_max)),
  has: Optional(
    Arr(
      Choice(
        ...(['link', 'embed', 'file', 'image', 'video', 'sound', 'sticker', 'poll', 'snapshot'] as const),
        ...(['-link', '-embed', '-file', '-image', '-video', '-sound', '-sticker', '-poll'] as const),
        '-snapshot',
      ),
      18,
    ),
  ),
  link_hostname: texts(256),
  embed_provider: texts(256),
  embed_type: Optional(Arr(Choice('image', 'video', 'gif', 'sound', 'article'), 5)),
  attachment_extension: texts(256),
  attachment_filename: texts(1_024),
  pinned: Optional(Bool()),
  include_nsfw: Optional(Bool()),
  channel_id: Optional(Arr(Snowflake(), LIMITS.search_channels_max)),
});

/** Names of embed types in a search, where the embed's own differs. */
const EMBED_TYPES: Readonly<Record<string, string>> = { gif: 'gifv', sound: 'audio' };

function wantedBy(
  query: Static<typeof Search>,
  may: Pick<MessageSearch, 'readable' | 'managed'>,
  readerId: Caller['userId'],
): MessageSearch {
  return {
    ...{ ...may, readerId },
    channelIds: query.channel_id ?? null,
    words: query.content ?? '',
    slop: query.slop ?? LIMITS.search_slop_default,
    authorIds: query.author_id ?? [],
    authorTypes: query.author_type ?? [],
    mentions: query.mentions ?? [],
    mentionedRoles: query.mentions_role_id ?? [],
    repliedUsers: query.replied_to_user_id ?? [],
    repliedMessages: query.replied_to_message_id ?? [],
    mentionsEveryone: query.mention_everyone ?? null,
    has: query.has ?? [],
    hosts: query.link_hostname ?? [],
    providers: query.embed_provider ?? [],
    embedTypes: (query.embed_type ?? []).map((type) => EMBED_TYPES[type] ?? type),
    extensions: query.attachment_extension ?? [],
    filenames: query.attachment_filename ?? [],
    pinned: query.pinned ?? null,
    minId: query.min_id ?? null,
    maxId: query.max_id ?? null,
    sortBy: query.sort_by ?? 'timestamp',
    ascends: query.sort_order === 'asc',
    limit: query.limit ?? LIMITS.search_page_max,
    offset: query.offset ?? 0,
  };
}

/** Each message as the caller reads it, as a hit of its own. */
async function shown(
  found: readonly StoredMessage[],
  guildId: GuildId,
  caller: Caller,
  { presentMessages }: Services,
): Promise<object[][]> {
  const one = async (message: StoredMessage) => {
    const view = { caller, ownerId: guildId, guildId, channelId: message.channel_id };
    const [body] = await presentMessages(view, [message]);
    return [{ ...body, hit: true }];
  };
  return Promise.all(found.map(one));
}

/** Search of a guild's messages. */
export const search = resource({
  guild_search: op({
    method: 'GET',
    path: '/guilds/:guild_id/messages/search',
    auth: 'any',
    bucket: SEARCH,
    query: Search,
    status: 200,
    reply: MessageSearchObject,
    also: { 202: SearchIndexNotReady },
    handle: async ({ params, query, caller, authority }, services): Promise<Answer> => {
      const guildId = params.guild_id;
      const { guilds, read } = services;
      const input = { includesNsfw: query.include_nsfw ?? false };
      const may = await guilds.call(guildId, 'authorizeSearch', input, authority);
      if (!may.ok) return may;
      if (!readsAllContent(authority.by)) return { ok: false, refusal: refusal('MISSING_ACCESS') };
      if (!(await read.search.isIndexed(guildId))) {
        const { code, message } = refusal('INDEX_NOT_READY');
        return {
          ok: true,
          status: 202,
          value: { message, code, documents_indexed: 0, retry_after: RETRY_SEC },
        };
      }
      const { hits, total } = await read.search.find(guildId, wantedBy(query, may.value, caller.userId));
      const messages = hits.length === 0 ? [] : await read.messages.get(guildId, hits);
      const byId = new Map(messages.map((message) => [message.id, message]));
      const ordered = hits.flatMap(({ id }) => byId.get(id) ?? []);
      const threads = await read.threads.listed(guildId, caller.userId, [
        ...new Set(hits.map(({ channelId }) => channelId)),
      ]);
      return {
        ok: true,
        value: {
          messages: await shown(ordered, guildId, caller, services),
          threads: threads.map(({ thread }) => thread),
          members: threads.flatMap(({ thread, own }) => (own ? [{ id: thread.id, ...own }] : [])),
          doing_deep_historical_index: false,
          total_results: total,
        },
      };
    },
  }),
});
