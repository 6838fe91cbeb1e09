import type { ChannelMove } from '../../../engine/guild/channels.ts';
import { CHANNEL } from '../../../protocol/channeltypes.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { CHOICES, LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { answer } from '../answer.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Bucket, op, resource } from '../operation.ts';
import {
  Arr,
  Bool,
  Choice,
  Flags,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  PermissionBits,
  Snowflake,
  Str,
} from '../schema.ts';

const INT32_MAX = 2 ** 31 - 1;

const Overwrite = Obj({
  id: Snowflake(),
  type: Optional(Nullable(Choice(0, 1))),
  allow: Optional(Nullable(PermissionBits())),
  deny: Optional(Nullable(PermissionBits())),
});

const emoji = {
  emoji_id: Optional(Nullable(Snowflake())),
  emoji_name: Optional(Nullable(Str(0, 100))),
};

const Tag = Obj({
  id: Optional(Nullable(Snowflake())),
  name: NameText(0, 50),
  moderated: Optional(Nullable(Bool())),
  ...emoji,
});

/** All fields of a channel in a request but its name. Fields that a channel type does not have are ignored, as upstream. */
const fields = {
  type: Optional(
    Nullable(
      Choice(
        CHANNEL.GUILD_TEXT,
        CHANNEL.GUILD_VOICE,
        CHANNEL.GUILD_CATEGORY,
        CHANNEL.GUILD_ANNOUNCEMENT,
        CHANNEL.GUILD_STAGE_VOICE,
        CHANNEL.GUILD_DIRECTORY,
        CHANNEL.GUILD_FORUM,
        CHANNEL.GUILD_MEDIA,
      ),
    ),
  ),
  position: Optional(Nullable(Int(0, INT32_MAX))),
  topic: Optional(Nullable(Str(0, LIMITS.forum_topic_chars_max))),
  bitrate: Optional(Nullable(Int(LIMITS.bitrate_bps_min, INT32_MAX))),
  user_limit: Optional(Nullable(Int(0, INT32_MAX))),
  nsfw: Optional(Nullable(Bool())),
  rate_limit_per_user: Optional(Nullable(Int(0, LIMITS.slowmode_sec_max))),
  parent_id: Optional(Nullable(Snowflake<ChannelId>())),
  permission_overwrites: Optional(Nullable(Arr(Overwrite, 100))),
  rtc_region: Optional(Nullable(Str(0, 100))),
  video_quality_mode: Optional(Nullable(Choice(1, 2))),
  default_auto_archive_duration: Optional(Nullable(Choice(...CHOICES.auto_archive_minutes))),
  default_reaction_emoji: Optional(Nullable(Obj(emoji))),
  default_thread_rate_limit_per_user: Optional(Nullable(Int(0, LIMITS.slowmode_sec_max))),
  default_sort_order: Optional(Nullable(Choice(0, 1))),
  default_forum_layout: Optional(Nullable(Choice(0, 1, 2))),
  default_tag_setting: Optional(Nullable(Choice('match_all', 'match_some'))),
  available_tags: Optional(Nullable(Arr(Nullable(Tag), LIMITS.forum_tags_max))),
};

const Name = () => NameText(LIMITS.channel_name_chars_min, LIMITS.channel_name_chars_max);
const CreateChannel = Obj({ ...fields, name: Name() });
/** Fields of threads besides those of channels. */
const threadFields = {
  archived: Optional(Nullable(Bool())),
  locked: Optional(Nullable(Bool())),
  invitable: Optional(Nullable(Bool())),
  auto_archive_duration: Optional(Nullable(Choice(...CHOICES.auto_archive_minutes))),
  applied_tags: Optional(Nullable(Arr(Snowflake(), LIMITS.applied_tags_max))),
};
const UpdateChannel = Obj({
  ...fields,
  ...threadFields,
  name: Optional(Name()),
  flags: Optional(Nullable(Flags())),
});

const MoveChannels = Arr(
  Obj({
    id: Optional(Nullable(Snowflake<ChannelId>())),
    position: Optional(Nullable(Int(0, INT32_MAX))),
    parent_id: Optional(Nullable(Snowflake<ChannelId>())),
    lock_permissions: Optional(Nullable(Bool())),
  }),
  LIMITS.channels_per_guild_max,
);

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 20, windowMs: 5_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 10, windowMs: 10_000 };
const LAYOUT: Bucket = { per: 'guild_id', limit: 10, windowMs: 5_000 };

/** Operations on a guild's channels; reading and deleting also work for private channels. */
export const channels = resource({
  get_channel: op({
    method: 'GET',
    path: '/channels/:channel_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: READ,
    status: 200,
    handle: async ({ params, authority }, { channels }) =>
      answer(await channels.call(params.channel_id, 'getChannel', {}, authority)),
  }),
  update_channel: op({
    method: 'PATCH',
    path: '/channels/:channel_id',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.texts,
    body: UpdateChannel,
    status: 200,
    handle: async ({ params, body: draft, authority }, { channels }) => {
      const input = { draft, threadChange: draft };
      return answer(await channels.call(params.channel_id, 'updateChannel', input, authority));
    },
  }),
  delete_channel: op({
    method: 'DELETE',
    path: '/channels/:channel_id',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: WRITE,
    status: 200,
    handle: async ({ params, authority }, { channels }) =>
      answer(await channels.call(params.channel_id, 'deleteChannel', {}, authority)),
  }),
  set_channel_permission_overwrite: op({
    method: 'PUT',
    path: '/channels/:channel_id/permissions/:overwrite_id',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    body: Obj({
      type: Overwrite.properties.type,
      allow: Overwrite.properties.allow,
      deny: Overwrite.properties.deny,
    }),
    status: 204,
    handle: ({ params, body: draft, authority }, { channels }) =>
      channels.call(
        params.channel_id,
        'setOverwrite',
        { overwrite: { ...draft, id: params.overwrite_id } },
        authority,
      ),
  }),
  delete_channel_permission_overwrite: op({
    method: 'DELETE',
    path: '/channels/:channel_id/permissions/:overwrite_id',
    auth: 'any',
    permission: P.MANAGE_ROLES,
    bucket: WRITE,
    status: 204,
    handle: ({ params, authority }, { channels }) =>
      channels.call(params.channel_id, 'deleteOverwrite', { overwriteId: params.overwrite_id }, authority),
  }),
  list_guild_channels: op({
    method: 'GET',
    path: '/guilds/:guild_id/channels',
    auth: 'any',
    scope: 'guilds.channels.read',
    bucket: LAYOUT,
    // For games that choose a channel to link a lobby to.
    // @source https://docs.discord.food/resources/channel#list-guild-channels
    query: Obj({ with_can_link_lobby: Optional(Bool()) }),
    status: 200,
    handle: async ({ params, query, authority }, { guilds }) => {
      const input = { withLinking: query.with_can_link_lobby ?? false };
      return answer(await guilds.call(params.guild_id, 'listChannels', input, authority));
    },
  }),
  // No permission here: the command checks it in the category that the channel is created in.
  create_guild_channel: op({
    method: 'POST',
    path: '/guilds/:guild_id/channels',
    auth: 'any',
    bucket: LAYOUT,
    bodyBytesMax: BODY_BYTES.texts,
    body: CreateChannel,
    status: 201,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      answer(await guilds.call(params.guild_id, 'createChannel', { draft: draft }, authority)),
  }),
  // No permission here: the command checks it for each channel, in its old and its new category.
  bulk_update_guild_channels: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/channels',
    auth: 'any',
    bucket: LAYOUT,
    bodyBytesMax: BODY_BYTES.texts,
    body: MoveChannels,
    status: 204,
    handle: ({ params, body: list, authority }, { guilds }) => {
      const moves = list.flatMap<ChannelMove>(({ id, position, parent_id, lock_permissions }) =>
        id == null
          ? []
          : {
              id,
              position: position ?? null,
              ...(parent_id === undefined ? {} : { parentId: parent_id }),
              lockPermissions: lock_permissions ?? false,
            },
      );
      return guilds.call(params.guild_id, 'moveChannels', { moves }, authority);
    },
  }),
});
