import type { ApplicationId, ChannelId, GuildId, MessageId } from '../ids.ts';
import { ApplicationIntegrationTypeConfiguration, ApplicationOAuth2InstallParams } from './application.ts';
import { channelType } from './channel.ts';
import { scheduledEventFields } from './event.ts';
import { RoleColors } from './guild.ts';
import {
  choice,
  dict,
  flag,
  id,
  integer,
  json,
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

const inviteChannelRecipient = object(
  {
    id: id(),
    username: text,
    avatar: nullable(text),
  },
  'InviteChannelRecipient',
);

const inviteChannel = object(
  {
    id: id<ChannelId>(),
    type: channelType,
    name: nullable(text),
    icon: optional(text),
    recipients: optional(list(inviteChannelRecipient)),
  },
  'InviteChannel',
);

const groupDMInvite = object(
  {
    type: choice(1),
    code: text,
    inviter: optional(User),
    max_age: optional(integer),
    created_at: optional(time),
    expires_at: nullable(time),
    channel: inviteChannel,
    approximate_member_count: optional(nullable(integer)),
  },
  'GroupDMInvite',
);

const inviteApplication = object(
  {
    id: id<ApplicationId>(),
    name: text,
    icon: nullable(text),
    description: text,
    type: nullable(choice(4)),
    bot: optional(User),
    guild_id: optional(id<GuildId>()),
    rpc_origins: optional(list(text)),
    bot_public: optional(flag),
    bot_require_code_grant: optional(flag),
    install_params: optional(ApplicationOAuth2InstallParams),
    integration_types_config: optional(dict(ApplicationIntegrationTypeConfiguration)),
    verify_key: text,
    flags: integer,
    flags_new: text,
    max_participants: optional(nullable(integer)),
    tags: optional(list(text)),
  },
  'InviteApplication',
);

const inviteGuild = object(
  {
    id: id<GuildId>(),
    name: text,
    splash: nullable(text),
    banner: nullable(text),
    description: nullable(text),
    icon: nullable(text),
    features: list(text),
    verification_level: nullable(choice(0, 1, 2, 3, 4)),
    vanity_url_code: nullable(text),
    nsfw_level: nullable(choice(0, 1, 2, 3)),
    nsfw: nullable(flag),
    premium_subscription_count: integer,
  },
  'InviteGuild',
);

const inviteGuildRole = object(
  {
    id: id(),
    name: text,
    position: integer,
    color: integer,
    colors: RoleColors,
    icon: nullable(text),
    unicode_emoji: nullable(text),
    permissions: optional(text),
  },
  'InviteGuildRole',
);

const inviteScheduledEvent = object(
  {
    ...scheduledEventFields,
    creator: optional(User),
    entity_type: choice(0, 1, 2, 3),
    entity_metadata: optional(nullable(json)),
  },
  'InviteScheduledEvent',
);

export const guildInviteFields = {
  type: choice(0),
  code: text,
  inviter: optional(User),
  max_age: optional(integer),
  created_at: optional(time),
  expires_at: nullable(time),
  flags: optional(integer),
  guild: inviteGuild,
  guild_id: id<GuildId>(),
  channel: inviteChannel,
  target_type: optional(choice(1, 2, 3)),
  target_user: optional(User),
  target_application: optional(inviteApplication),
  guild_scheduled_event: optional(inviteScheduledEvent),
  target_message_id: optional(id<MessageId>()),
  uses: optional(integer),
  max_uses: optional(integer),
  temporary: optional(flag),
  approximate_member_count: optional(nullable(integer)),
  approximate_presence_count: optional(nullable(integer)),
  roles: optional(nullable(list(inviteGuildRole))),
};
const guildInvite = object(guildInviteFields, 'GuildInvite');

const invite = oneOf(groupDMInvite, guildInvite);
export type Invite = ValueOf<typeof invite>;
export const Invite: Schema<Invite> = invite;
