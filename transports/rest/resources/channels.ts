import type { ChannelMove } from '../../../engine/guild/channels.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { CHANNEL } from '../../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { CHOICES, LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { invalidField } from '../../../protocol/refusal.ts';
import { Channel, GuildChannel, PrivateChannel } from '../../../protocol/schemas/channel.ts';
import {
  Arr,
  Bool,
  Choice,
  Flags,
  ImageData,
  Int,
  NameText,
  Nullable,
  Obj,
  Optional,
  PermissionBits,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { saveImage } from '../image.ts';
import { type Answer, type Bucket, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

const INT32_MAX = 2 ** 31 - 1;
/** As published; tighter bounds are checked with the rules. */
const TEXT_CHARS_MAX = 152_133;

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
  name: Optional(Nullable(Name())),
  flags: Optional(Nullable(Flags())),
  // For group DMs.
  icon: Optional(Nullable(ImageData())),
  owner: Optional(Nullable(Snowflake<UserId>())),
});

const AddRecipient = Obj({
  access_token: Optional(Nullable(Str(0, TEXT_CHARS_MAX))),
  nick: Optional(Nullable(Str(0, TEXT_CHARS_MAX))),
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
    reply: Channel,
    handle: async ({ params, authority }, { channels }) =>
      await channels.call(params.channel_id, 'getChannel', {}, authority),
  }),
  update_channel: op({
    method: 'PATCH',
    path: '/channels/:channel_id',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.image,
    body: UpdateChannel,
    status: 200,
    reply: Channel,
    async handle({ params, body, authority }, services) {
      const { name, icon, owner, ...rest } = body;
      if (name === null || icon !== undefined || owner != null) {
        const group = await updateGroup(params.channel_id, { name, icon, owner }, authority, services);
        if (group) return group;
      }
      if (name === null) return NAME_REQUIRED;
      const draft = { ...rest, ...(name === undefined ? {} : { name }) };
      const input = { draft, threadChange: draft };
      return await services.channels.call(params.channel_id, 'updateChannel', input, authority);
    },
  }),
  add_group_dm_user: op({
    method: 'PUT',
    path: '/channels/:channel_id/recipients/:user_id',
    auth: 'any',
    bucket: WRITE,
    body: AddRecipient,
    status: 204,
    reply: none,
    also: { 201: PrivateChannel },
    async handle({ params, body, authority }, { groups }) {
      const { access_token: accessToken = null, nick = null } = body;
      const { channel_id: channelId, user_id: userId } = params;
      const reply = await groups.add(channelId, userId, { accessToken, nick: nick || null }, authority);
      if (!reply.ok) return reply;
      return reply.value ? { ok: true, status: 201, value: reply.value } : { ok: true };
    },
  }),
  delete_group_dm_user: op({
    method: 'DELETE',
    path: '/channels/:channel_id/recipients/:user_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    async handle({ params, authority }, { groups }) {
      const reply = await groups.remove(params.channel_id, params.user_id, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),
  delete_channel: op({
    method: 'DELETE',
    path: '/channels/:channel_id',
    auth: 'any',
    permission: P.MANAGE_CHANNELS,
    bucket: WRITE,
    status: 200,
    reply: Channel,
    handle: async ({ params, authority }, { channels }) =>
      await channels.call(params.channel_id, 'deleteChannel', {}, authority),
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
    reply: none,
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
    reply: none,
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
    reply: list(Channel),
    handle: async ({ params, query, authority }, { guilds }) => {
      const input = { withLinking: query.with_can_link_lobby ?? false };
      return await guilds.call(params.guild_id, 'listChannels', input, authority);
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
    reply: GuildChannel,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'createChannel', { draft: draft }, authority),
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
    reply: none,
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

interface GroupChange {
  readonly name: string | null | undefined;
  readonly icon: string | null | undefined;
  readonly owner: UserId | null | undefined;
}

const NAME_REQUIRED: Answer = {
  ok: false,
  refusal: invalidField(['name'], 'BASE_TYPE_REQUIRED', 'This field is required'),
};

/** Changes what only groups have: no name, an icon, another owner. @returns null for another channel. */
async function updateGroup(
  channelId: ChannelId,
  { name, icon, owner }: GroupChange,
  authority: Authority,
  { channels, groups, blobs }: Services,
): Promise<Answer | null> {
  const there = await channels.call(channelId, 'getChannel', {}, authority);
  if (!there.ok) return there;
  const type: number = there.value.type;
  if (type !== CHANNEL.GROUP_DM) return null;
  const saved = icon ? await saveImage(blobs, 'channel-icons', channelId, icon, 'icon') : null;
  if (saved && !saved.ok) return saved;
  const draft = {
    ...(name === undefined ? {} : { name }),
    ...(icon === undefined ? {} : { icon: saved?.value ?? null }),
    ...(owner == null ? {} : { owner }),
  };
  return await groups.update(channelId, draft, authority);
}
