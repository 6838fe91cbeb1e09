import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { MessageFacts, ReactionFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { FactOf } from '../kernel/aggregate.ts';

export type MessageFact = FactOf<MessageFacts>;
export type ReactionFact = FactOf<ReactionFacts>;

/**
 * A channel as one caller sees it during a command: everything that the rules of messages need of a guild channel or a
 * private channel.
 */
export interface Scope {
  /** The aggregate that owns the messages: the guild, or the private channel itself. */
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  /** The caller. */
  readonly user: APIUser;
  /** The caller's bits in this channel; in a private channel the bits that both sides have. */
  readonly permissions: bigint;
  /** A user who can be mentioned: a member of the guild or known to the server; a recipient. */
  userOf(id: string): APIUser | null;
  /** True when the role exists and the caller may notify it. */
  mayNotifyRole(id: string): boolean;
  /** A message of this channel that `needs` had loaded; null for an unknown message. */
  messageOf(id: MessageId): StoredMessage | null;
  /** When each pinned message of this channel was pinned, Unix milliseconds; `needs` had them loaded. */
  pins(): ReadonlyMap<MessageId, number>;
  /** The message that the caller sent under this nonce within the nonce's lifetime. */
  sentUnder(nonce: string): StoredMessage | null;
}

export const can = (scope: Scope, bits: bigint): boolean => (scope.permissions & bits) === bits;

/** The owner of the channel's messages. */
export const whereOf = ({ ownerId, guildId }: Scope) => ({ ownerId, guildId });
