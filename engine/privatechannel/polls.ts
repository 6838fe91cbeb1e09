import { isMessageId, type MessageId, type UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import {
  applyVote,
  endPoll,
  expirePoll,
  needsPoll,
  needsVotes,
  type PollScope,
  vote,
  votePayload,
  votersOf,
} from '../channel/votes.ts';
import type { MessageFacts, PollFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { PollCommands } from '../guild/polls.ts';
import { type Env, type FactOf, type Outcome, refused, type Topic } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { AsksColumn } from '../social/reach.ts';
import type { PrivateChannel } from '../user/facts.ts';

/** State of a private channel that rules of polls use. */
interface PollChannel {
  channel: PrivateChannel;
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: Map<MessageId, StoredMessage | null>;
  readonly reacted: Map<string, boolean>;
}

type Facts = PollFacts & Pick<MessageFacts, 'messageCreated' | 'messageUpdated'>;

interface PollShape {
  readonly state: PollChannel;
  readonly facts: Facts;
  readonly needs: Needs;
  readonly dispatch: Dispatch;
  readonly env: Env;
  readonly row: AsksColumn<PollChannel>;
}

/** Runs a rule for one of the two users; for anyone else the channel does not exist. */
function within<Value>(
  { channel, recipients, messages }: PollChannel,
  by: By,
  rule: (scope: PollScope) => Outcome<Value, FactOf<Facts>>,
): Outcome<Value, FactOf<Facts>> {
  const user = recipients.get(by.userId);
  if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
  const { id } = channel;
  return rule({
    ...{ ownerId: id, guildId: null, channelId: id, user },
    messageOf: (messageId) => messages.get(messageId) ?? null,
  });
}

const shown = (
  { channel }: PollChannel,
  t: 'MESSAGE_POLL_VOTE_ADD' | 'MESSAGE_POLL_VOTE_REMOVE',
  fact: PollFacts['pollVoted'],
): readonly Dispatch[] => [
  { t, d: votePayload(fact, null), to: { kind: 'users', userIds: channel.recipientIds } },
];

/** Whether the input votes for an answer of a poll that is there. */
function votesNow({ messages }: PollChannel, input: object): boolean {
  if (!('messageId' in input && isMessageId(input.messageId) && 'answerIds' in input)) return false;
  const isVote = Array.isArray(input.answerIds) && input.answerIds.length > 0;
  return isVote && Boolean(messages.get(input.messageId)?.poll);
}

/** Polls in a private channel: a guild's rules, for the two users. */
export const polls: Topic<PollShape, PollCommands, keyof PollFacts> = {
  commands: {
    authorizeVoters: {
      asks: 'nothing',
      needs: needsPoll,
      decide: (state, { messageId, answerId }, by) =>
        within(state, by, (scope) => votersOf(scope, messageId, answerId)),
    },
    votePoll: {
      // An unknown poll is reported as such, and votes may be taken back, whatever the relation of the two users is.
      asks: (state, input) => (votesNow(state, input) ? 'reacting' : 'nothing'),
      needs: (input, state, by) => needsVotes(state, input, by.userId),
      decide: (state, { messageId, answerIds }, by, env) =>
        within(state, by, (scope) => vote(state, scope, messageId, answerIds, env)),
    },
    endPoll: {
      asks: 'nothing',
      needs: needsPoll,
      decide: (state, { messageId }, by, env) => within(state, by, (scope) => endPoll(scope, messageId, env)),
    },
    expirePoll: {
      background: true,
      asks: 'nothing',
      needs: needsPoll,
      decide: ({ messages }, { messageId }, by, env) =>
        by.system
          ? expirePoll(messages.get(messageId) ?? null, null, env)
          : refused(refusal('UNKNOWN_CHANNEL')),
    },
  },
  facts: {
    pollVoted: { apply: applyVote, dispatches: (state, fact) => shown(state, 'MESSAGE_POLL_VOTE_ADD', fact) },
    pollUnvoted: {
      apply: applyVote,
      dispatches: (state, fact) => shown(state, 'MESSAGE_POLL_VOTE_REMOVE', fact),
    },
  },
};
