/**
 * Branded snowflake ids. On the wire an id is a decimal string of 15 to 21 digits; the engine keeps it as a string, so
 * no id passes through a lossy number.
 *
 * @source https://docs.discord.com/developers/reference#snowflakes
 */
declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };
/** An id of any kind. */
export type BrandedId = Id<string>;

export type GuildId = Id<'guild'>;
export type ChannelId = Id<'channel'>;
export type UserId = Id<'user'>;
/** A webhook is the author of its messages, so its id is used in place of a user's. */
export type WebhookId = UserId;
export type RoleId = Id<'role'>;
export type MessageId = Id<'message'>;
export type ApplicationId = Id<'application'>;
export type AttachmentId = Id<'attachment'>;
export type CommandId = Id<'command'>;
export type EmojiId = Id<'emoji'>;
export type StickerId = Id<'sticker'>;
export type StickerPackId = Id<'sticker pack'>;
export type SoundId = Id<'sound'>;
export type ScheduledEventId = Id<'scheduled event'>;
/** The snowflake of the time at which the occurrence would have begun. */
export type EventExceptionId = Id<'event exception'>;
export type AutoModerationRuleId = Id<'rule'>;
export type InteractionId = Id<'interaction'>;
export type JoinRequestId = Id<'join request'>;
export type OverwriteId = RoleId | UserId;
export type SkuId = Id<'sku'>;
export type EntitlementId = Id<'entitlement'>;
export type SubscriptionId = Id<'subscription'>;
export type TeamId = Id<'team'>;
export type TicketId = Id<'ticket'>;
export type AuthorizationId = Id<'authorization'>;
/** Not a snowflake: 32 hexadecimal digits from the server's random source. */
export type SessionId = Id<'session'>;
export type AnyId = string;
/** A newly generated id, which may become the id of anything. */
export type FreshId = Id<never>;

/** 2015-01-01T00:00:00Z in milliseconds, the earliest time in a snowflake. */
export const EPOCH_MS = 1_420_070_400_000;

/** One spelling per number: ids name actors and count limits as text, and `01` must not be another `1`. */
const SNOWFLAKE = /^(?:0|[1-9][0-9]{0,19})$/;
const MAX_SNOWFLAKE = String((1n << 63n) - 1n);

/**
 * True for a decimal string without leading zeros that fits a signed 64-bit integer (the column type of the database).
 */
export function isSnowflake(value: unknown): value is string {
  return typeof value === 'string' && SNOWFLAKE.test(value) && compareIds(value, MAX_SNOWFLAKE) <= 0;
}

/** True for a well-formed snowflake that may be the id of anything. */
export const isAnyId = (value: unknown): value is FreshId => isSnowflake(value);

/** Each is true for a well-formed snowflake, used where an id of this kind is expected. Nothing may exist under it. */
export const isGuildId = (value: unknown): value is GuildId => isSnowflake(value);
export const isChannelId = (value: unknown): value is ChannelId => isSnowflake(value);
export const isMessageId = (value: unknown): value is MessageId => isSnowflake(value);
export const isApplicationId = (value: unknown): value is ApplicationId => isSnowflake(value);
export const isEmojiId = (value: unknown): value is EmojiId => isSnowflake(value);
export const isStickerId = (value: unknown): value is StickerId => isSnowflake(value);
export const isSkuId = (value: unknown): value is SkuId => isSnowflake(value);
export const isSubscriptionId = (value: unknown): value is SubscriptionId => isSnowflake(value);
export const isRoleId = (value: unknown): value is RoleId => isSnowflake(value);
export const isUserId = (value: unknown): value is UserId => isSnowflake(value);

/** The Unix time in milliseconds at which a snowflake was generated. */
export function snowflakeMs(id: string): number {
  return Number(BigInt(id) >> 22n) + EPOCH_MS;
}

/** The snowflake with these bits. */
export const snowflakeOf = (bits: bigint): FreshId => String(bits) as FreshId;

/** The smallest snowflake of a Unix time in milliseconds, for paging by time. */
export function snowflakeAt(ms: number): FreshId {
  return snowflakeOf(BigInt(Math.max(0, Math.trunc(ms) - EPOCH_MS)) << 22n);
}

/** Orders two snowflakes by age without parsing them: the longer decimal string is the larger number. */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Two users, the older account first: relations of two users are stored under one order. */
export const userPair = (one: UserId, other: UserId): [UserId, UserId] =>
  compareIds(one, other) <= 0 ? [one, other] : [other, one];

/** The id of the everyone role of a guild equals the id of the guild. */
export function everyoneRoleOf(guildId: GuildId): RoleId {
  const id: string = guildId;
  return id as RoleId;
}

/** A thread has the id of the message that it was made from. */
export const threadIdOf = (messageId: MessageId): ChannelId => snowflakeOf(BigInt(messageId));

/** The user that stands for a team as the owner of its applications. */
export const teamUserIdOf = (teamId: TeamId): UserId => snowflakeOf(BigInt(teamId));

/** The first message of a post has the id of the post. */
export const firstMessageIdOf = (postId: ChannelId): MessageId => snowflakeOf(BigInt(postId));
