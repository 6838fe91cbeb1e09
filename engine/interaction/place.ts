import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { ReferencedIds, Resolved } from './resolved.ts';

/** The query to the place of an invocation. */
export interface InvocationQuery {
  readonly channelId: ChannelId;
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
  readonly botId: UserId | null;
  readonly wanted: ReferencedIds;
  /** The message of a component, or the target of a menu entry (`isTarget`); null for neither. */
  readonly message: {
    readonly channelId: ChannelId;
    readonly id: MessageId;
    readonly isTarget: boolean;
  } | null;
}

/** The place of an invocation and the objects it names, in the wire's shape. Permission bits are decimal text. */
export interface Described {
  /** Null in a private channel. */
  readonly guild: {
    readonly id: GuildId;
    readonly locale: string;
    readonly features: readonly string[];
  } | null;
  readonly channel: object;
  /** The type of the channel. */
  readonly type: number;
  /** The channel whose overwrites of commands count; for a thread, its parent. */
  readonly bearerId: ChannelId;
  readonly isNsfw: boolean;
  /** Whether the place is a locked thread, and the invoker is not one of the moderators who may still write there. */
  readonly isLocked: boolean;
  readonly user: APIUser;
  /** The invoker as a member, with the permissions in the channel; null in a private channel. */
  readonly member: object | null;
  /** The location as messages show it: without user and permissions. */
  readonly partialMember: object | null;
  readonly roles: readonly string[];
  readonly permissions: string;
  readonly appPermissions: string;
  /** Whether the bot is a member of the guild, or a recipient of the private channel. */
  readonly isBotHere: boolean;
  readonly message: StoredMessage | null;
  readonly resolved: Resolved;
  /** Premium tier of the guild; 0 in a private channel. */
  readonly premiumTier: number;
}
