import { MessageFlags, MessageType } from 'discord-api-types/v10';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { MessageFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { ReactionFact } from './scope.ts';
import type { Messages } from './window.ts';

/** A message of the wire without fields that depend on the reader: the whole audience gets the same. */
type SharedMessage = Omit<StoredMessage, 'reactions' | 'pinned_ms' | 'files'>;

/** Drops fields that only the server uses, and the embeds of a message that hides them. */
export function sharedMessage(message: StoredMessage): SharedMessage {
  const { reactions: _reactions, pinned_ms: _pinnedMs, files: _files, ...shared } = message;
  const hidden = ((message.flags ?? 0) & MessageFlags.SuppressEmbeds) !== 0;
  return hidden && shared.embeds.length > 0 ? { ...shared, embeds: [] } : shared;
}

/** `referenced_message` of a reply: null for a deleted message, absent when it was not looked up. */
export function withReferenced(
  message: StoredMessage,
  referenced: StoredMessage | null | undefined,
): { referenced_message?: SharedMessage | null } {
  if (message.type !== MessageType.Reply || referenced === undefined) return {};
  return { referenced_message: referenced && sharedMessage(referenced) };
}

/** The id of the message that a message refers to, if any. */
export const referencedId = ({ message_reference }: StoredMessage): MessageId | undefined =>
  message_reference?.message_id as MessageId | undefined;

/** The message that a reply refers to; undefined when the window does not hold it. */
export function referencedOf(owner: Messages, message: StoredMessage): StoredMessage | null | undefined {
  const id = referencedId(message);
  return id === undefined ? undefined : owner.messages.get(id);
}

const inGuild = (guildId: GuildId | null) => (guildId === null ? {} : { guild_id: guildId });

/** Payload of MESSAGE_DELETE. */
export const deletedPayload = (fact: MessageFacts['messageDeleted'], guildId: GuildId | null) => ({
  id: fact.messageId,
  channel_id: fact.channelId,
  ...inGuild(guildId),
});

/** Payload of CHANNEL_PINS_UPDATE. `lastPinMs`: Unix milliseconds of the newest remaining pin. */
export const pinsPayload = (channelId: ChannelId, lastPinMs: number | null, guildId: GuildId | null) => ({
  ...inGuild(guildId),
  channel_id: channelId,
  last_pin_timestamp: lastPinMs === null ? null : isoTimestamp(lastPinMs),
});

/** Name and payload of a reaction fact's dispatch. `burst` is the wire's word for a paid kind that is not supported. */
export function reactionPayload(fact: ReactionFact, guildId: GuildId | null): { t: DispatchName; d: object } {
  const where = { channel_id: fact.channelId, message_id: fact.messageId, ...inGuild(guildId) };
  switch (fact.type) {
    case 'reactionAdded': {
      const { userId: user_id, messageAuthorId: message_author_id, emoji } = fact;
      const d = { user_id, ...where, message_author_id, emoji, burst: false, type: 0 };
      return { t: 'MESSAGE_REACTION_ADD', d };
    }
    case 'reactionRemoved': {
      const { userId: user_id, emoji } = fact;
      return { t: 'MESSAGE_REACTION_REMOVE', d: { user_id, ...where, emoji, burst: false, type: 0 } };
    }
    case 'reactionsCleared':
      return { t: 'MESSAGE_REACTION_REMOVE_ALL', d: where };
    case 'reactionsEmojiCleared':
      return { t: 'MESSAGE_REACTION_REMOVE_EMOJI', d: { ...where, emoji: fact.emoji } };
  }
}
