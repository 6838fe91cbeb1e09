import type { ChannelId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Written } from '../channel/draft.ts';
import {
  applyVote,
  endPoll,
  expirePoll,
  needsPoll,
  needsVotes,
  type PollExpiry,
  type PollInput,
  vote,
  votePayload,
  votersOf,
} from '../channel/votes.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { verificationRefusal } from './authorize.ts';
import type { GuildFact, PollFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import { type GuildScope, inAnyChannel, inChannel } from './messages.scope.ts';
import type { GuildTopic } from './topic.ts';

export type PollCommands = {
  /** Checks the poll and the answer of a path, and returns the owner of its votes in the store. */
  authorizeVoters: {
    input: PollInput & { readonly answerId: number };
    value: { readonly ownerId: string };
  };
  /** Makes the answers the caller's votes, and takes back all others. */
  votePoll: { input: PollInput & { readonly answerIds: readonly number[] }; value: null };
  endPoll: { input: PollInput; value: Written };
  /** The clock asks the owner to end a poll whose time is over. */
  expirePoll: { input: PollInput; value: PollExpiry };
};

const shown = (
  guild: Guild,
  t: 'MESSAGE_POLL_VOTE_ADD' | 'MESSAGE_POLL_VOTE_REMOVE',
  fact: PollFacts['pollVoted'],
): readonly Dispatch[] => [
  { t, d: votePayload(fact, guild.id), to: { kind: 'channel', channelId: fact.channelId } },
];

/** Leaves out the message with the poll's results in an archived thread: a message would make the thread active again. */
function withoutArchivedResults(
  guild: Guild,
  channelId: ChannelId,
  facts: readonly GuildFact[],
): readonly GuildFact[] {
  const isArchived = guild.threads.get(channelId)?.thread.thread_metadata.archived === true;
  return isArchived ? facts.filter(({ type }) => type !== 'messageCreated') : facts;
}

/** Polls in the guild's messages. */
export const polls: GuildTopic<PollCommands, keyof PollFacts> = {
  commands: {
    authorizeVoters: {
      needs: needsPoll,
      decide: (guild, { channelId, messageId, answerId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => votersOf(scope, messageId, answerId)),
    },
    votePoll: {
      acts: true,
      needs: (input, guild, by) => needsVotes(guild, input, by.userId),
      decide: (guild, { channelId, messageId, answerIds }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => {
          const no = verificationRefusal(guild, by, env);
          return no ? refused(no) : vote(guild, scope, messageId, answerIds, env);
        }),
    },
    endPoll: {
      acts: true,
      needs: needsPoll,
      decide: (guild, { channelId, messageId }, by, env) =>
        inChannel(guild, channelId, by, env, (scope) => endPoll(scope, messageId, env)),
    },
    expirePoll: {
      background: true,
      needs: (input) => ({ ...needsPoll(input), threads: [input.channelId] }),
      decide: (guild, { channelId, messageId }, by, env) => {
        if (!by.system) return refused(refusal('MISSING_ACCESS'));
        const author = guild.messages.get(messageId)?.author;
        if (!author) return accepted({ isOver: true });
        const rule = (scope: GuildScope) => expirePoll(scope.messageOf(messageId), guild.id, env);
        const from = { fields: { author }, components: 'any' } as const;
        const outcome = inAnyChannel(guild, channelId, by, env, rule, from);
        return outcome.ok
          ? { ...outcome, facts: withoutArchivedResults(guild, channelId, outcome.facts) }
          : outcome;
      },
    },
  },
  facts: {
    pollVoted: { apply: applyVote, dispatches: (guild, fact) => shown(guild, 'MESSAGE_POLL_VOTE_ADD', fact) },
    pollUnvoted: {
      apply: applyVote,
      dispatches: (guild, fact) => shown(guild, 'MESSAGE_POLL_VOTE_REMOVE', fact),
    },
  },
};
