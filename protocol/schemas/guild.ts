import type { ApplicationId, ChannelId, GuildId, RoleId, UserId } from '../ids.ts';
import { Emoji, GuildSticker } from './expression.ts';
import {
  choice,
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';

const incidentsData = object(
  {
    invites_disabled_until: nullable(time),
    dms_disabled_until: nullable(time),
  },
  'IncidentsData',
);
export interface IncidentsData extends ValueOf<typeof incidentsData> {}
export const IncidentsData: Schema<IncidentsData> = incidentsData;

const roleColors = object(
  {
    primary_color: integer,
    secondary_color: nullable(integer),
    tertiary_color: nullable(integer),
  },
  'RoleColors',
);
export interface RoleColors extends ValueOf<typeof roleColors> {}
export const RoleColors: Schema<RoleColors> = roleColors;

const roleTags = object(
  {
    bot_id: optional(id<UserId>()),
    integration_id: optional(id()),
  },
  'RoleTags',
);

const role = object(
  {
    id: id<RoleId>(),
    name: text,
    permissions: text,
    position: integer,
    color: integer,
    colors: RoleColors,
    hoist: flag,
    managed: flag,
    mentionable: flag,
    icon: nullable(text),
    unicode_emoji: nullable(text),
    tags: optional(roleTags),
    flags: integer,
  },
  'Role',
);
export interface Role extends ValueOf<typeof role> {}
export const Role: Schema<Role> = role;

const guildFields = {
  id: id<GuildId>(),
  name: text,
  icon: nullable(text),
  description: nullable(text),
  home_header: nullable(text),
  splash: nullable(text),
  discovery_splash: nullable(text),
  features: list(text),
  banner: nullable(text),
  owner_id: id<UserId>(),
  application_id: nullable(id<ApplicationId>()),
  region: text,
  afk_channel_id: nullable(id<ChannelId>()),
  afk_timeout: choice(60, 300, 900, 1800, 3600),
  system_channel_id: nullable(id<ChannelId>()),
  system_channel_flags: integer,
  widget_enabled: flag,
  widget_channel_id: nullable(id<ChannelId>()),
  verification_level: choice(0, 1, 2, 3, 4),
  roles: list(Role),
  default_message_notifications: choice(0, 1),
  mfa_level: choice(0, 1),
  explicit_content_filter: choice(0, 1, 2),
  max_presences: nullable(integer),
  max_members: integer,
  max_stage_video_channel_users: integer,
  max_video_channel_users: integer,
  vanity_url_code: nullable(text),
  premium_tier: choice(0, 1, 2, 3),
  premium_subscription_count: integer,
  preferred_locale: text,
  rules_channel_id: nullable(id<ChannelId>()),
  safety_alerts_channel_id: nullable(id<ChannelId>()),
  public_updates_channel_id: nullable(id<ChannelId>()),
  premium_progress_bar_enabled: flag,
  nsfw: flag,
  nsfw_level: choice(0, 1, 2, 3),
  emojis: list(Emoji),
  stickers: list(GuildSticker),
  incidents_data: nullable(IncidentsData),
};
const guild = object(guildFields, 'Guild');
export interface Guild extends ValueOf<typeof guild> {}
export const Guild: Schema<Guild> = guild;

const countedGuild = object(
  {
    ...guildFields,
    approximate_member_count: optional(nullable(integer)),
    approximate_presence_count: optional(nullable(integer)),
  },
  'CountedGuild',
);
export interface CountedGuild extends ValueOf<typeof countedGuild> {}
export const CountedGuild: Schema<CountedGuild> = countedGuild;

const guildPreview = object(
  {
    id: id<GuildId>(),
    name: text,
    icon: nullable(text),
    description: nullable(text),
    home_header: nullable(text),
    splash: nullable(text),
    discovery_splash: nullable(text),
    features: list(text),
    approximate_member_count: integer,
    approximate_presence_count: integer,
    emojis: list(Emoji),
    stickers: list(GuildSticker),
    banner: nullable(text),
  },
  'GuildPreview',
);
export interface GuildPreview extends ValueOf<typeof guildPreview> {}
export const GuildPreview: Schema<GuildPreview> = guildPreview;

const ownGuild = object(
  {
    id: id<GuildId>(),
    name: text,
    icon: nullable(text),
    banner: nullable(text),
    owner: flag,
    permissions: text,
    features: list(text),
    approximate_member_count: optional(nullable(integer)),
    approximate_presence_count: optional(nullable(integer)),
  },
  'OwnGuild',
);
export interface OwnGuild extends ValueOf<typeof ownGuild> {}
export const OwnGuild: Schema<OwnGuild> = ownGuild;

const vanityUrl = object(
  {
    code: nullable(text),
    uses: integer,
  },
  'VanityUrl',
);
export interface VanityUrl extends ValueOf<typeof vanityUrl> {}
export const VanityUrl: Schema<VanityUrl> = vanityUrl;
