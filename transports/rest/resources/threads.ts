import type { Written } from '../../../engine/channel/draft.ts';
import type { PostDraft } from '../../../engine/guild/threads.posts.ts';
import { CHANNEL } from '../../../protocol/channeltypes.ts';
import { type ChannelId, firstMessageIdOf, type UserId } from '../../../protocol/ids.ts';
import { CHOICES, LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Thread } from '../../../protocol/schemas/channel.ts';
import { ThreadMember } from '../../../protocol/schemas/member.ts';
import { SearchIndexNotReady } from '../../../protocol/schemas/message.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  NameText,
  Nullable,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  type Static,
  Str,
  Timestamp,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import {
  CreatedThread,
  ThreadList,
  ThreadSearch as ThreadSearchObject,
} from '../../../protocol/schemas/thread.ts';
import { microsecondsOf } from '../../../protocol/timestamps.ts';
import type { ArchivePage, ThreadSearch } from '../../../storage/thread/port.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Bucket, type OperationCall, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { newFiles, pairFiles } from './messages.files.ts';
import { CreateMessage } from './messages.schema.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 20, windowMs: 10_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 10, windowMs: 10_000 };
const MEMBERS: Bucket = { per: 'channel_id', limit: 20, windowMs: 10_000 };
const LIST: Bucket = { per: 'guild_id', limit: 10, windowMs: 10_000 };

const OfMessage = {
  name: NameText(LIMITS.channel_name_chars_min, LIMITS.channel_name_chars_max),
  auto_archive_duration: Optional(Nullable(Choice(...CHOICES.auto_archive_minutes))),
  rate_limit_per_user: Optional(Nullable(Int(0, LIMITS.slowmode_sec_max))),
};

const CreateThread = Obj({
  ...OfMessage,
  type: Optional(
    Nullable(Choice(CHANNEL.ANNOUNCEMENT_THREAD, CHANNEL.PUBLIC_THREAD, CHANNEL.PRIVATE_THREAD)),
  ),
  invitable: Optional(Nullable(Bool())),
  /** For posts in forums. */
  applied_tags: Optional(Nullable(Arr(Snowflake(), LIMITS.applied_tags_max))),
  message: Optional(CreateMessage),
});

const limit = Optional(Int(2, LIMITS.archived_threads_page_max));
const ByTime = Obj({ before: Optional(Timestamp()), limit });
const ById = Obj({ before: Optional(Snowflake<ChannelId>()), limit });

type ListCall = Pick<
  OperationCall<{ readonly channel_id: ChannelId }, unknown, unknown, 'any'>,
  'params' | 'caller' | 'authority'
>;

/** A page of archived threads. Reads one more than asked for, to know whether there are more. */
async function archivedPage(
  { params, caller, authority }: ListCall,
  kind: ArchivePage['kind'],
  {
    limit: most = LIMITS.archived_threads_page_default,
    ...before
  }: Pick<ArchivePage, 'beforeUs' | 'beforeId'> & { readonly limit?: number | undefined },
  { channels, read }: Services,
): Promise<Answer> {
  const parentId = params.channel_id;
  const isPrivate = kind === 'private';
  const may = await channels.call(parentId, 'authorizeArchived', { isPrivate }, authority);
  if (!may.ok) return may;
  const page = { ...before, parentId, kind, readerId: caller.userId, limit: most + 1 };
  const found = await read.threads.archived(may.value.guildId, page);
  const shown = found.slice(0, most);
  const members = shown.flatMap(({ thread, own }) => (own ? [{ id: thread.id, ...own }] : []));
  const body = { threads: shown.map(({ thread }) => thread), members, has_more: found.length > most };
  return { ok: true, value: body };
}

type CreateCall = Pick<
  OperationCall<{ readonly channel_id: ChannelId }, unknown, Static<typeof CreateThread>, 'any'>,
  'params' | 'caller' | 'authority' | 'files' | 'publicUrl'
>;

/** Makes a post of a forum: a thread with its first message. */
async function createdPost(
  call: CreateCall,
  draft: PostDraft,
  { attachments: notes, ...written }: Static<typeof CreateMessage>,
  services: Services,
): Promise<Answer> {
  const { params, caller, authority, publicUrl } = call;
  const { nextId, channels, presentMessages, premium, uploads, messageFiles } = services;
  const paired = pairFiles(call.files, notes);
  if (!paired.ok) return paired;
  if (paired.value.rest.length > 0) return { ok: false, refusal: refusal('UPLOADED_FILE_NOT_FOUND') };
  // Before the files are stored. The command checks again, with everything else.
  if (call.files.length > 0) {
    const rights = { ...authority, requires: P.VIEW_CHANNEL | P.SEND_MESSAGES | P.ATTACH_FILES };
    const may = await channels.call(params.channel_id, 'getChannel', {}, rights);
    if (!may.ok) return may;
  }
  const id: ChannelId = nextId();
  const stickers = await services.expressions.stickers(written.sticker_ids, authority);
  const emojis = await services.expressions.emojisOf(written.poll, authority);
  const skuIds = await premium.forButtons(authority.by.applicationId, written.components);
  let thread: object = {};
  const reply = await messageFiles.using<Written>(
    {
      ...{ channelId: id, classifiesImages: true },
      fits: (bytes) => uploads.fits(bytes, params.channel_id, caller.userId),
    },
    { files: newFiles({ channelId: id, publicUrl, nextId }, paired.value), forward: null },
    async (attachments, _forward, isExplicit) => {
      const first = { draft: written, stickers, emojis, skuIds, attachments, forward: null, isExplicit };
      const made = await channels.call(params.channel_id, 'createPost', { id, draft, first }, authority);
      if (!made.ok) return made;
      thread = made.value.thread;
      return { ok: true, value: made.value.written };
    },
  );
  if (!reply.ok) return reply;
  const { ownerId, guildId, message } = reply.value;
  const view = { caller, ownerId, guildId, channelId: id };
  const [shown] = await presentMessages(view, [message]);
  return { ok: true, value: { ...thread, message: shown } };
}

const Search = Obj({
  name: Optional(Str(0, LIMITS.channel_name_chars_max)),
  slop: Optional(Int(0, 100)),
  min_id: Optional(Snowflake<ChannelId>()),
  max_id: Optional(Snowflake<ChannelId>()),
  tag: Optional(OneOf(Snowflake(), Arr(Snowflake(), LIMITS.forum_tags_max))),
  tag_setting: Optional(Choice('match_all', 'match_some')),
  archived: Optional(Bool()),
  sort_by: Optional(Choice('relevance', 'creation_time', 'last_message_time', 'archive_time')),
  sort_order: Optional(Choice('asc', 'desc')),
  limit: Optional(Int(1, LIMITS.thread_search_page_max)),
  offset: Optional(Int(0, LIMITS.thread_search_offset_max)),
});

function searchOf(query: Static<typeof Search>, parentId: ChannelId, readerId: UserId): ThreadSearch {
  const { tag = [] } = query;
  return {
    ...{ parentId, readerId },
    words: (query.name ?? '').toLowerCase().split(/\s+/).filter(Boolean),
    tags: typeof tag === 'string' ? [tag] : tag,
    matchesAll: query.tag_setting === 'match_all',
    archived: query.archived ?? null,
    minId: query.min_id ?? null,
    maxId: query.max_id ?? null,
    sortBy: query.sort_by ?? 'last_message_time',
    ascends: query.sort_order === 'asc',
    limit: query.limit ?? LIMITS.thread_search_page_max,
    offset: query.offset ?? 0,
  };
}

const timeOf = (before: string | undefined) =>
  before === undefined ? {} : { beforeUs: microsecondsOf(before) };

/** Operations on threads; they are read, changed and deleted as channels. */
export const threads = resource({
  create_thread: op({
    method: 'POST',
    path: '/channels/:channel_id/threads',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.message,
    body: CreateThread,
    multipart: 'raised',
    status: 201,
    reply: CreatedThread,
    handle: async (call, services) => {
      const { message, ...draft } = call.body;
      if (message) return createdPost(call, draft, message, services);
      const input = { draft };
      return await services.channels.call(call.params.channel_id, 'createThread', input, call.authority);
    },
  }),
  create_thread_from_message: op({
    method: 'POST',
    path: '/channels/:channel_id/messages/:message_id/threads',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    body: Obj(OfMessage),
    status: 201,
    reply: Thread,
    handle: async ({ params, body: draft, authority }, { channels }) => {
      const input = { messageId: params.message_id, draft };
      return await channels.call(params.channel_id, 'createThreadFromMessage', input, authority);
    },
  }),
  join_thread: op({
    method: 'PUT',
    path: '/channels/:channel_id/thread-members/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'joinThread', {}, authority),
  }),
  leave_thread: op({
    method: 'DELETE',
    path: '/channels/:channel_id/thread-members/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'leaveThread', {}, authority),
  }),
  add_thread_member: op({
    method: 'PUT',
    path: '/channels/:channel_id/thread-members/:user_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'addThreadMember', { userId: params.user_id }, authority),
  }),
  delete_thread_member: op({
    method: 'DELETE',
    path: '/channels/:channel_id/thread-members/:user_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'removeThreadMember', { userId: params.user_id }, authority),
  }),
  get_thread_member: op({
    method: 'GET',
    path: '/channels/:channel_id/thread-members/:user_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: Obj({ with_member: Optional(Bool()) }),
    status: 200,
    reply: ThreadMember,
    handle: async ({ params, query, authority }, { channels }) => {
      const input = { userId: params.user_id, withMember: query.with_member ?? false };
      return await channels.call(params.channel_id, 'getThreadMember', input, authority);
    },
  }),
  list_thread_members: op({
    method: 'GET',
    path: '/channels/:channel_id/thread-members',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: Obj({
      with_member: Optional(Bool()),
      limit: Optional(Int(1, LIMITS.thread_members_page_max)),
      after: Optional(Snowflake<UserId>()),
    }),
    status: 200,
    reply: list(ThreadMember),
    handle: async ({ params, query, authority }, { channels }) => {
      const input = {
        withMember: query.with_member ?? false,
        after: query.after ?? null,
        limit: query.limit ?? LIMITS.thread_members_page_max,
      };
      return await channels.call(params.channel_id, 'listThreadMembers', input, authority);
    },
  }),
  list_public_archived_threads: op({
    method: 'GET',
    path: '/channels/:channel_id/threads/archived/public',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: ByTime,
    status: 200,
    reply: ThreadList,
    handle: (call, services) =>
      archivedPage(call, 'public', { ...timeOf(call.query.before), limit: call.query.limit }, services),
  }),
  list_private_archived_threads: op({
    method: 'GET',
    path: '/channels/:channel_id/threads/archived/private',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: ByTime,
    status: 200,
    reply: ThreadList,
    handle: (call, services) =>
      archivedPage(call, 'private', { ...timeOf(call.query.before), limit: call.query.limit }, services),
  }),
  list_my_private_archived_threads: op({
    method: 'GET',
    path: '/channels/:channel_id/users/@me/threads/archived/private',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: ById,
    status: 200,
    reply: ThreadList,
    handle: (call, services) => {
      const { before, limit: most } = call.query;
      const page = { ...(before !== undefined && { beforeId: before }), limit: most };
      return archivedPage(call, 'joined', page, services);
    },
  }),
  thread_search: op({
    method: 'GET',
    path: '/channels/:channel_id/threads/search',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    query: Search,
    status: 200,
    reply: ThreadSearchObject,
    also: { 202: SearchIndexNotReady },
    handle: async ({ params, query, caller, authority }, { channels, read, presentMessages }) => {
      const parentId = params.channel_id;
      const may = await channels.call(parentId, 'authorizeArchived', { isPrivate: false }, authority);
      if (!may.ok) return may;
      const { guildId } = may.value;
      const search = searchOf(query, parentId, caller.userId);
      const { found, total } = await read.threads.search(guildId, search);
      const firstIds = found.map(({ thread }) => ({ channelId: thread.id, id: firstMessageIdOf(thread.id) }));
      const firsts = firstIds.length === 0 ? [] : await read.messages.get(guildId, firstIds);
      const shown = await Promise.all(
        firsts.map(async (message) => {
          const view = { caller, ownerId: guildId, guildId, channelId: message.channel_id };
          return (await presentMessages(view, [message]))[0];
        }),
      );
      return {
        ok: true,
        value: {
          threads: found.map(({ thread }) => thread),
          members: found.flatMap(({ thread, own }) => (own ? [{ id: thread.id, ...own }] : [])),
          has_more: search.offset + found.length < total,
          first_messages: shown,
          total_results: total,
        },
      };
    },
  }),
  get_active_guild_threads: op({
    method: 'GET',
    path: '/guilds/:guild_id/threads/active',
    auth: 'any',
    bucket: LIST,
    status: 200,
    reply: ThreadList,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listActiveThreads', {}, authority),
  }),
});

/** Operations on threads that the platform's OpenAPI does not list. */
export const threadsUnlisted = resource({
  // discord.py joins threads by it.
  post_join_thread: op({
    method: 'POST',
    path: '/channels/:channel_id/thread-members/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'joinThread', {}, authority),
  }),
});
