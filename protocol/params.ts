import type { ApplicationId, ChannelId, GuildId, MessageId, RoleId, UserId, WebhookId } from './ids.ts';

/** The id type of each path parameter. Handlers receive parameters of these types, already validated as snowflakes. */
interface PathIds {
  readonly application_id: ApplicationId;
  readonly channel_id: ChannelId;
  readonly guild_id: GuildId;
  /** A lobby is a channel. */
  readonly lobby_id: ChannelId;
  readonly message_id: MessageId;
  readonly role_id: RoleId;
  readonly user_id: UserId;
  /** A webhook, or the application of the interaction whose token follows. */
  readonly webhook_id: WebhookId;
}

/** The type of a path parameter: a branded id, or text. */
export type PathParam<Name extends string> = Name extends keyof PathIds ? PathIds[Name] : string;
