import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import {
  addReaction,
  applyReaction,
  clearEmoji,
  clearReactions,
  type ReactionInput,
  reactionTarget,
  removeReaction,
} from '../channel/reactions.ts';
import type { ReactionFact } from '../channel/scope.ts';
import { reactionPayload } from '../channel/wire.ts';
import { accepted } from '../outcome.ts';
import type { GuildFact, ReactionFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import { inChannel } from './messages.scope.ts';
import type { Dispatch, Needs, Topic } from './topic.ts';

interface EmojiInput {
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
  /** As it stands in the path, percent-decoded. */
  readonly emoji: string;
}

export type ReactionCommands = {
  /** Checks the message and the emoji of a path, and answers under what key the store has its reactions. */
  authorizeReactions: { input: EmojiInput; value: { readonly ownerId: string; readonly key: string } };
  addReaction: { input: ReactionInput & { readonly channelId: ChannelId }; value: null };
  removeReaction: {
    input: ReactionInput & { readonly channelId: ChannelId; readonly userId: UserId };
    value: null;
  };
  clearReactions: { input: Omit<EmojiInput, 'emoji'>; value: null };
  clearReactionsOfEmoji: { input: EmojiInput; value: null };
};

const needsMessage = ({ channelId, messageId }: Omit<EmojiInput, 'emoji'>): Needs => ({
  messages: [{ channelId, id: messageId }],
});

/** What the channel sees; whoever adds a reaction is shown as a member. */
function shown(guild: Guild, fact: ReactionFact): readonly Dispatch[] {
  const { t, d } = reactionPayload(fact, guild.id);
  const member = fact.type === 'reactionAdded' ? guild.members.get(fact.userId) : null;
  return [{ t, d: member ? { ...d, member } : d, to: { kind: 'channel', channelId: fact.channelId } }];
}

/** Reactions to the guild's messages. */
export const reactions: Topic<ReactionCommands, ReactionFacts, GuildFact> = {
  needs: {
    authorizeReactions: needsMessage,
    addReaction: needsMessage,
    removeReaction: needsMessage,
    clearReactions: needsMessage,
    clearReactionsOfEmoji: needsMessage,
  },
  decide: {
    authorizeReactions: (guild, { channelId, messageId, emoji }, by, env) =>
      inChannel(guild, channelId, by, env, (scope) => {
        const target = reactionTarget(scope, messageId, emoji);
        return target.ok ? accepted({ ownerId: guild.id, key: target.value.key }) : target;
      }),
    addReaction: (guild, input, by, env) =>
      inChannel(guild, input.channelId, by, env, (scope) => addReaction(guild, scope, input, env)),
    removeReaction: (guild, input, by, env) =>
      inChannel(guild, input.channelId, by, env, (scope) =>
        removeReaction(guild, scope, input.userId, input),
      ),
    clearReactions: (guild, { channelId, messageId }, by, env) =>
      inChannel(guild, channelId, by, env, (scope) => clearReactions(scope, messageId)),
    clearReactionsOfEmoji: (guild, { channelId, messageId, emoji }, by, env) =>
      inChannel(guild, channelId, by, env, (scope) => clearEmoji(scope, messageId, emoji)),
  },
  apply: {
    reactionAdded: (guild, fact) => applyReaction(guild, { type: 'reactionAdded', ...fact }),
    reactionRemoved: (guild, fact) => applyReaction(guild, { type: 'reactionRemoved', ...fact }),
    reactionsCleared: (guild, fact) => applyReaction(guild, { type: 'reactionsCleared', ...fact }),
    reactionsEmojiCleared: (guild, fact) => applyReaction(guild, { type: 'reactionsEmojiCleared', ...fact }),
  },
  dispatches: {
    reactionAdded: (guild, fact) => shown(guild, { type: 'reactionAdded', ...fact }),
    reactionRemoved: (guild, fact) => shown(guild, { type: 'reactionRemoved', ...fact }),
    reactionsCleared: (guild, fact) => shown(guild, { type: 'reactionsCleared', ...fact }),
    reactionsEmojiCleared: (guild, fact) => shown(guild, { type: 'reactionsEmojiCleared', ...fact }),
  },
};
