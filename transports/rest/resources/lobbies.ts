import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { MemberDraft } from '../../../engine/lobby/members.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { GuildChannel } from '../../../protocol/schemas/channel.ts';
import { requestsOf } from '../../../protocol/schemas/fields.ts';
import { Lobby, LobbyGuildInvite, LobbyMember, LobbyMessage } from '../../../protocol/schemas/lobby.ts';
import { LOBBY_FIELDS } from '../../../protocol/schemas/lobbyfields.ts';
import {
  Arr,
  Bool,
  Choice,
  Dict,
  Flags,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Bucket, op, resource } from '../operation.ts';

const TWO_HOURS_MS = 7_200_000;
/**
 * Limits of unapproved applications.
 *
 * @source https://docs.discord.com/developers/resources/lobby#development-rate-limits
 */
const DEVELOPMENT = { limit: 100, windowMs: TWO_HOURS_MS };
const DEVELOPMENT_LINKS = { limit: 20, windowMs: TWO_HOURS_MS };

// Without development limits the platform publishes no limits; these values are this server's own.
/** Also for writes that have no development limit. */
const READS = { per: null, limit: 50, windowMs: 1_000 } as const;
const WRITES: Bucket = { per: null, limit: 50, windowMs: 1_000, development: DEVELOPMENT };
const MESSAGES: Bucket = { per: null, limit: 10, windowMs: 2_000, development: DEVELOPMENT };
const LINKS: Bucket = { per: null, limit: 5, windowMs: 5_000, development: DEVELOPMENT_LINKS };

const KEYS_MAX = 25;
const VALUE_CHARS_MAX = 1_024;
const MODERATION_KEYS_MAX = 5;
const MODERATION_CHARS_MAX = 2_000;
/** A flags field of lobbies or members: only one flag exists. */
const OneFlag = () => Optional(Nullable(Choice(0, 1)));
const Meta = () => Optional(Nullable(Dict(Str(0, VALUE_CHARS_MAX), KEYS_MAX)));
const AdditionalName = () => Optional(Nullable(NameText(1, LIMITS.lobby_member_name_chars_max)));

const Member = Obj({ id: Snowflake<UserId>(), metadata: Meta(), flags: OneFlag() });
const Members = () => Optional(Nullable(Arr(Member, LIMITS.lobby_members_per_request_max)));
const Change = requestsOf(LOBBY_FIELDS);
const EditLobby = Obj({ ...Change, members: Members() });

/** Only the application's server sets the URL. */
const { metadata: lobby_metadata, override_event_webhooks_url: _, ...joining } = Change;
const JoinLobby = Obj({
  secret: Str(1, LIMITS.lobby_secret_chars_max),
  ...joining,
  lobby_metadata,
  member_metadata: Meta(),
});

const BulkMember = Obj({
  id: Snowflake<UserId>(),
  metadata: Meta(),
  flags: OneFlag(),
  additional_name: AdditionalName(),
  remove_member: Optional(Nullable(Bool())),
});

const SendMessage = Obj({
  content: Optional(Nullable(Str(0, LIMITS.content_chars_max))),
  metadata: Meta(),
  flags: Optional(Nullable(Flags())),
});

/** Copies only the keys that the body has, because an absent key leaves the stored value unchanged. */
function draftOf({ metadata, flags, additional_name }: MemberDraft): MemberDraft {
  return {
    ...(metadata !== undefined ? { metadata } : {}),
    ...(flags !== undefined ? { flags } : {}),
    ...(additional_name !== undefined ? { additional_name } : {}),
  };
}

const entryOf = ({ id, ...draft }: { readonly id: UserId } & MemberDraft) => ({
  userId: id,
  draft: draftOf(draft),
});

const no = (reason: ReturnType<typeof refusal>): Answer => ({ ok: false, refusal: reason });

/** Refuses callers that act for no application: lobbies belong to an application. */
function owned(authority: Authority, run: () => Promise<Reply<unknown>>): Promise<Answer> | Answer {
  if (!authority.by.applicationId) return no(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
  return run();
}

/** Deleting a lobby that does not exist succeeds. */
const gone = (reply: Reply<unknown>): Answer =>
  reply.ok || reply.refusal.code === refusal('UNKNOWN_LOBBY').code ? { ok: true } : reply;

export const lobbies = resource({
  create_lobby: op({
    method: 'POST',
    path: '/lobbies',
    auth: 'bot',
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.message,
    body: EditLobby,
    status: 201,
    reply: Lobby,
    handle: ({ body: { members, ...change }, authority }, services) => {
      const input = { change, members: (members ?? []).map(entryOf) };
      return owned(authority, () => services.lobbies.create(input, authority));
    },
  }),

  create_or_join_lobby: op({
    method: 'PUT',
    path: '/lobbies',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: WRITES,
    body: JoinLobby,
    status: 200,
    reply: Lobby,
    handle: ({ body, authority }, services) => {
      const { secret, lobby_metadata, member_metadata, ...rest } = body;
      const lobby = { ...rest, ...(lobby_metadata !== undefined ? { metadata: lobby_metadata } : {}) };
      const member = member_metadata !== undefined ? { metadata: member_metadata } : {};
      return owned(authority, () => services.lobbies.createOrJoin({ secret, lobby, member }, authority));
    },
  }),

  get_lobby: op({
    method: 'GET',
    path: '/lobbies/:lobby_id',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: READS,
    status: 200,
    reply: Lobby,
    handle: ({ params, authority }, services) =>
      owned(authority, () => services.lobbies.call(params.lobby_id, 'getLobby', {}, authority)),
  }),

  edit_lobby: op({
    method: 'PATCH',
    path: '/lobbies/:lobby_id',
    auth: 'bot',
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.message,
    body: EditLobby,
    status: 200,
    reply: Lobby,
    handle: ({ params, body: { members, ...change }, authority }, services) => {
      const input = { change, members: members?.map(entryOf) ?? null };
      return owned(authority, () => services.lobbies.update(params.lobby_id, input, authority));
    },
  }),

  delete_lobby: op({
    method: 'DELETE',
    path: '/lobbies/:lobby_id',
    auth: 'bot',
    bucket: READS,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, services) =>
      gone(await services.lobbies.call(params.lobby_id, 'deleteLobby', {}, authority)),
  }),

  add_lobby_member: op({
    method: 'PUT',
    path: '/lobbies/:lobby_id/members/:user_id',
    auth: 'bot',
    bucket: WRITES,
    body: Obj({ metadata: Meta(), flags: OneFlag(), additional_name: AdditionalName() }),
    status: 200,
    reply: LobbyMember,
    handle: ({ params, body, authority }, services) => {
      const entry = entryOf({ id: params.user_id, ...body });
      return owned(authority, () => services.lobbies.setMember(params.lobby_id, entry, authority));
    },
  }),

  bulk_update_lobby_members: op({
    method: 'POST',
    path: '/lobbies/:lobby_id/members/bulk',
    auth: 'bot',
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.message,
    body: Arr(BulkMember, LIMITS.lobby_members_per_request_max, 1),
    status: 200,
    reply: list(LobbyMember),
    handle: ({ params, body, authority }, services) => {
      const entries = body.map(({ remove_member, ...entry }) => ({
        ...entryOf(entry),
        remove: remove_member ?? false,
      }));
      return owned(authority, () => services.lobbies.setMembers(params.lobby_id, entries, authority));
    },
  }),

  delete_lobby_member: op({
    method: 'DELETE',
    path: '/lobbies/:lobby_id/members/:user_id',
    auth: 'bot',
    bucket: WRITES,
    status: 204,
    reply: none,
    handle: ({ params, authority }, services) => {
      const userId = params.user_id;
      return owned(authority, () =>
        services.lobbies.call(params.lobby_id, 'removeMember', { userId }, authority),
      );
    },
  }),

  leave_lobby: op({
    method: 'DELETE',
    path: '/lobbies/:lobby_id/members/@me',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: READS,
    status: 204,
    reply: none,
    handle: ({ params, authority }, services) =>
      owned(authority, () => services.lobbies.call(params.lobby_id, 'leaveLobby', {}, authority)),
  }),

  edit_lobby_channel_link: op({
    method: 'PATCH',
    path: '/lobbies/:lobby_id/channel-linking',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: LINKS,
    body: Obj({ channel_id: Optional(Nullable(Snowflake<ChannelId>())) }),
    status: 200,
    reply: Lobby,
    handle: ({ params, body, authority }, services) => {
      const channelId = body.channel_id ?? null;
      return owned(authority, () => services.lobbies.link(params.lobby_id, channelId, authority));
    },
  }),

  create_linked_lobby_guild_invite_for_self: op({
    method: 'POST',
    path: '/lobbies/:lobby_id/members/@me/invites',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: WRITES,
    status: 200,
    reply: LobbyGuildInvite,
    handle: ({ params, caller, authority }, services) =>
      owned(authority, () => services.lobbies.invite(params.lobby_id, caller.userId, authority)),
  }),

  create_linked_lobby_guild_invite_for_user: op({
    method: 'POST',
    path: '/lobbies/:lobby_id/members/:user_id/invites',
    auth: 'bot',
    bucket: WRITES,
    status: 200,
    reply: LobbyGuildInvite,
    handle: ({ params, authority }, services) =>
      owned(authority, () => services.lobbies.invite(params.lobby_id, params.user_id, authority)),
  }),

  create_lobby_message: op({
    method: 'POST',
    path: '/lobbies/:lobby_id/messages',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: MESSAGES,
    body: SendMessage,
    status: 201,
    reply: LobbyMessage,
    handle: ({ params, body, authority }, services) => {
      const draft = {
        content: body.content ?? '',
        metadata: body.metadata ?? null,
        flags: body.flags ?? 0,
      };
      return owned(authority, () => services.lobbies.send(params.lobby_id, draft, authority));
    },
  }),

  get_lobby_messages: op({
    method: 'GET',
    path: '/lobbies/:lobby_id/messages',
    auth: 'any',
    scope: 'lobbies.write',
    bucket: READS,
    query: Obj({ limit: Optional(Int(1, LIMITS.lobby_messages_page_max)) }),
    status: 200,
    reply: list(LobbyMessage),
    handle: ({ params, query, authority }, services) => {
      const limit = query.limit ?? LIMITS.lobby_messages_page_default;
      return owned(authority, () => services.lobbies.history(params.lobby_id, limit, authority));
    },
  }),

  update_lobby_message_external_moderation_metadata: op({
    method: 'PUT',
    path: '/lobbies/:lobby_id/messages/:message_id/moderation-metadata',
    auth: 'bot',
    bucket: READS,
    bodyBytesMax: BODY_BYTES.texts,
    body: Dict(Str(0, MODERATION_CHARS_MAX), MODERATION_KEYS_MAX),
    status: 204,
    reply: none,
    handle: ({ params, body, authority }, services) => {
      const messageId = params.message_id;
      return owned(authority, () => services.lobbies.moderate(params.lobby_id, messageId, body, authority));
    },
  }),
});

/** Lobby operations that the platform's clients use and its OpenAPI does not list. */
export const lobbiesUnlisted = resource({
  unlink_channel_from_lobby: op({
    method: 'DELETE',
    path: '/channels/:channel_id/linked-lobby',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: { per: 'channel_id', limit: 5, windowMs: 5_000 },
    status: 200,
    reply: GuildChannel,
    handle: async ({ params, authority }, services) =>
      await services.lobbies.unlinkChannel(params.channel_id, authority),
  }),
});
