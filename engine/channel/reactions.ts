import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { ReactionCount, StoredMessage } from '../guild/guild.ts';
import type { Needs } from '../kernel/needs.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/outcome.ts';
import { emojiKey } from './emoji.ts';
import { can, type ReactionFact, type Scope } from './scope.ts';

/** State of the aggregate as far as reactions go. */
interface Reacted {
  readonly messages: Map<MessageId, StoredMessage | null>;
  /**
   * Window on reactions: whether a user has reacted, by `message:key:user`. `message:` and `message:key:` note what was
   * cleared: false for all of whom nothing is noted by name. A name noted later is the truth, so the notes of clearing
   * must not outlive it: the oldest entries are dropped first.
   */
  readonly reacted: Map<string, boolean>;
}

interface Target {
  readonly message: StoredMessage;
  readonly key: string;
  /** How the emoji stands on the message; undefined while nobody reacted with it. */
  readonly standing: ReactionCount | undefined;
}

/** The message and the emoji that a path names. @returns 10008 and 10014 for those that are not. */
export function reactionTarget(scope: Scope, messageId: MessageId, emoji: string): Reply<Target> {
  const key = emojiKey(emoji);
  if (key === null) return refused(refusal('UNKNOWN_EMOJI'));
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  return { ok: true, value: { message, key, standing: message.reactions.find((one) => one.key === key) } };
}

/** Names the reactions to a message with one emoji. */
export interface ReactionInput {
  readonly messageId: MessageId;
  /** As it stands in the path, percent-decoded. */
  readonly emoji: string;
}

/** One user's reaction to a message with an emoji. */
interface Reaction {
  readonly messageId: MessageId;
  readonly key: string;
  readonly userId: UserId;
}

const nameOf = ({ messageId, key, userId }: Reaction): string => `${messageId}:${key}:${userId}`;

/** Whether the user has reacted so; undefined: it must be read. */
export const knownReaction = ({ reacted }: Reacted, one: Reaction): boolean | undefined =>
  reacted.get(nameOf(one)) ?? reacted.get(`${one.messageId}:${one.key}:`) ?? reacted.get(`${one.messageId}:`);

/** Enters what the database says; what was decided since, and may not be durable yet, stays. */
export function keepReaction(owner: Reacted, one: Reaction, has: boolean): void {
  if (knownReaction(owner, one) === undefined) owner.reacted.set(nameOf(one), has);
}

/** True when the message is in the window and the emoji is one. */
export const namesTarget = ({ messages }: Reacted, { messageId, emoji }: ReactionInput): boolean =>
  Boolean(messages.get(messageId)) && emojiKey(emoji) !== null;

/** The message, and whether the user has reacted when anybody has. */
export function needsReaction(
  { messages }: Reacted,
  { channelId, messageId, emoji }: ReactionInput & { readonly channelId: ChannelId },
  userId: UserId,
): Needs {
  const needs = { messages: [{ channelId, id: messageId }] };
  const key = emojiKey(emoji);
  const standing = messages.get(messageId)?.reactions.some((one) => one.key === key);
  return key !== null && standing ? { ...needs, reactions: [{ messageId, key, userId }] } : needs;
}

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
      emoji: { id: null, name: key },
      key,
      atMs: env.nowMs,
    },
  ]);
}

/** Takes back a reaction: one's own, or with MANAGE_MESSAGES anyone's. */
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

/** Takes all reactions off a message, or all of one emoji. The declaration has asked for MANAGE_MESSAGES. */
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

/** Applies a reaction fact to the window. A message that is not in it has its counts in the database. */
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

/** Whatever is noted comes to stand behind what was noted before. */
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
