import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { type ReactionFact, reactionPayload } from '../channel/messages.ts';
import {
  addReaction,
  applyReaction,
  clearEmoji,
  clearReactions,
  needsReaction,
  type ReactionInput,
  reactionTarget,
  removeReaction,
} from '../channel/reactions.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { verificationRefusal } from './authorize.ts';
import type { ReactionFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import { inAnyChannel, inChannel } from './messages.scope.ts';
import type { GuildTopic } from './topic.ts';

type EmojiInput = ReactionInput & { readonly channelId: ChannelId };

export type ReactionCommands = {
  /** Checks the message and the emoji of a path, and returns the key of its reactions in the store. */
  authorizeReactions: { input: EmojiInput; value: { readonly ownerId: string; readonly key: string } };
  addReaction: { input: EmojiInput; value: null };
  removeReaction: {
    input: EmojiInput & { readonly userId: UserId };
    value: null;
  };
  clearReactions: { input: Omit<EmojiInput, 'emoji'>; value: null };
  clearReactionsOfEmoji: { input: EmojiInput; value: null };
};

const needsMessage = ({ channelId, messageId }: Omit<EmojiInput, 'emoji'>): Needs => ({
  messages: [{ channelId, id: messageId }],
});

/** The dispatch to the channel; the user who adds a reaction is shown as a member. */
function shown(guild: Guild, fact: ReactionFact): readonly Dispatch[] {
  const { t, d } = reactionPayload(fact, guild.id);
  const member = fact.type === 'reactionAdded' ? guild.members.get(fact.userId) : null;
  return [{ t, d: member ? { ...d, member } : d, to: { kind: 'channel', channelId: fact.channelId } }];
}

/** Reactions to the guild's messages. */
export const reactions: GuildTopic<ReactionCommands, keyof ReactionFacts> = {
  commands: {
    authorizeReactions: {
      needs: needsMessage,
      decide: (guild, { channelId, messageId, emoji }, by, env) =>
        inAnyChannel(guild, channelId, by, env, (scope) => {
          const target = reactionTarget(scope, messageId, emoji);
          return target.ok ? accepted({ ownerId: guild.id, key: target.value.key }) : target;
        }),
    },
    addReaction: {
      acts: true,
      needs: (input, guild, by) => needsReaction(guild, input, by.userId),
      decide: (guild, input, by, env) =>
        inChannel(guild, input.channelId, by, env, (scope) => {
          const no = verificationRefusal(guild, by, env);
          return no ? refused(no) : addReaction(guild, scope, by.userId, input, env);
        }),
    },
    removeReaction: {
      needs: (input, guild) => needsReaction(guild, input, input.userId),
      decide: (guild, input, by, env) =>
        inChannel(guild, input.channelId, by, env, (scope) =>
          removeReaction(guild, scope, input.userId, input),
        ),
    },
    clearReactions: {
      needs: needsMessage,
      decide: (guild, { channelId, messageId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => clearReactions(scope, messageId)),
    },
    clearReactionsOfEmoji: {
      needs: needsMessage,
      decide: (guild, { channelId, messageId, emoji }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => clearEmoji(scope, messageId, emoji)),
    },
  },
  facts: {
    reactionAdded: {
      apply: (guild, fact) => applyReaction(guild, fact),
      dispatches: (guild, fact) => shown(guild, fact),
    },
    reactionRemoved: {
      apply: (guild, fact) => applyReaction(guild, fact),
      dispatches: (guild, fact) => shown(guild, fact),
    },
    reactionsCleared: {
      apply: (guild, fact) => applyReaction(guild, fact),
      dispatches: (guild, fact) => shown(guild, fact),
    },
    reactionsEmojiCleared: {
      apply: (guild, fact) => applyReaction(guild, fact),
      dispatches: (guild, fact) => shown(guild, fact),
    },
  },
};
