import type { ChannelId, GuildId, UserId } from '../ids.ts';
import { ChannelPermissionOverwrite, DefaultReactionEmoji } from './channel.ts';
import {
  choice,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const templateChannelTag = object(
  {
    id: nullable(integer),
    name: text,
    emoji_id: nullable(id()),
    emoji_name: nullable(text),
    moderated: nullable(flag),
  },
  'TemplateChannelTag',
);

const templateChannel = object(
  {
    id: nullable(integer),
    type: choice(0, 2, 4, 15),
    name: nullable(text),
    position: nullable(integer),
    topic: nullable(text),
    bitrate: integer,
    user_limit: integer,
    nsfw: flag,
    rate_limit_per_user: integer,
    parent_id: nullable(id<ChannelId>()),
    default_auto_archive_duration: nullable(choice(60, 1440, 4320, 10080)),
    permission_overwrites: list(ChannelPermissionOverwrite),
    available_tags: nullable(list(templateChannelTag)),
    template: text,
    default_reaction_emoji: nullable(DefaultReactionEmoji),
    default_thread_rate_limit_per_user: nullable(integer),
    default_sort_order: nullable(choice(0, 1)),
    default_forum_layout: nullable(choice(0, 1, 2)),
    default_tag_setting: nullable(choice('match_all', 'match_some')),
    theme_color: nullable(integer),
  },
  'TemplateChannel',
);

const templateRoleColors = object(
  {
    primary_color: integer,
    secondary_color: nullable(integer),
    tertiary_color: nullable(integer),
  },
  'TemplateRoleColors',
);

const templateRole = object(
  {
    id: integer,
    name: text,
    permissions: text,
    color: integer,
    colors: nullable(templateRoleColors),
    hoist: flag,
    mentionable: flag,
    icon: nullable(text),
    unicode_emoji: nullable(text),
  },
  'TemplateRole',
);

const templateSnapshot = object(
  {
    name: text,
    description: nullable(text),
    region: nullable(text),
    verification_level: choice(0, 1, 2, 3, 4),
    default_message_notifications: choice(0, 1),
    explicit_content_filter: choice(0, 1, 2),
    preferred_locale: text,
    afk_channel_id: nullable(id<ChannelId>()),
    afk_timeout: choice(60, 300, 900, 1800, 3600),
    system_channel_id: nullable(id<ChannelId>()),
    system_channel_flags: integer,
    roles: list(templateRole),
    channels: list(templateChannel),
  },
  'TemplateSnapshot',
);

const template = object(
  {
    code: text,
    name: text,
    description: nullable(text),
    usage_count: integer,
    creator_id: id<UserId>(),
    creator: nullable(User),
    created_at: time,
    updated_at: time,
    source_guild_id: id<GuildId>(),
    serialized_source_guild: templateSnapshot,
    is_dirty: nullable(flag),
  },
  'Template',
);
export interface Template extends ValueOf<typeof template> {}
export const Template: Schema<Template> = template;
