import { type APIMessageReference, MessageFlags, MessageType } from 'discord-api-types/v10';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ChannelId, GuildId, MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type APIUser, NO_FLAGS } from '../../protocol/objects.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { MessageFacts, ReactionFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Env, FactOf } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';

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

/** A message of the wire without fields that depend on the reader: the whole audience gets the same. */
type SharedMessage = Omit<StoredMessage, 'reactions' | 'pinned_ms' | 'files'>;

/** Drops fields that only the server uses, and the embeds of a message that hides them. */
export function sharedMessage(message: StoredMessage): SharedMessage {
  const { reactions: _reactions, pinned_ms: _pinnedMs, files: _files, ...shared } = message;
  const hidden = ((message.flags ?? 0) & MessageFlags.SuppressEmbeds) !== 0;
  return hidden && shared.embeds.length > 0 ? { ...shared, embeds: [] } : shared;
}

/** Whether the message shows uploaded files, or may: in attachments, in components, or in what it forwards. */
export const showsFiles = ({ attachments, components, message_snapshots }: StoredMessage): boolean =>
  Boolean(attachments?.length || components?.length || message_snapshots?.length);

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

/** A new message, without reactions and pins. */
export function newMessage(
  env: Env,
  parts: Pick<StoredMessage, 'channel_id' | 'type' | 'author'> & Partial<StoredMessage>,
): StoredMessage {
  return {
    content: '',
    mentions: [],
    mention_roles: [],
    mention_everyone: false,
    attachments: [],
    embeds: [],
    components: [],
    flags: NO_FLAGS,
    tts: false,
    pinned: false,
    edited_timestamp: null,
    reactions: [],
    pinned_ms: null,
    ...parts,
    id: parts.id ?? env.nextId(),
    timestamp: isoTimestamp(env.nowMs),
  };
}

/** The fact of a message that the server wrote for a user: a pin, a join. */
export function systemMessage(
  env: Env,
  channelId: ChannelId,
  type: MessageType,
  author: APIUser,
  reference?: APIMessageReference,
): Extract<MessageFact, { type: 'messageCreated' }> {
  const message = newMessage(env, {
    channel_id: channelId,
    type,
    author,
    ...(reference ? { message_reference: reference } : {}),
  });
  return { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false };
}
