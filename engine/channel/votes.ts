import { type APIEmbed, EmbedType, MessageReferenceType, MessageType } from 'discord-api-types/v10';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { MessageFacts, PollFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type FactOf, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import type { Written } from './draft.ts';
import { newMessage, type Scope } from './messages.ts';

type PollFact = FactOf<PollFacts>;
/** Facts of a poll's end. */
type EndFact = FactOf<Pick<MessageFacts, 'messageUpdated' | 'messageCreated'>>;
type Poll = NonNullable<StoredMessage['poll']>;
type PollMessage = StoredMessage & { readonly poll: Poll };
/** A channel as the rules of polls see it. */
export type PollScope = Pick<Scope, 'ownerId' | 'guildId' | 'channelId' | 'user' | 'messageOf'>;

/** State of the aggregate that rules of votes use. */
interface Voted {
  readonly messages: Map<MessageId, StoredMessage | null>;
  /** The window on reactions, which also has whether a user has voted: `message/answer/user`. */
  readonly reacted: Map<string, boolean>;
}

/** Names a poll's message. */
export interface PollInput {
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
}

/** One user's vote for an answer. */
interface Vote {
  readonly messageId: MessageId;
  readonly answerId: number;
  readonly userId: UserId;
}

const nameOf = ({ messageId, answerId, userId }: Vote): string => `${messageId}/${answerId}/${userId}`;

/** Whether the user has voted for the answer; undefined when the database must be read. */
export const knownVote = ({ reacted }: Pick<Voted, 'reacted'>, vote: Vote): boolean | undefined =>
  reacted.get(nameOf(vote));

/** Caches the database's answer. A newer decision, which may not be durable yet, is kept. */
export function keepVote(owner: Pick<Voted, 'reacted'>, vote: Vote, has: boolean): void {
  if (knownVote(owner, vote) === undefined) owner.reacted.set(nameOf(vote), has);
}

export const needsPoll = ({ channelId, messageId }: PollInput): Needs => ({
  messages: [{ channelId, id: messageId }],
});

/** Loads the message, and for which of the answers that anyone has voted for the caller has voted. */
export function needsVotes({ messages }: Voted, input: PollInput, userId: UserId): Needs {
  const counts = messages.get(input.messageId)?.poll?.results?.answer_counts ?? [];
  const votes = counts.map(({ id }) => ({ messageId: input.messageId, answerId: id, userId }));
  return votes.length > 0 ? { ...needsPoll(input), votes } : needsPoll(input);
}

const hasPoll = (message: StoredMessage): message is PollMessage => Boolean(message.poll);

/** @returns 10008 for a message that is unknown or has no poll. */
function pollIn(scope: PollScope, messageId: MessageId): Reply<PollMessage> {
  const message = scope.messageOf(messageId);
  return message && hasPoll(message) ? { ok: true, value: message } : refused(refusal('UNKNOWN_MESSAGE'));
}

/** The owner of an answer's votes, if the caller may read them. */
export function votersOf(
  scope: PollScope,
  messageId: MessageId,
  answerId: number,
): Outcome<{ readonly ownerId: string }, never> {
  const found = pollIn(scope, messageId);
  if (!found.ok) return found;
  const isKnown = found.value.poll.answers.some(({ answer_id }) => answer_id === answerId);
  if (isKnown) return accepted({ ownerId: scope.ownerId });
  return refused(invalidField(['answer_id'], 'POLL_INVALID_ANSWER', 'The poll has no such answer.'));
}

const isFinal = ({ results }: Poll): boolean => results?.is_finalized === true;
const endMsOf = ({ expiry }: Poll): number =>
  expiry === null ? Number.POSITIVE_INFINITY : Date.parse(expiry);
const isOver = (poll: Poll, nowMs: number): boolean => isFinal(poll) || endMsOf(poll) <= nowMs;

const badAnswers = (code: string, message: string): Refusal => invalidField(['answer_ids'], code, message);

/** The refusal when the poll lacks one of these answers, or does not allow several; null when the vote is valid. */
function answersRefusal({ answers, allow_multiselect }: Poll, ids: ReadonlySet<number>): Refusal | null {
  if ([...ids].some((id) => !answers.some(({ answer_id }) => answer_id === id)))
    return badAnswers('POLL_INVALID_ANSWER', 'The poll has no such answer.');
  if (ids.size > 1 && !allow_multiselect)
    return badAnswers('BASE_TYPE_BAD_LENGTH', 'Must be 1 or fewer in length.');
  return null;
}

/**
 * Makes the answers the caller's votes, and takes back the others; none takes back all. Voting the same again changes
 * nothing.
 */
export function vote(
  owner: Voted,
  scope: PollScope,
  messageId: MessageId,
  answerIds: readonly number[],
  env: Env,
): Outcome<null, PollFact> {
  const found = pollIn(scope, messageId);
  if (!found.ok) return found;
  const { poll } = found.value;
  if (isOver(poll, env.nowMs)) return refused(refusal('POLL_EXPIRED'));
  if (scope.user.bot) return refused(refusal('POLL_VOTING_BLOCKED'));
  const chosen = new Set(answerIds);
  const no = answersRefusal(poll, chosen);
  if (no) return refused(no);
  const { channelId, user } = scope;
  const facts = poll.answers.flatMap(({ answer_id: answerId }): PollFact[] => {
    const one = { messageId, answerId, userId: user.id };
    const has = knownVote(owner, one) === true;
    if (has === chosen.has(answerId)) return [];
    return [{ type: has ? 'pollUnvoted' : 'pollVoted', channelId, ...one }];
  });
  // Old votes are taken back first, so that a reader never sees two where one is allowed.
  return accepted(
    null,
    facts.toSorted((a, b) => Number(b.type === 'pollUnvoted') - Number(a.type === 'pollUnvoted')),
  );
}

/** Applies a vote to the window. For a message outside it the database has the counts. */
export function applyVote(owner: Voted, fact: PollFact): void {
  const name = nameOf(fact);
  owner.reacted.delete(name);
  owner.reacted.set(name, fact.type === 'pollVoted');
  const message = owner.messages.get(fact.messageId);
  if (!message?.poll) return;
  const { poll } = message;
  const counts = new Map((poll.results?.answer_counts ?? []).map(({ id, count }) => [id, count]));
  counts.set(fact.answerId, (counts.get(fact.answerId) ?? 0) + (fact.type === 'pollVoted' ? 1 : -1));
  const results = { is_finalized: isFinal(poll), answer_counts: countsOf(counts) };
  owner.messages.set(fact.messageId, { ...message, poll: { ...poll, results } });
}

/** Answers without votes are left out. @source https://docs.discord.com/developers/resources/poll#poll-results-object */
const countsOf = (counts: ReadonlyMap<number, number>) =>
  [...counts]
    .filter(([, count]) => count > 0)
    .sort(([a], [b]) => a - b)
    .map(([id, count]) => ({ id, count, me_voted: false }));

/** Payload of MESSAGE_POLL_VOTE_ADD and MESSAGE_POLL_VOTE_REMOVE. */
export const votePayload = (
  { userId, channelId, messageId, answerId }: PollFacts['pollVoted'],
  guildId: GuildId | null,
) => ({
  user_id: userId,
  channel_id: channelId,
  message_id: messageId,
  ...(guildId === null ? {} : { guild_id: guildId }),
  answer_id: answerId,
});

/** Ends a poll for its author, now. */
export function endPoll(scope: PollScope, messageId: MessageId, env: Env): Outcome<Written, EndFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  if (!hasPoll(message)) return refused(refusal('CANNOT_EXPIRE_NON_POLL'));
  if (message.author.id !== scope.user.id) return refused(refusal('CANNOT_EDIT_OTHERS_MESSAGE'));
  if (isOver(message.poll, env.nowMs)) return refused(refusal('POLL_EXPIRED'));
  const ended: PollMessage = { ...message, poll: { ...message.poll, expiry: isoTimestamp(env.nowMs) } };
  const { final, facts } = finalized(ended, scope.guildId, env);
  return accepted({ ownerId: scope.ownerId, guildId: scope.guildId, message: final, nonce: null }, facts);
}

/** Whether the clock has nothing left to do for a poll. */
export interface PollExpiry {
  readonly isOver: boolean;
}

/** Ends an overdue poll for the clock. Idempotent. */
export function expirePoll(
  message: StoredMessage | null,
  guildId: GuildId | null,
  env: Env,
): Outcome<PollExpiry, EndFact> {
  if (!message || !hasPoll(message) || isFinal(message.poll)) return accepted({ isOver: true });
  if (!isOver(message.poll, env.nowMs)) return accepted({ isOver: false });
  return accepted({ isOver: true }, finalized(message, guildId, env).facts);
}

/** The poll with its final results, and the result message. */
function finalized(message: PollMessage, guildId: GuildId | null, env: Env) {
  const { poll } = message;
  const counts = poll.results?.answer_counts ?? [];
  const final: PollMessage = {
    ...message,
    poll: { ...poll, results: { is_finalized: true, answer_counts: counts } },
  };
  const resultMessage = newMessage(env, {
    channel_id: message.channel_id,
    type: MessageType.PollResult,
    author: message.author,
    ...(message.webhook_id ? { webhook_id: message.webhook_id } : {}),
    embeds: [resultsOf(final.poll)],
    message_reference: {
      type: MessageReferenceType.Default,
      channel_id: message.channel_id,
      message_id: message.id,
      ...(guildId === null ? {} : { guild_id: guildId }),
    },
  });
  const facts: EndFact[] = [
    { type: 'messageUpdated', message: final },
    { type: 'messageCreated', message: resultMessage, nonce: null, referenced: null, enforceNonce: false },
  ];
  return { final, facts };
}

/** @source https://docs.discord.com/developers/resources/message#embed-fields-by-embed-type-poll-result-embed-fields */
function resultsOf({ question, answers, results }: Poll): APIEmbed {
  const counts = results?.answer_counts ?? [];
  const most = Math.max(0, ...counts.map(({ count }) => count));
  const first = counts.filter(({ count }) => count === most);
  // A tie, and a poll without votes, has no winner.
  const victor = first.length === 1 ? answers.find(({ answer_id }) => answer_id === first[0]?.id) : undefined;
  const { text, emoji } = victor?.poll_media ?? {};
  const values: Readonly<Record<string, string | number | null | undefined>> = {
    poll_question_text: question.text,
    victor_answer_votes: most,
    total_votes: counts.reduce((sum, { count }) => sum + count, 0),
    victor_answer_id: victor?.answer_id,
    victor_answer_text: text,
    victor_answer_emoji_id: emoji?.id,
    victor_answer_emoji_name: emoji?.name,
  };
  const fields = Object.entries(values).flatMap(([name, value]) =>
    value == null ? [] : [{ name, value: String(value), inline: false }],
  );
  return { type: EmbedType.PollResult, fields };
}
