import { AdditionalContentType, ChannelType } from '../enums.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { keepUser } from './people.ts';
import { byId, idOf, jsonOf, listOf, madeMs, mapOf, numberOf, textOf, timeOf } from './read.ts';
import {
  type ChannelRecord,
  type InviteRecord,
  KEPT,
  type MessageList,
  type MessageRecord,
  type Notice,
  type State,
} from './store.ts';

const VOICE_MESSAGE = 1 << 13;
const INVITE_TYPES: readonly unknown[] = [1, 5];

const PRIVATE_TYPES: readonly (number | null)[] = [
  ChannelType.Dm,
  ChannelType.GroupDm,
  ChannelType.EphemeralDm,
];

/** Kinds of content besides text, in order of priority. */
function additionalOf(d: Json): MessageRecord['additional'] {
  const counted = (type: number, count: number, title: string | null = null) => ({ type, title, count });
  const attachments = listOf(d, 'attachments');
  const poll = jsonOf(d, 'poll');
  const thread = jsonOf(d, 'thread');
  const stickers = listOf(d, 'sticker_items');
  const embeds = listOf(d, 'embeds');
  if (attachments.length > 0) {
    const isVoice = ((numberOf(d, 'flags') ?? 0) & VOICE_MESSAGE) !== 0;
    if (isVoice) return counted(AdditionalContentType.VoiceMessage, 1);
    return counted(AdditionalContentType.Attachment, attachments.length, textOf(attachments[0]!, 'filename'));
  }
  if (poll !== null)
    return counted(AdditionalContentType.Poll, 1, textOf(jsonOf(poll, 'question') ?? {}, 'text'));
  if (thread !== null) return counted(AdditionalContentType.Thread, 1, textOf(thread, 'name'));
  if (stickers.length > 0)
    return counted(AdditionalContentType.Sticker, stickers.length, textOf(stickers[0]!, 'name'));
  if (embeds.length > 0)
    return counted(AdditionalContentType.Embed, embeds.length, textOf(embeds[0]!, 'title'));
  return listOf(d, 'components').length > 0 ? counted(AdditionalContentType.Other, 1) : null;
}

const IS_KEPT = /^(?:metadata|moderation_metadata|content|flags)$/;

/** Parses a message over its known state: an update may be partial. @returns null without id or channel. */
function messageOf(state: State, d: Json, given: { recipientId?: string } = {}): MessageRecord | null {
  const id = idOf(d, 'id');
  const before = id === null ? null : messageAt(state, id);
  const author = jsonOf(d, 'author');
  if (author !== null) keepUser(state, author);
  const lobbyId = idOf(d, 'lobby_id') ?? before?.lobbyId ?? null;
  const channelId =
    lobbyId ?? idOf(d, 'channel_id') ?? before?.channelId ?? idOf(jsonOf(d, 'channel') ?? {}, 'id');
  const authorId = (author && idOf(author, 'id')) ?? before?.authorId ?? null;
  if (id === null || channelId == null || authorId === null) return null;
  const is = (key: string) => IS_KEPT.test(key) && key in d;
  const named = listOf(d, 'mentions').map((user) => {
    keepUser(state, user);
    return [String(user.id), textOf(user, 'global_name') ?? textOf(user, 'username') ?? ''] as const;
  });
  return {
    id,
    channelId,
    lobbyId,
    authorId,
    recipientId:
      lobbyId === null
        ? (given.recipientId ?? before?.recipientId ?? peerOf(state, d, channelId, authorId))
        : null,
    content: is('content') ? (textOf(d, 'content') ?? '') : (before?.content ?? ''),
    metadata: is('metadata') ? mapOf(d, 'metadata') : (before?.metadata ?? {}),
    moderationMetadata: is('moderation_metadata')
      ? mapOf(d, 'moderation_metadata')
      : // An edit clears the moderation metadata of the earlier text.
        is('content')
        ? {}
        : (before?.moderationMetadata ?? {}),
    applicationId: idOf(d, 'application_id') ?? before?.applicationId ?? null,
    additionalName:
      textOf(jsonOf(d, 'lobby_member') ?? {}, 'additional_name') ?? before?.additionalName ?? null,
    editedMs: timeOf(d, 'edited_timestamp') || (before?.editedMs ?? 0),
    flags: is('flags') ? (numberOf(d, 'flags') ?? 0) : (before?.flags ?? 0),
    additional: additionalOf(d) ?? before?.additional ?? null,
    names: named.length > 0 ? new Map(named) : (before?.names ?? new Map()),
    disclosure: numberOf(d, 'disclosure_type') ?? before?.disclosure ?? null,
  };
}

/** Recipient of a direct message: the participant who is not the author. A group message has no single recipient. */
function peerOf(state: State, d: Json, channelId: string, authorId: string): string | null {
  const recipient = idOf(d, 'recipient_id');
  if (recipient !== null) return recipient;
  if (state.channels.get(channelId)?.type === ChannelType.GroupDm) return null;
  if (authorId !== state.meId) return state.meId;
  const [peer] = state.channels.get(channelId)?.recipientIds.filter((id) => id !== authorId) ?? [];
  if (peer !== undefined) return peer;
  // The channel between provisional players has the other user's id.
  return state.users.has(channelId) ? channelId : null;
}

const listAt = (state: State, channelId: string): MessageList => {
  const found = state.messages.get(channelId);
  if (found !== undefined) return found;
  const list: MessageList = { messages: [], known: 0, whole: false };
  state.messages.set(channelId, list);
  for (const [oldest, { messages }] of state.messages) {
    if (state.messages.size <= KEPT.channels_with_messages_max) break;
    for (const { id } of messages) state.places.delete(id);
    state.messages.delete(oldest);
  }
  return list;
};

/** @returns whether the message is new. */
function insert(state: State, record: MessageRecord): boolean {
  const list = listAt(state, record.channelId);
  const { messages } = list;
  let at = messages.length;
  while (at > 0 && byId(messages[at - 1]!.id, record.id) > 0) at--;
  const isNew = messages[at - 1]?.id !== record.id;
  if (isNew) {
    messages.splice(at, 0, record);
    if (list.known > 0 && at > messages.length - 1 - list.known) list.known++;
  } else messages[at - 1] = record;
  state.places.set(record.id, record.channelId);
  const keep = Math.max(KEPT.messages_per_channel_max, Math.min(list.known, KEPT.history_messages_max));
  for (const { id } of messages.splice(0, messages.length - keep)) state.places.delete(id);
  if (list.known > messages.length) {
    list.known = messages.length;
    list.whole = false;
  }
  return isNew;
}

export const messageAt = (state: State, messageId: string): MessageRecord | null =>
  state.messages.get(state.places.get(messageId) ?? '')?.messages.find(({ id }) => id === messageId) ?? null;

/** Stores a message of an HTTP response. @returns null when the data is no message. */
export function adoptMessage(
  state: State,
  answer: unknown,
  given: { recipientId?: string } = {},
): MessageRecord | null {
  const record = isJson(answer) ? messageOf(state, answer, given) : null;
  if (record !== null) insert(state, record);
  return record;
}

/** Parses messages without storing them: a lobby's history is always requested. Newest first. */
export function readMessages(state: State, answer: unknown): MessageRecord[] {
  if (!Array.isArray(answer)) return [];
  const records = answer.filter(isJson).flatMap((d) => messageOf(state, d) ?? []);
  return records.sort((a, b) => byId(b.id, a.id));
}

/**
 * Stores the response to a direct-message history request.
 *
 * @param asked Requested number; a shorter response reaches the beginning of the history.
 */
export function adoptHistory(state: State, peerId: string, answer: unknown, asked: number): MessageRecord[] {
  const mine = { recipientId: peerId };
  const given = Array.isArray(answer) ? answer.filter(isJson) : [];
  const records = given
    .flatMap((d) => {
      const isMine = jsonOf(d, 'author')?.id === state.meId;
      return messageOf(state, d, isMine ? mine : {}) ?? [];
    })
    .sort((a, b) => byId(b.id, a.id));
  const [newest] = records;
  if (newest === undefined) return [];
  const list = listAt(state, newest.channelId);
  // Newer messages arrived during the request and follow without a gap.
  const later = list.messages.filter(({ id }) => byId(id, newest.id) > 0);
  for (const { id } of list.messages) state.places.delete(id);
  list.messages.splice(0, Number.POSITIVE_INFINITY, ...records.toReversed(), ...later);
  for (const { id, channelId } of list.messages) state.places.set(id, channelId);
  list.known = list.messages.length;
  list.whole = given.length < asked;
  return records;
}

/** History from the store; null when the store does not reach far enough. Newest first, at most 72 hours old. */
export function historyAt(
  state: State,
  peerId: string,
  limit: number,
  nowMs: number,
): MessageRecord[] | null {
  const list = state.messages.get(channelWith(state, peerId) ?? '');
  if (list === undefined || list.known === 0 || (list.known < limit && !list.whole)) return null;
  const known = list.messages.slice(-Math.min(list.known, limit));
  return known.filter(({ id }) => nowMs - madeMs(id) <= KEPT.history_ms).toReversed();
}

/** The direct-message channel with a user, if known. */
export function channelWith(state: State, peerId: string): string | null {
  for (const { id, type, recipientIds } of state.channels.values())
    if (type !== ChannelType.GroupDm && recipientIds.includes(peerId)) return id;
  for (const [channelId, { messages }] of state.messages) {
    const [first] = messages;
    if (first === undefined || first.lobbyId !== null) continue;
    if (first.authorId === peerId || first.recipientId === peerId) return channelId;
  }
  return null;
}

function keepChannel(state: State, d: Json): void {
  const id = idOf(d, 'id');
  const type = numberOf(d, 'type');
  if (id === null || !PRIVATE_TYPES.includes(type)) return;
  for (const user of listOf(d, 'recipients')) keepUser(state, user);
  const ids = Array.isArray(d.recipient_ids)
    ? d.recipient_ids
    : listOf(d, 'recipients').map((user) => user.id);
  const before = state.channels.get(id);
  const channel: ChannelRecord = {
    id,
    type: type ?? 0,
    name: textOf(d, 'name') ?? '',
    recipientIds: ids.length > 0 ? ids.map(String) : (before?.recipientIds ?? []),
    lastMessageId: idOf(d, 'last_message_id') ?? before?.lastMessageId ?? null,
  };
  state.channels.set(id, channel);
  for (const oldest of state.channels.keys()) {
    if (state.channels.size <= KEPT.private_channels_max) break;
    state.channels.delete(oldest);
  }
}

function inviteOf(state: State, d: Json): InviteRecord | null {
  const activity = jsonOf(d, 'activity');
  const author = jsonOf(d, 'author');
  if (activity === null || !INVITE_TYPES.includes(activity.type)) return null;
  if (author !== null) keepUser(state, author);
  const application = jsonOf(d, 'application') ?? {};
  const senderId = author && idOf(author, 'id');
  if (senderId === null || senderId === undefined) return null;
  return {
    senderId,
    channelId: idOf(d, 'channel_id') ?? '',
    messageId: idOf(d, 'message_id') ?? idOf(d, 'id') ?? '',
    type: Number(activity.type),
    applicationId: idOf(application, 'id') ?? idOf(d, 'application_id') ?? '',
    parentApplicationId: idOf(application, 'parent_id') ?? '',
    partyId: textOf(activity, 'party_id') ?? '',
    sessionId: textOf(activity, 'session_id') ?? '',
    isValid: true,
  };
}

function invited(state: State, d: Json): Notice[] {
  const invite = inviteOf(state, d);
  if (invite === null || invite.senderId === state.meId) return [];
  const key = invite.messageId || `${invite.senderId} ${invite.partyId}`;
  const isNew = !state.invites.has(key);
  state.invites.set(key, invite);
  for (const oldest of state.invites.keys()) {
    if (state.invites.size <= KEPT.invites_max) break;
    state.invites.delete(oldest);
  }
  return isNew ? [{ type: 'activityInviteCreated', invite }] : [];
}

function written(state: State, d: Json): Notice[] {
  const channel = jsonOf(d, 'channel');
  if (channel !== null) keepChannel(state, channel);
  // Guild messages are not stored.
  if (typeof d.guild_id === 'string' && idOf(d, 'lobby_id') === null) return [];
  const record = messageOf(state, d);
  if (record === null) return [];
  insert(state, record);
  const place = state.channels.get(record.channelId);
  if (place !== undefined) state.channels.set(place.id, { ...place, lastMessageId: record.id });
  return [{ type: 'messageCreated', messageId: record.id }, ...invited(state, d)];
}

function edited(state: State, d: Json): Notice[] {
  const id = idOf(d, 'id');
  const known = id !== null && messageAt(state, id) !== null;
  const record = messageOf(state, d);
  if (record === null) return [];
  // A message older than the stored ones is not inserted.
  if (known) insert(state, record);
  return [{ type: 'messageUpdated', messageId: record.id }];
}

/** Removes a message. */
export function dropMessage(state: State, messageId: string): void {
  const list = state.messages.get(state.places.get(messageId) ?? '');
  state.places.delete(messageId);
  const at = list?.messages.findIndex(({ id }) => id === messageId) ?? -1;
  if (list === undefined || at === -1) return;
  if (at >= list.messages.length - list.known) list.known--;
  list.messages.splice(at, 1);
}

function erased(state: State, d: Json): Notice[] {
  const messageId = idOf(d, 'id');
  if (messageId === null || (typeof d.guild_id === 'string' && idOf(d, 'lobby_id') === null)) return [];
  const channelId = idOf(d, 'lobby_id') ?? idOf(d, 'channel_id') ?? state.places.get(messageId) ?? '';
  dropMessage(state, messageId);
  return [{ type: 'messageDeleted', messageId, channelId }];
}

/** Applies the private channels of READY; messages sent while disconnected are a gap in the stored ones. */
export function messagesReady(state: State, d: Json): Notice[] {
  state.channels.clear();
  for (const channel of listOf(d, 'private_channels')) keepChannel(state, channel);
  for (const list of state.messages.values()) {
    list.known = 0;
    list.whole = false;
  }
  return [];
}

/** A user joined or left a known group. */
const recipientChanged =
  (isThere: boolean) =>
  (state: State, d: Json): Notice[] => {
    const channel = state.channels.get(idOf(d, 'channel_id') ?? '');
    const user = jsonOf(d, 'user');
    const userId = user && idOf(user, 'id');
    if (!channel || !user || !userId) return [];
    keepUser(state, user);
    const others = channel.recipientIds.filter((id) => id !== userId);
    const recipientIds = isThere ? [...others, userId] : others;
    state.channels.set(channel.id, { ...channel, recipientIds });
    return [];
  };

const channelChanged = (state: State, d: Json): Notice[] => {
  keepChannel(state, d);
  return [];
};

export const messages = {
  MESSAGE_CREATE: written,
  MESSAGE_UPDATE: edited,
  MESSAGE_DELETE: erased,
  LOBBY_MESSAGE_CREATE: written,
  LOBBY_MESSAGE_UPDATE: edited,
  LOBBY_MESSAGE_DELETE: erased,
  CHANNEL_CREATE: channelChanged,
  CHANNEL_UPDATE: channelChanged,
  CHANNEL_RECIPIENT_ADD: recipientChanged(true),
  CHANNEL_RECIPIENT_REMOVE: recipientChanged(false),
  CHANNEL_DELETE(state: State, d: Json): Notice[] {
    state.channels.delete(idOf(d, 'id') ?? '');
    return [];
  },
  ACTIVITY_INVITE_CREATE: invited,
};
