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
import { accepted } from '../outcome.ts';
import type { GuildFact, ReactionFacts } from './facts.ts';
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

const toChannel = (t: Dispatch['t'], channelId: ChannelId, d: object): readonly Dispatch[] => [
  { t, d, to: { kind: 'channel', channelId } },
];

/** Reactions to messages. `burst` and its kin are the wire's word for a paid kind that does not exist here. */
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
    reactionAdded: (guild, { channelId, messageId, userId, messageAuthorId, emoji }) => {
      const member = guild.members.get(userId);
      return toChannel('MESSAGE_REACTION_ADD', channelId, {
        user_id: userId,
        channel_id: channelId,
        message_id: messageId,
        guild_id: guild.id,
        ...(member ? { member } : {}),
        message_author_id: messageAuthorId,
        emoji,
        burst: false,
        type: 0,
      });
    },
    reactionRemoved: (guild, { channelId, messageId, userId, emoji }) =>
      toChannel('MESSAGE_REACTION_REMOVE', channelId, {
        user_id: userId,
        channel_id: channelId,
        message_id: messageId,
        guild_id: guild.id,
        emoji,
        burst: false,
        type: 0,
      }),
    reactionsCleared: (guild, { channelId, messageId }) =>
      toChannel('MESSAGE_REACTION_REMOVE_ALL', channelId, {
        channel_id: channelId,
        message_id: messageId,
        guild_id: guild.id,
      }),
    reactionsEmojiCleared: (guild, { channelId, messageId, emoji }) =>
      toChannel('MESSAGE_REACTION_REMOVE_EMOJI', channelId, {
        channel_id: channelId,
        message_id: messageId,
        guild_id: guild.id,
        emoji,
      }),
  },
};
