import type { APIAttachment, APIUserPrimaryGuild } from 'discord-api-types/v10';
import type {
  ApplicationId,
  ChannelId,
  CommandId,
  EmojiId,
  EntitlementId,
  GuildId,
  MessageId,
  SkuId,
  SubscriptionId,
  TeamId,
  TicketId,
  UserId,
} from './ids.ts';
import {
  anything,
  bigint,
  fields,
  flag,
  given,
  id,
  integer,
  is,
  list,
  named,
  nullable,
  number,
  object,
  objectOfIds,
  oneOf,
  optional,
  partial,
  record,
  type Shape,
  setOf,
  text,
  wireObject,
  word,
} from './linkschema.ts';
import type { APIGuild, APIUser } from './objects.ts';
import type { Scope } from './scopes.ts';

/** Values that methods of several subjects carry between shards; see `link.ts`. */

export const guildId = id<GuildId>('guild');
export const channelId = id<ChannelId>('channel');
export const lobbyId = id<ChannelId>('lobby');
export const userId = id<UserId>('user');
export const applicationId = id<ApplicationId>('application');
export const messageId = id<MessageId>('message');
export const ids = {
  command: id<CommandId>('command'),
  emoji: id<EmojiId>('emoji'),
  team: id<TeamId>('team'),
  ticket: id<TicketId>('ticket'),
};
export const skuId = id<SkuId>('sku');
export const entitlementId = id<EntitlementId>('entitlement');
export const subscriptionId = id<SubscriptionId>('subscription');

/** Untrusted JSON of a client or an application. The method validates it itself, as it does on this shard. */
export const clientInput = named('client input', anything);
/** `d` of a dispatch. Shards pass it to sessions as it is; the shapes are those of the table of dispatches. */
export const dispatchBody = named('dispatch body', object);
/** Objects of the wire that only the caller's client reads. */
export const clientObject = named('client object', object);
/**
 * Fields of commands that are an id in every command. A command with another field that is named `…Id` and has the type
 * of an id does not compile, see `Routing.command`.
 */
const COMMAND_IDS = [
  ...(['applicationId', 'botId', 'channelId', 'emojiId', 'eventId', 'exceptionId', 'guildId'] as const),
  ...(['lobbyId', 'messageId', 'overwriteId', 'readerId', 'requestId', 'roleId', 'ruleId'] as const),
  ...(['scheduledEventId', 'soundId', 'sourceId', 'stickerId', 'userId', 'webhookId'] as const),
];
export type CommandIdField = (typeof COMMAND_IDS)[number];
/**
 * The input of a command: its ids are checked here. The owner accepts it only under the name of a command of its
 * aggregate; the other fields have the types of that command's row, against which the sender was compiled.
 */
export const commandInput = objectOfIds('command input', COMMAND_IDS);
/** The value of a command's reply. Its type is the one of the command, which is known to the caller alone. */
export const commandValue = named('command value', anything);

export const scope = word<Scope>('scope', 'identify');

/** The caller and the permissions that the call requires. */
export const authority = fields({
  by: fields({
    ...{ userId, bot: flag, applicationId: nullable(applicationId), applicationFlags: integer },
    ...{ reason: nullable(text), system: optional(is(true)) },
    secondFactor: optional(oneOf('unknown', 'none', 'set')),
  }),
  requires: bigint,
  channelId: optional(channelId),
});

/** The permissions of an application that acts for a user. */
export const authorization = fields({ id: text, applicationId, scopes: setOf(scope), expiresMs: number });
/** A user, or an application that acts for the user. */
export const person = fields({ userId, authorization: nullable(authorization) });
/** The owner of a session's token. */
export const principal = fields({
  ...{ userId, bot: flag, applicationId: nullable(applicationId), applicationFlags: integer },
  ...{ authorization: nullable(authorization), tokenId: optional(text) },
});

export const user = wireObject<APIUser>('user object', { id: userId, username: text });
export const guild = wireObject<APIGuild>('guild object', { id: guildId, name: text });
export const attachment = wireObject<APIAttachment>('attachment object', { id: text, filename: text });

export const metadata = record(text);

const applicationShape = {
  ...{ id: applicationId, bot_id: nullable(userId), owner_id: userId, name: text },
  ...{ icon: nullable(text), cover_image: nullable(text), description: text },
  ...{ bot_public: flag, bot_require_code_grant: flag, flags: integer, verify_key: text, tags: list(text) },
  ...{ interactions_endpoint_url: nullable(text), role_connections_verification_url: nullable(text) },
  ...{ custom_install_url: nullable(text), redirect_uris: list(text) },
  ...{ install_params: nullable(clientObject), integration_types_config: nullable(clientObject) },
  ...{ event_webhooks_url: nullable(text), event_webhooks_status: integer, event_webhooks_types: list(text) },
  ...{
    max_participants: nullable(integer),
    explicit_content_filter: integer,
    team_id: given(ids.team),
  },
  oauth2: optional(
    fields({ publicClient: flag, approvedScopes: list(scope), rpcOrigins: optional(list(text)) }),
  ),
  activity: optional(fields({ urlMappings: list(fields({ prefix: text, target: text })) })),
} satisfies Shape;
export const application = fields(applicationShape);
export const applicationChange = partial(applicationShape);

/** A change of an account. */
export const userChange = partial({
  ...{ username: text, global_name: nullable(text), avatar: nullable(text), banner: nullable(text) },
  ...{ primary_guild: nullable(wireObject<APIUserPrimaryGuild>('primary guild', {})), shows: guildId },
});

const templateRole = fields({
  ...{ id: integer, name: text, permissions: text, color: integer, hoist: flag, mentionable: flag },
  ...{ icon: is(null), unicode_emoji: nullable(text) },
  colors: fields({
    ...{ primary_color: integer, secondary_color: nullable(integer), tertiary_color: nullable(integer) },
  }),
});
const templateChannel = fields({
  ...{ id: integer, type: integer, name: nullable(text), position: integer, parent_id: nullable(text) },
  available_tags: nullable(list(clientObject)),
  permission_overwrites: list(fields({ id: text, type: integer, allow: text, deny: text })),
});
/** The choices of the founder of a guild. */
export const foundingChoice = partial({
  ...{ icon: nullable(text), verification_level: integer, default_message_notifications: integer },
  ...{ explicit_content_filter: integer, system_channel_flags: integer, afk_timeout: integer },
  template: fields({
    ...{ name: text, afk_channel_id: nullable(text), system_channel_id: nullable(text) },
    ...{ roles: list(templateRole), channels: list(templateChannel) },
  }),
});

/** A private channel as it is stored. */
export const privateChannel = fields({ id: channelId, type: integer, recipientIds: list(userId) });
/** The settings of a group. */
export const groupSettings = fields({
  ...{ ownerId: userId, name: nullable(text), icon: nullable(text) },
  ...{ applicationId: nullable(applicationId), nicks: metadata },
});
