import type { ApplicationId, ChannelId, GuildId, WebhookId } from '../ids.ts';
import {
  choice,
  id,
  link,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const applicationIncomingWebhook = object(
  {
    application_id: nullable(id<ApplicationId>()),
    avatar: nullable(text),
    channel_id: nullable(id<ChannelId>()),
    guild_id: optional(nullable(id<GuildId>())),
    id: id<WebhookId>(),
    name: text,
    type: choice(3),
    user: optional(User),
  },
  'ApplicationIncomingWebhook',
);

const webhookSourceChannel = object(
  {
    id: id(),
    name: text,
  },
  'WebhookSourceChannel',
);

const webhookSourceGuild = object(
  {
    id: id(),
    icon: nullable(text),
    name: text,
  },
  'WebhookSourceGuild',
);

const channelFollowerWebhook = object(
  {
    application_id: nullable(id<ApplicationId>()),
    avatar: nullable(text),
    channel_id: nullable(id<ChannelId>()),
    guild_id: nullable(id<GuildId>()),
    id: id<WebhookId>(),
    name: text,
    type: choice(2),
    user: User,
    source_guild: webhookSourceGuild,
    source_channel: webhookSourceChannel,
  },
  'ChannelFollowerWebhook',
);

const guildIncomingWebhook = object(
  {
    application_id: nullable(id<ApplicationId>()),
    avatar: nullable(text),
    channel_id: nullable(id<ChannelId>()),
    guild_id: nullable(id<GuildId>()),
    id: id<WebhookId>(),
    name: text,
    type: choice(1),
    user: optional(User),
    token: optional(text),
    url: optional(link),
  },
  'GuildIncomingWebhook',
);
export interface GuildIncomingWebhook extends ValueOf<typeof guildIncomingWebhook> {}
export const GuildIncomingWebhook: Schema<GuildIncomingWebhook> = guildIncomingWebhook;

const webhook = oneOf(applicationIncomingWebhook, channelFollowerWebhook, GuildIncomingWebhook);
export type Webhook = ValueOf<typeof webhook>;
export const Webhook: Schema<Webhook> = webhook;
