import { CHANNEL } from '../channeltypes.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, UserId, WebhookId } from '../ids.ts';
import { ThreadMember } from './member.ts';
import {
  choice,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

export const channelType = choice(...Object.values(CHANNEL));

const directMessageChannel = object(
  {
    id: id<ChannelId>(),
    type: choice(CHANNEL.DM),
    last_message_id: nullable(id<MessageId>()),
    flags: integer,
    last_pin_timestamp: optional(nullable(time)),
    recipients: list(User),
  },
  'DirectMessageChannel',
);
export interface DirectMessageChannel extends ValueOf<typeof directMessageChannel> {}
export const DirectMessageChannel: Schema<DirectMessageChannel> = directMessageChannel;

const groupNick = object(
  {
    id: id<UserId>(),
    nick: text,
  },
  'GroupNick',
);

const groupChannel = object(
  {
    id: id<ChannelId>(),
    type: choice(CHANNEL.GROUP_DM),
    last_message_id: optional(nullable(id<MessageId>())),
    flags: integer,
    last_pin_timestamp: optional(nullable(time)),
    recipients: list(User),
    name: nullable(text),
    icon: nullable(text),
    owner_id: id<UserId>(),
    managed: optional(flag),
    application_id: optional(id<ApplicationId>()),
    nicks: optional(list(groupNick)),
  },
  'GroupChannel',
);

const channelPermissionOverwrite = object(
  {
    id: id(),
    type: choice(0, 1),
    allow: text,
    deny: text,
  },
  'ChannelPermissionOverwrite',
);
export interface ChannelPermissionOverwrite extends ValueOf<typeof channelPermissionOverwrite> {}
export const ChannelPermissionOverwrite: Schema<ChannelPermissionOverwrite> = channelPermissionOverwrite;

const defaultReactionEmoji = object(
  {
    emoji_id: nullable(id()),
    emoji_name: nullable(text),
  },
  'DefaultReactionEmoji',
);
export interface DefaultReactionEmoji extends ValueOf<typeof defaultReactionEmoji> {}
export const DefaultReactionEmoji: Schema<DefaultReactionEmoji> = defaultReactionEmoji;

const forumTag = object(
  {
    id: id(),
    name: text,
    moderated: flag,
    emoji_id: nullable(id()),
    emoji_name: nullable(text),
  },
  'ForumTag',
);

const linkedLobby = object(
  {
    application_id: id<ApplicationId>(),
    lobby_id: id<ChannelId>(),
    linked_by: id<UserId>(),
    linked_at: time,
    require_application_authorization: flag,
  },
  'LinkedLobby',
);

const guildChannel = object(
  {
    id: id<ChannelId>(),
    type: integer,
    last_message_id: optional(nullable(id<MessageId>())),
    flags: integer,
    last_pin_timestamp: optional(nullable(time)),
    guild_id: id<GuildId>(),
    name: text,
    parent_id: nullable(id<ChannelId>()),
    rate_limit_per_user: optional(integer),
    bitrate: optional(integer),
    user_limit: optional(integer),
    rtc_region: optional(nullable(text)),
    video_quality_mode: optional(choice(1, 2)),
    topic: optional(nullable(text)),
    default_auto_archive_duration: optional(choice(60, 1440, 4320, 10080)),
    default_thread_rate_limit_per_user: optional(integer),
    position: integer,
    permission_overwrites: list(ChannelPermissionOverwrite),
    nsfw: optional(flag),
    available_tags: optional(list(forumTag)),
    default_reaction_emoji: optional(nullable(DefaultReactionEmoji)),
    default_sort_order: optional(nullable(choice(0, 1))),
    default_forum_layout: optional(choice(0, 1, 2)),
    default_tag_setting: optional(nullable(choice('match_all', 'match_some'))),
    linked_lobby: optional(linkedLobby),
    is_linkable: optional(flag),
    is_viewable_and_writeable_by_all_members: optional(flag),
  },
  'GuildChannel',
);
export interface GuildChannel extends ValueOf<typeof guildChannel> {}
export const GuildChannel: Schema<GuildChannel> = guildChannel;

const threadMetadata = object(
  {
    archived: flag,
    archive_timestamp: nullable(time),
    auto_archive_duration: choice(60, 1440, 4320, 10080),
    locked: flag,
    create_timestamp: time,
    invitable: optional(flag),
  },
  'ThreadMetadata',
);

export const threadFields = {
  id: id<ChannelId>(),
  type: choice(CHANNEL.ANNOUNCEMENT_THREAD, CHANNEL.PUBLIC_THREAD, CHANNEL.PRIVATE_THREAD),
  last_message_id: optional(nullable(id<MessageId>())),
  flags: integer,
  last_pin_timestamp: optional(nullable(time)),
  guild_id: id<GuildId>(),
  name: text,
  parent_id: nullable(id<ChannelId>()),
  rate_limit_per_user: optional(integer),
  permissions: optional(text),
  owner_id: id<UserId>(),
  thread_metadata: threadMetadata,
  message_count: integer,
  member_count: integer,
  total_message_sent: integer,
  applied_tags: optional(list(id())),
  member: optional(ThreadMember),
};
const thread = object(threadFields, 'Thread');
export interface Thread extends ValueOf<typeof thread> {}
export const Thread: Schema<Thread> = thread;

const channel = oneOf(DirectMessageChannel, groupChannel, GuildChannel, Thread);
export type Channel = ValueOf<typeof channel>;
export const Channel: Schema<Channel> = channel;

const channelFollower = object(
  {
    channel_id: id<ChannelId>(),
    webhook_id: id<WebhookId>(),
  },
  'ChannelFollower',
);
export interface ChannelFollower extends ValueOf<typeof channelFollower> {}
export const ChannelFollower: Schema<ChannelFollower> = channelFollower;

const privateChannel = oneOf(DirectMessageChannel, groupChannel);
export type PrivateChannel = ValueOf<typeof privateChannel>;
export const PrivateChannel: Schema<PrivateChannel> = privateChannel;
