import type { ApplicationId, ChannelId, GuildId, MessageId, RoleId, UserId } from './ids.ts';

/**
 * Whose id each path parameter is. An operation's handler gets its parameters with these types: that they are
 * snowflakes has been checked by then.
 */
interface PathIds {
  readonly application_id: ApplicationId;
  readonly channel_id: ChannelId;
  readonly guild_id: GuildId;
  /** A lobby is a channel among others. */
  readonly lobby_id: ChannelId;
  readonly message_id: MessageId;
  readonly role_id: RoleId;
  readonly user_id: UserId;
}

/** The type of a path parameter: an id of its own kind, or text. */
export type PathParam<Name extends string> = Name extends keyof PathIds ? PathIds[Name] : string;
