import type { MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { ReactionCount, StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/outcome.ts';
import { emojiKey } from './emoji.ts';
import { can, type ReactionFact, type Scope } from './scope.ts';

/** Recent reactions that an aggregate remembers. */
const RECENT_MAX = 10_000;

/** State of the aggregate as far as reactions go. */
interface Reacted {
  readonly messages: Map<MessageId, StoredMessage | null>;
  /**
   * Recent reactions by `message:key:user`, and whether each stands. A command comes with what the database had just
   * before; what has happened since is in here, so that two equal requests at once count once.
   */
  readonly recentReactions: Map<string, boolean>;
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

/** One user's reaction, and whether the database had it just before. */
export interface ReactionInput {
  readonly messageId: MessageId;
  /** As it stands in the path, percent-decoded. */
  readonly emoji: string;
  readonly stored: boolean;
}

const reacted = (owner: Reacted, messageId: string, key: string, userId: string, stored: boolean): boolean =>
  owner.recentReactions.get(`${messageId}:${key}:${userId}`) ?? stored;

/** Adds the caller's reaction. The first of an emoji needs ADD_REACTIONS; reacting twice changes nothing. */
export function addReaction(
  owner: Reacted,
  scope: Scope,
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
  const userId = scope.user.id as UserId;
  if (standing && reacted(owner, message.id, key, userId, input.stored)) return accepted(null);
  return accepted(null, [
    {
      type: 'reactionAdded',
      channelId: scope.channelId,
      messageId: message.id,
      userId,
      messageAuthorId: message.author.id as UserId,
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
  if (userId !== scope.user.id && !can(scope, P.MANAGE_MESSAGES)) {
    return refused(refusal('MISSING_PERMISSIONS'));
  }
  const target = reactionTarget(scope, input.messageId, input.emoji);
  if (!target.ok) return target;
  const { message, key, standing } = target.value;
  if (!standing) return refused(refusal('UNKNOWN_EMOJI'));
  if (!reacted(owner, message.id, key, userId, input.stored)) return accepted(null);
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

function remember({ recentReactions: known }: Reacted, fact: ReactionFact): void {
  if (fact.type === 'reactionAdded' || fact.type === 'reactionRemoved') {
    const name = `${fact.messageId}:${fact.key}:${fact.userId}`;
    known.delete(name);
    known.set(name, fact.type === 'reactionAdded');
    if (known.size > RECENT_MAX) known.delete(known.keys().next().value!);
    return;
  }
  // Clearing needs no entry per user: with no count standing, nobody counts as having reacted.
  const prefix = fact.type === 'reactionsCleared' ? `${fact.messageId}:` : `${fact.messageId}:${fact.key}:`;
  for (const name of known.keys()) if (name.startsWith(prefix)) known.set(name, false);
}
