import type { ChannelId, GuildId, MessageId } from '../ids.ts';
import { Message } from './message.ts';
import {
  choice,
  flag,
  id,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

const activityInstanceCallback = object(
  {
    id: text,
  },
  'ActivityInstanceCallback',
);

const createMessageInteractionCallback = object(
  {
    type: choice(4),
    message: Message,
  },
  'CreateMessageInteractionCallback',
);

const interaction = object(
  {
    id: id(),
    type: choice(1, 2, 3, 4, 5, 6),
    activity_instance_id: optional(nullable(text)),
    response_message_id: optional(id<MessageId>()),
    response_message_loading: optional(flag),
    response_message_ephemeral: optional(flag),
    channel_id: optional(id<ChannelId>()),
    guild_id: optional(id<GuildId>()),
  },
  'Interaction',
);

const launchActivityInteractionCallback = object(
  {
    type: choice(12),
    activity_instance: activityInstanceCallback,
  },
  'LaunchActivityInteractionCallback',
);

const updateMessageInteractionCallback = object(
  {
    type: choice(7),
    message: Message,
  },
  'UpdateMessageInteractionCallback',
);

const interactionResource = oneOf(
  createMessageInteractionCallback,
  launchActivityInteractionCallback,
  updateMessageInteractionCallback,
);

const interactionCallback = object(
  {
    interaction: interaction,
    resource: optional(interactionResource),
  },
  'InteractionCallback',
);
export interface InteractionCallback extends ValueOf<typeof interactionCallback> {}
export const InteractionCallback: Schema<InteractionCallback> = interactionCallback;
