import type { ApplicationId, ChannelId, GuildId, UserId } from '../ids.ts';
import { choice, id, list, object, oneOf, type Schema, text, type ValueOf } from './schema.ts';

const guildChannelLocation = object(
  {
    id: text,
    kind: choice('gc'),
    channel_id: id<ChannelId>(),
    guild_id: id<GuildId>(),
  },
  'GuildChannelLocation',
);

const privateChannelLocation = object(
  {
    id: text,
    kind: choice('pc'),
    channel_id: id<ChannelId>(),
  },
  'PrivateChannelLocation',
);

const activityLocation = oneOf(guildChannelLocation, privateChannelLocation);

const embeddedActivityInstance = object(
  {
    application_id: id<ApplicationId>(),
    instance_id: text,
    launch_id: text,
    location: activityLocation,
    users: list(id<UserId>()),
  },
  'EmbeddedActivityInstance',
);
export interface EmbeddedActivityInstance extends ValueOf<typeof embeddedActivityInstance> {}
export const EmbeddedActivityInstance: Schema<EmbeddedActivityInstance> = embeddedActivityInstance;
