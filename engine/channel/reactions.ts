import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { ReactionCount, StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import { type CustomEmoji, customEmojiId, reactionKey } from './emoji.ts';
import { can, type ReactionFact, type Scope } from './messages.ts';

/** State of the aggregate that rules of reactions use. */
interface Reacted {
  readonly messages: Map<MessageId, StoredMessage | null>;
  /**
   * Window on reactions: whether a user has reacted, by `message:key:user`. The keys `message:` and `message:key:`
   * record a clearing: false for every user without an entry of their own. An entry of a user made after the clearing
   * overrides it, so a clearing must not outlive it: the oldest entries are dropped first.
   */
  readonly reacted: Map<string, boolean>;
}

interface Target {
  readonly message: StoredMessage;
  readonly key: string;
  /** Count of the emoji on the message; undefined without reactions. */
  readonly standing: ReactionCount | undefined;
}

/** The message and the emoji that a path names. @returns 10008 or 10014 when unknown. */
export function reactionTarget(scope: Scope, messageId: MessageId, emoji: string): Reply<Target> {
  const key = reactionKey(emoji);
  if (key === null) return refused(refusal('UNKNOWN_EMOJI'));
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  return { ok: true, value: { message, key, standing: message.reactions.find((one) => one.key === key) } };
}

/** Names the reactions to a message with one emoji. */
export interface ReactionInput {
  readonly messageId: MessageId;
  /** As given in the path, percent-decoded. */
  readonly emoji: string;
  /** The custom emoji of the path, if it exists and the caller may use it. The handler has asked its owner. */
  readonly custom?: CustomEmoji;
}

/** One user's reaction to a message with an emoji. */
interface Reaction {
  readonly messageId: MessageId;
  readonly key: string;
  readonly userId: UserId;
}

const nameOf = ({ messageId, key, userId }: Reaction): string => `${messageId}:${key}:${userId}`;

/** Whether the user has reacted; undefined when the database must be read. */
export const knownReaction = ({ reacted }: Reacted, one: Reaction): boolean | undefined =>
  reacted.get(nameOf(one)) ?? reacted.get(`${one.messageId}:${one.key}:`) ?? reacted.get(`${one.messageId}:`);

/** Caches the database's answer. A newer decision, which may not be durable yet, is kept. */
export function keepReaction(owner: Reacted, one: Reaction, has: boolean): void {
  if (knownReaction(owner, one) === undefined) owner.reacted.set(nameOf(one), has);
}

/** True when the window holds the message and the emoji is valid. */
export const namesTarget = ({ messages }: Reacted, { messageId, emoji }: ReactionInput): boolean =>
  Boolean(messages.get(messageId)) && reactionKey(emoji) !== null;

/** Loads the message, and whether the caller has reacted, if anyone has. */
export function needsReaction(
  { messages }: Reacted,
  { channelId, messageId, emoji }: ReactionInput & { readonly channelId: ChannelId },
  userId: UserId,
): Needs {
  const needs = { messages: [{ channelId, id: messageId }] };
  const key = reactionKey(emoji);
  const standing = messages.get(messageId)?.reactions.some((one) => one.key === key);
  return key !== null && standing ? { ...needs, reactions: [{ messageId, key, userId }] } : needs;
}

/** @returns 10014 for an unknown custom emoji, 50013 for another guild's without USE_EXTERNAL_EMOJIS. */
function unusable(scope: Scope, { emoji, custom }: ReactionInput): Refusal | null {
  if (customEmojiId(emoji) === null) return null;
  if (!custom) return refusal('UNKNOWN_EMOJI');
  const isExternal = custom.guildId !== null && custom.guildId !== scope.guildId;
  return isExternal && !can(scope, P.USE_EXTERNAL_EMOJIS) ? refusal('MISSING_PERMISSIONS') : null;
}

const wireEmoji = (key: string, custom: CustomEmoji | undefined): ReactionCount['emoji'] =>
  custom ? { id: custom.id, name: custom.name, animated: custom.animated } : { id: null, name: key };

/** Adds the caller's reaction. The first of an emoji needs ADD_REACTIONS; reacting twice changes nothing. */
export function addReaction(
  owner: Reacted,
  scope: Scope,
  userId: UserId,
  input: ReactionInput,
  env: Env,
): Outcome<null, ReactionFact> {
  const target = reactionTarget(scope, input.messageId, input.emoji);
  if (!target.ok) return target;
  const { message, key, standing } = target.value;
  if (!standing) {
    const no = unusable(scope, input);
    if (no) return refused(no);
    if (!can(scope, P.ADD_REACTIONS)) return refused(refusal('MISSING_PERMISSIONS'));
    if (message.reactions.length >= LIMITS.reactions_per_message_max) {
      return refused(refusal('MAXIMUM_REACTIONS'));
    }
  }
  if (standing && knownReaction(owner, { messageId: message.id, key, userId })) return accepted(null);
  return accepted(null, [
    {
      type: 'reactionAdded',
      channelId: scope.channelId,
      messageId: message.id,
      userId,
      messageAuthorId: message.author.id,
      emoji: standing?.emoji ?? wireEmoji(key, input.custom),
      key,
      atMs: env.nowMs,
    },
  ]);
}

/** Removes a reaction: the caller's own, or with MANAGE_MESSAGES any user's. */
export function removeReaction(
  owner: Reacted,
  scope: Scope,
  userId: UserId,
  input: ReactionInput,
): Outcome<null, ReactionFact> {
  const target = reactionTarget(scope, input.messageId, input.emoji);
  if (!target.ok) return target;
  if (userId !== scope.user.id && !can(scope, P.MANAGE_MESSAGES)) {
    return refused(refusal('MISSING_PERMISSIONS'));
  }
  const { message, key, standing } = target.value;
  if (!standing) return refused(refusal('UNKNOWN_EMOJI'));
  if (!knownReaction(owner, { messageId: message.id, key, userId })) return accepted(null);
  const { channelId } = scope;
  return accepted(null, [
    { type: 'reactionRemoved', channelId, messageId: message.id, userId, emoji: standing.emoji, key },
  ]);
}

/** Removes all reactions from a message, or all of one emoji. The command's declaration requires MANAGE_MESSAGES. */
export function clearReactions(scope: Scope, messageId: MessageId): Outcome<null, ReactionFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  if (message.reactions.length === 0) return accepted(null);
  return accepted(null, [{ type: 'reactionsCleared', channelId: scope.channelId, messageId }]);
}

export function clearEmoji(scope: Scope, messageId: MessageId, emoji: string): Outcome<null, ReactionFact> {
  const target = reactionTarget(scope, messageId, emoji);
  if (!target.ok) return target;
  const { key, standing } = target.value;
  if (!standing) return refused(refusal('UNKNOWN_EMOJI'));
  const { channelId } = scope;
  return accepted(null, [
    { type: 'reactionsEmojiCleared', channelId, messageId, emoji: standing.emoji, key },
  ]);
}

/** Applies a reaction fact to the window. For a message outside it the database has the counts. */
export function applyReaction(owner: Reacted, fact: ReactionFact): void {
  remember(owner, fact);
  const message = owner.messages.get(fact.messageId);
  if (!message) return;
  owner.messages.set(fact.messageId, { ...message, reactions: countsAfter(message.reactions, fact) });
}

function countsAfter(counts: readonly ReactionCount[], fact: ReactionFact): readonly ReactionCount[] {
  switch (fact.type) {
    case 'reactionAdded': {
      const { key, emoji } = fact;
      if (!counts.some((one) => one.key === key)) return [...counts, { key, emoji, count: 1 }];
      return counts.map((one) => (one.key === key ? { ...one, count: one.count + 1 } : one));
    }
    case 'reactionRemoved':
      return counts
        .map((one) => (one.key === fact.key ? { ...one, count: one.count - 1 } : one))
        .filter(({ count }) => count > 0);
    case 'reactionsCleared':
      return [];
    case 'reactionsEmojiCleared':
      return counts.filter((one) => one.key !== fact.key);
  }
}

/** Appends the entry as the newest. */
function remember({ reacted }: Reacted, fact: ReactionFact): void {
  if (fact.type === 'reactionAdded' || fact.type === 'reactionRemoved') {
    const name = nameOf(fact);
    reacted.delete(name);
    reacted.set(name, fact.type === 'reactionAdded');
    return;
  }
  const prefix = fact.type === 'reactionsCleared' ? `${fact.messageId}:` : `${fact.messageId}:${fact.key}:`;
  for (const name of reacted.keys()) if (name.startsWith(prefix)) reacted.delete(name);
  reacted.set(prefix, false);
}
