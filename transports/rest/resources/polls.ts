import type { UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Message } from '../../../protocol/schemas/message.ts';
import { PollAnswerDetails } from '../../../protocol/schemas/poll.ts';
import { Arr, Int, Obj, OneOf, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { type Bucket, op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'channel_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'channel_id', limit: 5, windowMs: 2_000, group: 'poll' };

const VotersPage = Obj({
  after: Optional(Snowflake<UserId>()),
  limit: Optional(Int(1, LIMITS.poll_voters_page_max)),
});

/** Ids of answers are numbers; user clients send them as texts. */
const AnswerId = OneOf(Int(1, LIMITS.poll_answers_max), Snowflake());
const Votes = Obj({ answer_ids: Arr(AnswerId, LIMITS.poll_answers_max) });

/** Operations on polls in messages. */
export const polls = resource({
  get_answer_voters: op({
    method: 'GET',
    path: '/channels/:channel_id/polls/:message_id/answers/:answer_id',
    auth: 'any',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: READ,
    query: VotersPage,
    status: 200,
    reply: PollAnswerDetails,
    handle: async ({ params, query, authority }, services) => {
      const { channel_id: channelId, message_id: messageId } = params;
      const answerId = Number(params.answer_id);
      const input = { messageId, answerId };
      const allowed = await services.channels.call(channelId, 'authorizeVoters', input, authority);
      if (!allowed.ok) return allowed;
      const page = {
        limit: query.limit ?? LIMITS.poll_voters_page_default,
        ...(query.after === undefined ? {} : { after: query.after }),
      };
      const users = await services.read.messages.voters(allowed.value.ownerId, messageId, answerId, page);
      return { ok: true, value: { users } };
    },
  }),
  poll_expire: op({
    method: 'POST',
    path: '/channels/:channel_id/polls/:message_id/expire',
    auth: 'any',
    permission: P.VIEW_CHANNEL,
    bucket: WRITE,
    status: 200,
    reply: Message,
    handle: async ({ params, caller, authority }, services) => {
      const { channel_id: channelId, message_id: messageId } = params;
      const reply = await services.channels.call(channelId, 'endPoll', { messageId }, authority);
      if (!reply.ok) return reply;
      const { ownerId, guildId, message } = reply.value;
      const viewing = { caller, ownerId, guildId, channelId };
      const [body] = await services.presentMessages(viewing, [message]);
      return { ok: true, value: body };
    },
  }),
});

/** Votes of user clients. @source https://docs.discord.food/resources/message#create-poll-vote */
export const pollsUnlisted = resource({
  vote_poll: op({
    method: 'PUT',
    path: '/channels/:channel_id/polls/:message_id/answers/@me',
    auth: 'user',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: WRITE,
    body: Votes,
    status: 204,
    reply: none,
    handle: ({ params, body, authority }, { channels }) => {
      const input = { messageId: params.message_id, answerIds: body.answer_ids.map(Number) };
      return channels.call(params.channel_id, 'votePoll', input, authority);
    },
  }),
  unvote_poll: op({
    method: 'DELETE',
    path: '/channels/:channel_id/polls/:message_id/answers/@me',
    auth: 'user',
    permission: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { channels }) => {
      const input = { messageId: params.message_id, answerIds: [] };
      return channels.call(params.channel_id, 'votePoll', input, authority);
    },
  }),
});
