import { MessageFlags, MessageType } from 'discord-api-types/v10';
import type { MessageId } from '../../protocol/ids.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Messages } from './window.ts';

/** A message of the wire without what depends on who looks: everyone in an audience gets the same. */
export type SharedMessage = Omit<StoredMessage, 'reactions' | 'pinned_ms'>;

/** Drops what is the server's own, and the embeds of a message that hides them. */
export function sharedMessage(message: StoredMessage): SharedMessage {
  const { reactions: _reactions, pinned_ms: _pinnedMs, ...shared } = message;
  const hidden = ((message.flags ?? 0) & MessageFlags.SuppressEmbeds) !== 0;
  return hidden && shared.embeds.length > 0 ? { ...shared, embeds: [] } : shared;
}

/** `referenced_message` of a reply: null says that it is gone, absent that nobody looked. */
export function withReferenced(
  message: StoredMessage,
  referenced: StoredMessage | null | undefined,
): { referenced_message?: SharedMessage | null } {
  if (message.type !== MessageType.Reply || referenced === undefined) return {};
  return { referenced_message: referenced && sharedMessage(referenced) };
}

/** The message a reply answers, as far as the window knows. */
export function referencedOf(owner: Messages, message: StoredMessage): StoredMessage | null | undefined {
  const id = message.message_reference?.message_id;
  return id === undefined ? undefined : owner.messages.get(id as MessageId);
}
