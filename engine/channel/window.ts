import type { ChannelId, MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Needs } from '../kernel/needs.ts';
import type { MessageFact } from './scope.ts';

/** State of an aggregate that rules of messages use. */
export interface Messages {
  readonly messages: Map<MessageId, StoredMessage | null>;
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
  /** Window on the pins of channels: all pins of a channel or none, each with its time in Unix milliseconds. */
  readonly pins: Map<ChannelId, ReadonlyMap<MessageId, number>>;
}

export const pinsIn = ({ pins }: Messages, channelId: ChannelId): ReadonlyMap<MessageId, number> =>
  pins.get(channelId) ?? new Map();

/** Loads the message, and its channel's pins if the command would pin or (`isPinned`) unpin it. */
export function needsToPin(
  { messages }: Messages,
  { channelId, messageId }: { readonly channelId: ChannelId; readonly messageId: MessageId },
  isPinned: boolean,
): Needs {
  const needs = { messages: [{ channelId, id: messageId }] };
  const message = messages.get(messageId);
  const changes = message?.channel_id === channelId && message.pinned === isPinned;
  return changes ? { ...needs, pins: [channelId] } : needs;
}

/**
 * Caches the pins of a channel from the database. A deletion that is not durable yet shows only in the window on
 * messages, so its pin is removed here; a pin that is not durable yet keeps the channel in the window, so that it is
 * not read.
 */
export function keepPins(
  { messages, pins }: Messages,
  channelId: ChannelId,
  found: ReadonlyMap<MessageId, number>,
): void {
  if (pins.has(channelId)) return;
  pins.set(channelId, new Map([...found].filter(([id]) => messages.get(id) !== null)));
}

/** The message that the caller sent under a nonce, until the nonce expires. */
export function sentUnder(
  owner: Messages,
  userId: string,
  nonce: string,
  nowMs: number,
): StoredMessage | null {
  const sent = owner.nonces.get(`${userId}:${nonce}`);
  return sent && nowMs - sent.atMs < LIMITS.nonce_ms ? sent.message : null;
}

/** Applies a fact to the window; messages outside the window need no change. */
export function applyMessage(owner: Messages, fact: MessageFact): void {
  const { messages } = owner;
  switch (fact.type) {
    case 'messageCreated':
      messages.set(fact.message.id, fact.message);
      if (fact.enforceNonce && fact.nonce !== null) rememberNonce(owner, fact.message, fact.nonce);
      return;
    case 'messageUpdated':
      messages.set(fact.message.id, fact.message);
      return;
    case 'messageDeleted':
      messages.set(fact.messageId, null);
      unpin(owner, fact.channelId, [fact.messageId]);
      return;
    case 'messagesBulkDeleted':
      for (const id of fact.messageIds) messages.set(id, null);
      unpin(owner, fact.channelId, fact.messageIds);
      return;
    case 'messagePinned':
      amend(owner, fact.messageId, { pinned: true, pinned_ms: fact.pinnedMs });
      pin(owner, fact.channelId, fact.messageId, fact.pinnedMs);
      return;
    case 'messageUnpinned':
      amend(owner, fact.messageId, { pinned: false, pinned_ms: null });
      unpin(owner, fact.channelId, [fact.messageId]);
      return;
  }
}

function amend({ messages }: Messages, id: MessageId, change: Partial<StoredMessage>): void {
  const message = messages.get(id);
  if (message) messages.set(id, { ...message, ...change });
}

function pin({ pins }: Messages, channelId: ChannelId, id: MessageId, pinnedMs: number): void {
  const known = pins.get(channelId);
  if (known) pins.set(channelId, new Map(known).set(id, pinnedMs));
}

function unpin({ pins }: Messages, channelId: ChannelId, ids: readonly MessageId[]): void {
  const known = pins.get(channelId);
  const gone = ids.filter((id) => known?.has(id));
  if (!known || gone.length === 0) return;
  const left = new Map(known);
  for (const id of gone) left.delete(id);
  pins.set(channelId, left);
}

/** Entries are in order of age, so expired ones are at the front. */
function rememberNonce({ nonces }: Messages, message: StoredMessage, nonce: string | number): void {
  const atMs = Date.parse(message.timestamp);
  const key = `${message.author.id}:${nonce}`;
  nonces.delete(key);
  nonces.set(key, { message, atMs });
  for (const [old, sent] of nonces) {
    if (nonces.size <= LIMITS.nonces_per_guild_max && atMs - sent.atMs < LIMITS.nonce_ms) break;
    nonces.delete(old);
  }
}
