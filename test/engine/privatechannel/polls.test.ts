/**
 * Goal: only the two users of a private channel vote in its polls; a block stops votes and nothing of the user's own.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { type PrivateCommands, privateRules, privateState } from '../../../engine/privatechannel/rules.ts';
import { RELATION } from '../../../engine/social/facts.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { messageEnv, openPoll, placed, storedMessage } from '../../support/messages.ts';
import { caller, NOW_MS } from '../../support/people.ts';

const ID = '50' as ChannelId;
const [A, B, C] = ['100000000000000010', '100000000000000011', '100000000000000012'] as [
  UserId,
  UserId,
  UserId,
];
const HOUR_MS = 3_600_000;

let state: ReturnType<typeof privateState>;
let id: MessageId;
beforeEach(() => {
  const channel = {
    id: ID,
    type: 1,
    recipientIds: [A, B],
    last_message_id: null,
    last_pin_ms: null,
  } as const;
  state = privateState({ ...channel, writtenBy: [A, B] }, [user(A), user(B)], []);
  id = placed(state, storedMessage(ID, A, { poll: openPoll() }));
});

function run<K extends keyof PrivateCommands>(type: K, more: object = {}, by = caller(B), nowMs = NOW_MS) {
  const known = { policy: 'everyone', sharesGuild: true, isInstalled: false } as const;
  const input = { channelId: ID, messageId: id, ...more } as PrivateCommands[K]['input'];
  const env = { ...messageEnv(nowMs), acquaintance: known };
  const outcome = privateRules.decide(state, type, input, { by, requires: 0n }, env);
  const dispatches = outcome.ok
    ? outcome.facts.flatMap((fact) => privateRules.applyAndDispatch(state, fact))
    : [];
  return { outcome, code: outcome.ok ? undefined : outcome.refusal.code, dispatches };
}
const vote = (answerIds: readonly number[], by = caller(B)) => run('votePoll', { answerIds }, by);
const countsOf = () => state.messages.get(id)?.poll?.results?.answer_counts;

describe('a poll in a private channel', () => {
  it('accepts votes of both users, dispatched to both without a guild', () => {
    expect(vote([1]).dispatches).toEqual([
      {
        t: 'MESSAGE_POLL_VOTE_ADD',
        d: { user_id: B, channel_id: ID, message_id: id, answer_id: 1 },
        to: { kind: 'users', userIds: [A, B] },
      },
    ]);
    vote([1], caller(A));
    expect(countsOf()).toEqual([{ id: 1, count: 2, me_voted: false }]);
    expect(vote([]).dispatches.map(({ t }) => t)).toEqual(['MESSAGE_POLL_VOTE_REMOVE']);
    expect(run('authorizeVoters', { answerId: 1 }).outcome).toMatchObject({ value: { ownerId: ID } });
  });

  it('does not exist for others', () => {
    const by = caller(C);
    const codes = [
      vote([1], by).code,
      run('endPoll', {}, by).code,
      run('authorizeVoters', { answerId: 1 }, by).code,
      run('expirePoll', {}, caller(A)).code,
    ];
    expect(codes).toEqual([10003, 10003, 10003, 10003]);
  });

  it('takes no vote after a block, but lets one take back the own vote and end the own poll', () => {
    vote([1]);
    state.relations = [{ userId: A, peerId: B, type: RELATION.BLOCKED, applicationId: null } as never];
    expect(vote([2]).code).toBe(90001);
    expect(vote([]).code).toBeUndefined();
    expect(countsOf()).toEqual([]);
    expect(run('endPoll', {}, caller(A)).dispatches.map(({ t }) => t)).toEqual([
      'MESSAGE_UPDATE',
      'MESSAGE_CREATE',
    ]);
  });

  it('ends by the clock once, at its time', () => {
    const expire = (nowMs: number) => run('expirePoll', {}, SYSTEM.by, nowMs);
    expect(expire(NOW_MS + HOUR_MS - 1).dispatches).toEqual([]);
    const [, told] = expire(NOW_MS + HOUR_MS).dispatches;
    expect(told).toMatchObject({ t: 'MESSAGE_CREATE', d: { type: 46, author: { id: A } } });
    expect(told?.d).not.toHaveProperty('message_reference.guild_id');
    expect(expire(NOW_MS + HOUR_MS).dispatches).toEqual([]);
  });
});
