import { CHANNEL } from '../../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { CHOICES, LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import type { ArchivePage } from '../../../storage/thread/port.ts';
import { answer } from '../answer.ts';
import { type Answer, type Bucket, type OperationCall, op, resource } from '../operation.ts';
import { Bool, Choice, Int, NameText, Nullable, Obj, Optional, Snowflake, Timestamp } from '../schema.ts';
import type { Services } from '../services.ts';

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
  }: Pick<ArchivePage, 'beforeMs' | 'beforeId'> & { readonly limit?: number | undefined },
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
  return { ok: true, body };
}

const timeOf = (before: string | undefined) => (before === undefined ? {} : { beforeMs: Date.parse(before) });

/** Operations on threads; they are read, changed and deleted as channels. */
export const threads = resource({
  create_thread: op({
    method: 'POST',
    path: '/channels/:channel_id/threads',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    body: CreateThread,
    status: 201,
    handle: async ({ params, body: draft, authority }, { channels }) =>
      answer(await channels.call(params.channel_id, 'createThread', { draft }, authority)),
  }),
  create_thread_from_message: op({
    method: 'POST',
    path: '/channels/:channel_id/messages/:message_id/threads',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    body: Obj(OfMessage),
    status: 201,
    handle: async ({ params, body: draft, authority }, { channels }) => {
      const input = { messageId: params.message_id, draft };
      return answer(await channels.call(params.channel_id, 'createThreadFromMessage', input, authority));
    },
  }),
  join_thread: op({
    method: 'PUT',
    path: '/channels/:channel_id/thread-members/@me',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: MEMBERS,
    status: 204,
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
    handle: async ({ params, query, authority }, { channels }) => {
      const input = { userId: params.user_id, withMember: query.with_member ?? false };
      return answer(await channels.call(params.channel_id, 'getThreadMember', input, authority));
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
    handle: async ({ params, query, authority }, { channels }) => {
      const input = {
        withMember: query.with_member ?? false,
        after: query.after ?? null,
        limit: query.limit ?? LIMITS.thread_members_page_max,
      };
      return answer(await channels.call(params.channel_id, 'listThreadMembers', input, authority));
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
    handle: (call, services) => {
      const { before, limit: most } = call.query;
      const page = { ...(before !== undefined && { beforeId: before }), limit: most };
      return archivedPage(call, 'joined', page, services);
    },
  }),
  get_active_guild_threads: op({
    method: 'GET',
    path: '/guilds/:guild_id/threads/active',
    auth: 'any',
    bucket: LIST,
    status: 200,
    handle: async ({ params, authority }, { guilds }) =>
      answer(await guilds.call(params.guild_id, 'listActiveThreads', {}, authority)),
  }),
});
