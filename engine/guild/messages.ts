import { AuditLogEvent } from 'discord-api-types/v10';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import { type ChannelId, type GuildId, isMessageId, isUserId, type MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { composeMessage, namedIn, repeated } from '../channel/compose.ts';
import type { CreateInput, EditInput, Sender, Written } from '../channel/draft.ts';
import {
  applyMessage,
  deletedPayload,
  type MessageFact,
  needsToPin,
  pinsPayload,
  referencedOf,
  sharedMessage,
  showsFiles,
  withReferenced,
} from '../channel/messages.ts';
import {
  crosspostMessage,
  pinMessage,
  removeMessage,
  removeMessages,
  unpinMessage,
} from '../channel/moderate.ts';
import type { MessagePage } from '../channel/recent.ts';
import { reviseMessage } from '../channel/revise.ts';

import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { channelIn, isAgeRestricted } from '../permissions/permissions.ts';
import { auditEntry } from './auditing.ts';
import { explicitRefusal, verificationRefusal } from './authorize.ts';
import { moderated, notePace } from './automod.messages.ts';
import type { GuildFact, MessageFacts } from './facts.ts';
import type { Guild, GuildChannel, Member, StoredMessage } from './guild.ts';
import {
  type GuildScope,
  inAnyChannel,
  inChannel,
  needsSlowmode,
  noteSlowmode,
  readsHistory,
  slowmodeWaitMs,
} from './messages.scope.ts';
import { lockRefusal, writingRefusal } from './threads.rules.ts';
import { amendThread } from './threads.state.ts';
import type { GuildTopic } from './topic.ts';

/** Names one message of a channel. */
export interface MessageInput {
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
}

export type MessageCommands = {
  /**
   * Returns the owner of a channel's messages, and whether the caller may read old ones. The store does the reading, unless
   * `page` names messages that are in memory.
   */
  authorizeHistory: {
    input: { readonly channelId: ChannelId; readonly page?: MessagePage };
    value: {
      readonly ownerId: string;
      readonly guildId: GuildId | null;
      readonly canReadHistory: boolean;
      readonly isAgeRestricted?: boolean;
      /** The page, newest first; null or absent where it is not in memory. */
      readonly messages?: readonly StoredMessage[] | null;
    };
  };
  createMessage: { input: CreateInput & { readonly channelId: ChannelId }; value: Written };
  updateMessage: { input: EditInput & MessageInput; value: Written };
  /** `from`: the message's author, when it is not the caller. */
  deleteMessage: { input: MessageInput & { readonly from?: Sender }; value: null };
  bulkDeleteMessages: {
    input: { readonly channelId: ChannelId; readonly messageIds: readonly MessageId[] };
    value: null;
  };
  crosspostMessage: { input: MessageInput; value: Written };
  pinMessage: { input: MessageInput; value: null };
  unpinMessage: { input: MessageInput; value: null };
};

/** The message, and the message it replies to once that is known. */
function needsMessage({ channelId, messageId }: MessageInput, guild: Guild): Needs {
  const replied = guild.messages.get(messageId)?.message_reference?.message_id;
  const ids = isMessageId(replied) ? [messageId, replied] : [messageId];
  return { messages: ids.map((id) => ({ channelId, id })) };
}

/** The newest messages, for a member who wants the newest or what came after one. */
function needsHistory(
  { channelId, page }: MessageCommands['authorizeHistory']['input'],
  guild: Guild,
  by: By,
): Needs {
  if (!page || page.before !== undefined || page.around !== undefined) return {};
  return guild.members.get(by.userId) && !guild.recent.has(channelId) ? { recent: [channelId] } : {};
}

function needsToCreate(
  { channelId, draft, from }: MessageCommands['createMessage']['input'],
  guild: Guild,
  by: By,
): Needs {
  const replied = draft.message_reference?.type ? undefined : draft.message_reference?.message_id;
  const messages = isMessageId(replied) ? [{ channelId, id: replied }] : [];
  const { id: userId, bot = false } = from?.fields.author ?? { id: by.userId, bot: by.bot };
  const slowmode = needsSlowmode(guild, channelId, { ...by, userId, bot }, 'messages');
  return { ...needsNamed(draft.content, guild), ...slowmode, messages };
}

function createMessage(
  guild: Guild,
  input: MessageCommands['createMessage']['input'],
  by: By,
  env: Env,
): Outcome<Written, GuildFact> {
  const thread = guild.threads.get(input.channelId);
  const unverified = input.from ? null : verificationRefusal(guild, by, env);
  const no =
    unverified ?? explicitRefusal(guild, by, input) ?? (thread && writingRefusal(guild, thread, by, env));
  if (no) return refused(no);
  const compose = (scope: GuildScope): Outcome<Written, GuildFact> => {
    const before = repeated(scope, input);
    if (before) return accepted(before);
    const waitMs = slowmodeWaitMs(guild, scope, env);
    if (waitMs > 0) return refused({ ...refusal('SLOWMODE_RATE_LIMIT'), retryAfterSec: waitMs / 1_000 });
    if (input.forward?.isAgeRestricted && !isAgeRestricted(guild, scope.channel))
      return refused(refusal('AGE_RESTRICTED_REFERENCE'));
    const outcome = composeMessage(scope, input, by, env);
    return guild.autoModeration.readsMessages
      ? moderated(scope, outcome, { guild, by, env, from: input.from })
      : outcome;
  };
  return inAnyChannel(guild, input.channelId, by, env, compose, input.from);
}

/** Adds an audit entry when the message was another user's. */
function audited<Value extends { readonly authorId: string }>(
  outcome: Outcome<Value, MessageFact>,
  entry: (value: Value) => GuildFact | null,
): Outcome<null, GuildFact> {
  if (!outcome.ok) return outcome;
  const note = entry(outcome.value);
  const facts: readonly GuildFact[] = outcome.facts;
  return accepted(null, note ? [...facts, note] : facts);
}

function deleteMessage(
  guild: Guild,
  { channelId, messageId, from }: MessageCommands['deleteMessage']['input'],
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const remove = (scope: GuildScope): Outcome<null, GuildFact> =>
    audited(removeMessage(scope, messageId), ({ authorId }) => {
      if (authorId === scope.user.id) return null;
      const options = { channel_id: channelId, count: '1' };
      return auditEntry(env, by, { actionType: AuditLogEvent.MessageDelete, targetId: authorId, options });
    });
  return inChannel(guild, channelId, by, env, remove, from);
}

function pinEntry(
  actionType: AuditLogEvent,
  targetId: string,
  { channelId, messageId }: MessageInput,
  by: By,
  env: Env,
): GuildFact {
  const options = { channel_id: channelId, message_id: messageId };
  return auditEntry(env, by, { actionType, targetId, options });
}

function lastPinMsOf(channel: GuildChannel): number | null {
  const { last_pin_timestamp: at } = channel as { readonly last_pin_timestamp?: string | null };
  return at ? Date.parse(at) : null;
}

function amendChannel(guild: Guild, channelId: ChannelId, change: object): void {
  const channel = guild.channels.get(channelId);
  if (channel) guild.channels.set(channelId, { ...channel, ...change });
  else amendThread(guild, channelId, change);
}

function noteWritten(guild: Guild, message: StoredMessage): void {
  amendChannel(guild, message.channel_id, { last_message_id: message.id });
  if (message.author.bot || !FORWARDABLE.has(message.type)) return;
  const { channel_id: channelId, author } = message;
  noteSlowmode(guild, { channelId, userId: author.id, counts: 'messages' }, Date.parse(message.timestamp));
}

/** Users that a text mentions: as members if they are in the window, else as users. */
export function needsNamed(content: string | null | undefined, guild: Guild): Needs {
  const ids = namedIn((content ?? '').slice(0, CONTENT_UNITS_MAX)).userIds.filter(isUserId);
  const strangers = ids.filter((id) => !guild.members.get(id));
  return { members: ids, users: strangers };
}

/** A text of the largest length in code points has at most twice as many UTF-16 units. */
const CONTENT_UNITS_MAX = LIMITS.content_chars_max * 2;

type MessageDispatches = {
  readonly [N in keyof MessageFacts]: (guild: Guild, fact: MessageFacts[N]) => readonly Dispatch[];
};

/** A member without its user, which the payload names beside it. */
function partOf({ user: _user, ...member }: Member): Omit<Member, 'user'> {
  return member;
}

/**
 * A message as the gateway sends it: the wire's object, with the data that clients need to show it in the guild.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#message-create-message-create-extra-fields
 */
function guildMessage(guild: Guild, message: StoredMessage, referenced: StoredMessage | null | undefined) {
  const member = guild.members.get(message.author.id);
  const mentions = message.mentions.map((user) => {
    const mentioned = guild.members.get(user.id);
    return mentioned ? { ...user, member: partOf(mentioned) } : user;
  });
  const channel = channelIn(guild, message.channel_id);
  return {
    ...sharedMessage(message),
    ...withReferenced(message, referenced),
    mentions,
    guild_id: guild.id,
    ...(member && !message.webhook_id ? { member: partOf(member) } : {}),
    ...(channel ? { channel_type: channel.type } : {}),
  };
}

function updated(guild: Guild, message: StoredMessage): Dispatch {
  // An edit never speaks aloud. @source https://docs.discord.com/developers/events/gateway-events#message-update
  const d = { ...guildMessage(guild, message, referencedOf(guild, message)), tts: false };
  return { t: 'MESSAGE_UPDATE', d, to: { kind: 'channel', channelId: message.channel_id } };
}

function pinsUpdated(guild: Guild, channelId: ChannelId, lastPinMs: number | null): Dispatch {
  const d = pinsPayload(channelId, lastPinMs, guild.id);
  return { t: 'CHANNEL_PINS_UPDATE', d, to: { kind: 'channel', channelId } };
}

/** The current message, if the window holds it. */
function restated(guild: Guild, messageId: StoredMessage['id']): readonly Dispatch[] {
  const message = guild.messages.get(messageId);
  return message ? [updated(guild, message)] : [];
}

const messageDispatches: MessageDispatches = {
  messageCreated: (guild, { message, nonce, referenced }) => {
    const d = {
      ...guildMessage(guild, message, referenced),
      ...(nonce === null ? {} : { nonce }),
    };
    const to = { kind: 'channel', channelId: message.channel_id } as const;
    const hasFiles = showsFiles(message) || Boolean(referenced && showsFiles(referenced));
    return [{ t: 'MESSAGE_CREATE', d, to, showsFiles: hasFiles }];
  },
  messageUpdated: (guild, { message }) => [updated(guild, message)],
  messageDeleted: (guild, fact) => [
    {
      t: 'MESSAGE_DELETE',
      d: deletedPayload(fact, guild.id),
      to: { kind: 'channel', channelId: fact.channelId },
    },
  ],
  messagesBulkDeleted: (guild, { channelId, messageIds }) => [
    {
      t: 'MESSAGE_DELETE_BULK',
      d: { ids: messageIds, channel_id: channelId, guild_id: guild.id },
      to: { kind: 'channel', channelId },
    },
  ],
  messagePinned: (guild, { channelId, messageId, pinnedMs }) => [
    pinsUpdated(guild, channelId, pinnedMs),
    ...restated(guild, messageId),
  ],
  messageUnpinned: (guild, { channelId, messageId, lastPinMs }) => [
    pinsUpdated(guild, channelId, lastPinMs),
    ...restated(guild, messageId),
  ],
};

/** Messages of the guild's channels: writing, editing, deleting, pinning, publishing. */
export const messages: GuildTopic<MessageCommands, keyof MessageFacts> = {
  commands: {
    authorizeHistory: {
      needs: needsHistory,
      decide: (guild, { channelId, page }, by, env) =>
        inAnyChannel(guild, channelId, by, env, (scope) => {
          const canReadHistory = readsHistory(scope);
          return accepted({
            ...{ ownerId: guild.id, guildId: guild.id, canReadHistory },
            isAgeRestricted: isAgeRestricted(guild, scope.channel),
            messages: page && canReadHistory ? guild.recent.page(channelId, page) : null,
          });
        }),
    },
    createMessage: { needs: needsToCreate, decide: createMessage },
    updateMessage: {
      acts: true,
      needs: (input, guild) => ({
        ...needsNamed(input.edit.content, guild),
        ...needsMessage(input, guild),
      }),
      decide(guild, input, by, env) {
        const revise = (scope: GuildScope): Outcome<Written, GuildFact> => {
          const thread = guild.threads.get(input.channelId);
          const no =
            explicitRefusal(guild, by, input) ?? (thread ? lockRefusal(guild, thread, by, env) : null);
          if (no) return refused(no);
          const outcome = reviseMessage(scope, input.messageId, input, by, env);
          return moderated(scope, outcome, { guild, by, env, from: input.from });
        };
        return inChannel(guild, input.channelId, by, env, revise, input.from);
      },
    },
    deleteMessage: {
      needs: needsMessage,
      decide: deleteMessage,
    },
    bulkDeleteMessages: {
      needs: ({ channelId, messageIds }) => ({
        messages: messageIds.slice(0, LIMITS.bulk_delete_max).map((id) => ({ channelId, id })),
      }),
      decide: (guild, { channelId, messageIds }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => {
          const outcome = removeMessages(scope, messageIds, env.nowMs);
          if (!outcome.ok) return outcome;
          if (outcome.facts.length === 0) return accepted(null);
          const options = { count: String(outcome.value.count) };
          const draft = { actionType: AuditLogEvent.MessageBulkDelete, targetId: channelId, options };
          return accepted(null, [...outcome.facts, auditEntry(env, by, draft)]);
        }),
    },
    crosspostMessage: {
      needs: needsMessage,
      decide: (guild, { channelId, messageId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) =>
          crosspostMessage(scope, scope.channel.type, messageId),
        ),
    },
    pinMessage: {
      needs: (input, guild) => needsToPin(guild, input, false),
      decide: (guild, { channelId, messageId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) =>
          audited(pinMessage(scope, messageId, env), ({ authorId, changed }) =>
            changed ? pinEntry(AuditLogEvent.MessagePin, authorId, { channelId, messageId }, by, env) : null,
          ),
        ),
    },
    unpinMessage: {
      needs: (input, guild) => needsToPin(guild, input, true),
      decide: (guild, { channelId, messageId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) =>
          audited(unpinMessage(scope, messageId, lastPinMsOf(scope.channel)), ({ authorId, changed }) =>
            changed
              ? pinEntry(AuditLogEvent.MessageUnpin, authorId, { channelId, messageId }, by, env)
              : null,
          ),
        ),
    },
  },
  facts: {
    messageCreated: {
      apply: (guild, fact) => {
        applyMessage(guild, fact);
        noteWritten(guild, fact.message);
        if (guild.autoModeration.watchesPace) notePace(guild, fact.message);
      },
      dispatches: messageDispatches.messageCreated,
    },
    messageUpdated: {
      apply: (guild, fact) => applyMessage(guild, fact),
      dispatches: messageDispatches.messageUpdated,
    },
    messageDeleted: {
      apply: (guild, fact) => applyMessage(guild, fact),
      dispatches: messageDispatches.messageDeleted,
    },
    messagesBulkDeleted: {
      apply: (guild, fact) => applyMessage(guild, fact),
      dispatches: messageDispatches.messagesBulkDeleted,
    },
    messagePinned: {
      apply: (guild, fact) => {
        applyMessage(guild, fact);
        amendChannel(guild, fact.channelId, { last_pin_timestamp: isoTimestamp(fact.pinnedMs) });
      },
      dispatches: messageDispatches.messagePinned,
    },
    messageUnpinned: {
      apply: (guild, fact) => {
        applyMessage(guild, fact);
        const last = fact.lastPinMs === null ? null : isoTimestamp(fact.lastPinMs);
        amendChannel(guild, fact.channelId, { last_pin_timestamp: last });
      },
      dispatches: messageDispatches.messageUnpinned,
    },
  },
};
