import {
  type APIMessageReference,
  ChannelType,
  MessageFlags,
  MessageReferenceType,
  MessageType,
} from 'discord-api-types/v10';
import { FORWARDABLE, isDeletable } from '../../protocol/channeltypes.ts';
import { type MessageId, snowflakeMs } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { Written } from './draft.ts';
import { can, type MessageFact, type Scope, systemMessage, whereOf } from './messages.ts';

/** Deletes one message: the caller's own, or any with MANAGE_MESSAGES. Returns its author. */
export function removeMessage(
  scope: Scope,
  messageId: MessageId,
): Outcome<{ authorId: string }, MessageFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  const own = message.author.id === scope.user.id && message.type !== MessageType.AutoModerationAction;
  if (!own && !can(scope, P.MANAGE_MESSAGES)) return refused(refusal('MISSING_PERMISSIONS'));
  if (!isDeletable(message.type)) return refused(refusal('CANNOT_EXECUTE_ON_SYSTEM_MESSAGE'));
  const { channelId } = scope;
  return accepted({ authorId: message.author.id }, [{ type: 'messageDeleted', channelId, messageId }]);
}

/**
 * Deletes many messages at once. Ids without a message count towards the bounds and are otherwise ignored; no message
 * may be older than two weeks.
 *
 * @returns The number of deleted messages.
 */
export function removeMessages(
  scope: Scope,
  messageIds: readonly MessageId[],
  nowMs: number,
): Outcome<{ count: number }, MessageFact> {
  const ids = [...new Set(messageIds)];
  if (ids.length < LIMITS.bulk_delete_min || ids.length > LIMITS.bulk_delete_max) {
    return refused(refusal('TOO_FEW_OR_MANY_MESSAGES_TO_DELETE'));
  }
  if (ids.some((id) => snowflakeMs(id) < nowMs - LIMITS.bulk_delete_age_ms_max)) {
    return refused(refusal('MESSAGE_TOO_OLD_FOR_BULK_DELETE'));
  }
  const found = ids.filter((id) => {
    const message = scope.messageOf(id);
    return message !== null && isDeletable(message.type);
  });
  if (found.length === 0) return accepted({ count: 0 });
  const { channelId } = scope;
  return accepted({ count: found.length }, [{ type: 'messagesBulkDeleted', channelId, messageIds: found }]);
}

/** Pins a message and writes a system message. Pinning twice changes nothing. */
export function pinMessage(
  scope: Scope,
  messageId: MessageId,
  env: Env,
): Outcome<{ authorId: string; changed: boolean }, MessageFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  const authorId = message.author.id;
  if (message.pinned) return accepted({ authorId, changed: false });
  if (!FORWARDABLE.has(message.type)) return refused(refusal('CANNOT_EXECUTE_ON_SYSTEM_MESSAGE'));
  if (scope.pins().size >= LIMITS.pins_per_channel_max) return refused(refusal('MAXIMUM_PINS'));
  const { channelId } = scope;
  // No two pins of a channel have one time, because the time of a pin is the only cursor of their pages.
  const pinnedMs = Math.max(env.nowMs, (newestBut(scope, messageId) ?? 0) + 1);
  const reference: APIMessageReference = {
    type: MessageReferenceType.Default,
    channel_id: channelId,
    message_id: messageId,
    ...(scope.guildId === null ? {} : { guild_id: scope.guildId }),
  };
  return accepted({ authorId, changed: true }, [
    { type: 'messagePinned', channelId, messageId, pinnedMs },
    systemMessage(env, channelId, MessageType.ChannelPinnedMessage, scope.user, reference),
  ]);
}

/**
 * Unpins a message. A message that is not pinned stays unchanged.
 *
 * @param lastPinMs The channel's newest pin as stored in the channel, Unix milliseconds.
 */
export function unpinMessage(
  scope: Scope,
  messageId: MessageId,
  lastPinMs: number | null,
): Outcome<{ authorId: string; changed: boolean }, MessageFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  const authorId = message.author.id;
  if (!message.pinned) return accepted({ authorId, changed: false });
  const stays = lastPinMs !== null && message.pinned_ms !== null && lastPinMs > message.pinned_ms;
  const fact: MessageFact = {
    type: 'messageUnpinned',
    channelId: scope.channelId,
    messageId,
    lastPinMs: stays ? lastPinMs : newestBut(scope, messageId),
  };
  return accepted({ authorId, changed: true }, [fact]);
}

/** Time of the newest pin other than this message; null without one. */
function newestBut(scope: Scope, messageId: MessageId): number | null {
  let newestMs: number | null = null;
  for (const [id, ms] of scope.pins()) if (id !== messageId && ms > (newestMs ?? -1)) newestMs = ms;
  return newestMs;
}

/** Publishes a message of an announcement channel. Delivery to followers happens after the commit. */
export function crosspostMessage(
  scope: Scope,
  channelType: ChannelType,
  messageId: MessageId,
): Outcome<Written, MessageFact> {
  if (channelType !== ChannelType.GuildAnnouncement)
    return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  if (message.type !== MessageType.Default) return refused(refusal('CANNOT_EXECUTE_ON_SYSTEM_MESSAGE'));
  // A copy could not be voted in.
  if (message.poll) return refused(refusal('INVALID_MESSAGE_TYPE'));
  const needed = message.author.id === scope.user.id ? P.SEND_MESSAGES : P.SEND_MESSAGES | P.MANAGE_MESSAGES;
  if (!can(scope, needed)) return refused(refusal('MISSING_PERMISSIONS'));
  const flags = message.flags ?? 0;
  if ((flags & MessageFlags.Crossposted) !== 0) return refused(refusal('ALREADY_CROSSPOSTED'));
  const published = { ...message, flags: flags | MessageFlags.Crossposted };
  return accepted({ ...whereOf(scope), message: published, nonce: null }, [
    { type: 'messageUpdated', message: published },
  ]);
}
