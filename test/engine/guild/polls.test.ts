/** Goal: every vote counts once, at every bound of a poll, and the end of a poll reports the votes. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Written } from '../../../engine/channel/draft.ts';
import type { CustomEmoji } from '../../../engine/channel/emoji.ts';
import type { PollDraft } from '../../../engine/channel/polls.ts';
import { keepVote, needsVotes } from '../../../engine/channel/votes.ts';
import type { Guild, StoredMessage } from '../../../engine/guild/guild.ts';
import { messages } from '../../../engine/guild/messages.ts';
import { polls } from '../../../engine/guild/polls.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { MessageId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, user } from '../../support/guild.ts';
import { creation, edition, messageEnv, openPoll, placed, storedMessage } from '../../support/messages.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const HOUR_MS = 3_600_000;
const run = runner(polls, messages);

let guild: Guild;
let id: MessageId;
function arrange(poll = openPoll(), everyone = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_POLLS): void {
  guild = buildGuild({
    everyone,
    members: [
      fullMember('10'),
      fullMember('11'),
      fullMember('12'),
      fullMember('20', [], { user: user('20', true) }),
    ],
    channels: [channel('50'), channel('51')],
  });
  id = placed(guild, storedMessage('50', '12', { poll, content: '' }));
}
beforeEach(() => arrange());

const named = (more: object = {}) => ({ channelId: '50', messageId: id, ...more });
const envAt = (nowMs: number) => messageEnv(nowMs);
/** Votes as the actor has it decided: the stored vote is read first; by default there is none. */
const vote = (
  answerIds: readonly number[],
  userId = '10',
  stored: readonly number[] = [],
  nowMs = NOW_MS,
) => {
  const needs = needsVotes(guild, named() as never, userId as UserId);
  for (const one of needs.votes ?? []) keepVote(guild, one, stored.includes(one.answerId));
  return run(guild, 'votePoll', named({ answerIds }), caller(userId), envAt(nowMs));
};
const pollNow = () => guild.messages.get(id)?.poll;
const counts = () =>
  Object.fromEntries((pollNow()?.results?.answer_counts ?? []).map((one) => [one.id, one.count]));
const end = (userId = '12', nowMs = NOW_MS) => run(guild, 'endPoll', named(), caller(userId), envAt(nowMs));
const expire = (nowMs: number, more: object = {}) =>
  run<{ isOver: boolean }>(guild, 'expirePoll', named(more), SYSTEM.by, envAt(nowMs));

describe('a vote', () => {
  it('is counted once per user, and dispatched to the channel', () => {
    expect(vote([2]).dispatches).toEqual([
      {
        t: 'MESSAGE_POLL_VOTE_ADD',
        d: { user_id: '10', channel_id: '50', message_id: id, guild_id: '1', answer_id: 2 },
        to: { kind: 'channel', channelId: '50' },
      },
    ]);
    expect(vote([2]).facts).toEqual([]);
    vote([2], '11');
    expect(counts()).toEqual({ 2: 2 });
  });

  it('moves to another answer, after the removal of the old vote', () => {
    vote([1]);
    expect(vote([3]).types).toEqual(['pollUnvoted', 'pollVoted']);
    expect(vote([1]).dispatches.map(({ t }) => t)).toEqual([
      'MESSAGE_POLL_VOTE_REMOVE',
      'MESSAGE_POLL_VOTE_ADD',
    ]);
    expect(counts()).toEqual({ 1: 1 });
  });

  it('is removed by an empty list of answers, and an answer without votes is omitted from the counts', () => {
    arrange(openPoll(10, { many: true }));
    vote([1, 2, 3]);
    vote([2], '11');
    expect(vote([]).types).toEqual(Array(3).fill('pollUnvoted'));
    expect(pollNow()?.results).toEqual({
      is_finalized: false,
      answer_counts: [{ id: 2, count: 1, me_voted: false }],
    });
  });

  it('uses the stored votes for the time before the poll was loaded', () => {
    const poll = openPoll();
    const results = { is_finalized: false, answer_counts: [{ id: 1, count: 5, me_voted: false }] };
    arrange({ ...poll, results });
    expect(vote([1], '10', [1]).facts).toEqual([]);
    expect(vote([2], '10', [1]).types).toEqual(['pollUnvoted', 'pollVoted']);
    expect(counts()).toEqual({ 1: 4, 2: 1 });
  });

  it.each([
    ['one answer', openPoll(10), [1], undefined],
    ['two answers where one is allowed', openPoll(10), [1, 2], 50035],
    ['the same answer twice where one is allowed', openPoll(10), [2, 2], undefined],
    [
      'all ten answers where many are allowed',
      openPoll(10, { many: true }),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      undefined,
    ],
    ['an answer beyond the last', openPoll(3, { many: true }), [3, 4], 50035],
    ['the answer zero', openPoll(3), [0], 50035],
  ])('is accepted or refused, for %s, with the path of the field', (_, poll, answers, code) => {
    arrange(poll);
    const ran = vote(answers);
    expect(ran.code).toBe(code);
    if (code !== undefined)
      expect(ran.outcome).toMatchObject({ refusal: { errors: { answer_ids: { _errors: [{}] } } } });
  });

  it.each([
    ['a millisecond before the end', HOUR_MS - 1, undefined],
    ['at the end', HOUR_MS, 520001],
    ['long after it', HOUR_MS * 800, 520001],
  ])('is accepted until the poll ends: %s', (_, afterMs, code) => {
    expect(vote([1], '10', [], NOW_MS + afterMs).code).toBe(code);
  });

  it('is refused to applications, for messages without a poll, and in the wrong channel', () => {
    expect(vote([1], '20').code).toBe(520000);
    id = placed(guild, storedMessage('50', '12'));
    expect(vote([1]).code).toBe(10008);
    id = placed(guild, storedMessage('51', '12', { poll: openPoll() }));
    expect(vote([1]).code).toBe(10008);
  });

  it('returns the owner of the voters only for known answers', () => {
    const ask = (answerId: number) => run(guild, 'authorizeVoters', named({ answerId }), caller('10'));
    expect(ask(3).outcome).toMatchObject({ ok: true, value: { ownerId: '1' } });
    expect([ask(4).code, ask(0).code]).toEqual([50035, 50035]);
  });
});

describe('the end of a poll', () => {
  const resultOf = (ran: ReturnType<typeof end>) =>
    ran.dispatches.find(({ t }) => t === 'MESSAGE_CREATE')?.d as StoredMessage;
  const fieldsOf = (ran: ReturnType<typeof end>) =>
    Object.fromEntries((resultOf(ran).embeds[0]?.fields ?? []).map(({ name, value }) => [name, value]));

  it('shows the final counts and writes the results when its author ends it', () => {
    vote([2]);
    vote([2], '11');
    const ran = end('12', NOW_MS + 60_000);
    expect(ran.dispatches.map(({ t }) => t)).toEqual(['MESSAGE_UPDATE', 'MESSAGE_CREATE']);
    expect(pollNow()).toMatchObject({
      expiry: '2026-03-01T12:01:00.000000+00:00',
      results: { is_finalized: true, answer_counts: [{ id: 2, count: 2 }] },
    });
    expect(guild.messages.get(id)?.edited_timestamp).toBeNull();
    expect(resultOf(ran)).toMatchObject({
      type: 46,
      author: { id: '12' },
      content: '',
      message_reference: { type: 0, channel_id: '50', message_id: id, guild_id: '1' },
      embeds: [{ type: 'poll_result' }],
    });
    expect(fieldsOf(ran)).toEqual({
      poll_question_text: 'Which?',
      victor_answer_votes: '2',
      total_votes: '2',
      victor_answer_id: '2',
      victor_answer_text: 'answer 2',
    });
    expect([end().code, vote([1]).code]).toEqual([520001, 520001]);
  });

  it('has no victor in a tie, or without votes', () => {
    expect(fieldsOf(end())).toEqual({
      poll_question_text: 'Which?',
      victor_answer_votes: '0',
      total_votes: '0',
    });
    arrange();
    vote([1]);
    vote([3], '11');
    expect(fieldsOf(end())).toEqual({
      poll_question_text: 'Which?',
      victor_answer_votes: '1',
      total_votes: '2',
    });
  });

  it('is rejected from other users, for other messages, and after the expiry', () => {
    expect(end('10').code).toBe(50005);
    expect(end('12', NOW_MS + HOUR_MS).code).toBe(520001);
    id = placed(guild, storedMessage('50', '12'));
    expect(end().code).toBe(520006);
    id = '404' as MessageId;
    expect(end().code).toBe(10008);
  });

  it('is run by the clock once, not early, and only by the server itself', () => {
    expect(run(guild, 'expirePoll', named(), caller('12')).code).toBe(50001);
    const early = expire(NOW_MS + HOUR_MS - 1);
    expect([early.facts, early.outcome]).toEqual([[], expect.objectContaining({ value: { isOver: false } })]);
    const ran = expire(NOW_MS + HOUR_MS);
    expect(ran.types).toEqual(['messageUpdated', 'messageCreated']);
    expect(pollNow()).toMatchObject({ expiry: openPoll().expiry, results: { is_finalized: true } });
    const again = expire(NOW_MS + HOUR_MS);
    expect([again.facts, again.outcome]).toEqual([[], expect.objectContaining({ value: { isOver: true } })]);
  });

  it('does nothing by the clock for a deleted message, and is refused in a deleted channel', () => {
    guild.channels.delete('50' as never);
    expect(expire(NOW_MS + HOUR_MS).code).toBe(10003);
    arrange();
    guild.messages.set(id, null);
    expect(expire(NOW_MS + HOUR_MS).outcome).toMatchObject({ value: { isOver: true }, facts: [] });
  });
});

describe('the counts of a poll', () => {
  it('equal sets of voters after any sequence of votes, also with a stale database', () => {
    const step = fc.record({
      userId: fc.constantFrom('10', '11', '12'),
      answers: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
      forgets: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 40 }), (many, steps) => {
        arrange(openPoll(4, { many }));
        const model = new Map<string, Set<number>>();
        for (const { userId, answers, forgets } of steps) {
          const before = model.get(userId) ?? new Set();
          if (forgets) guild.reacted.clear();
          // Everyone's votes are read again from a database that has them.
          const refused = vote(answers, userId, [...before]).code !== undefined;
          expect(refused).toBe(!many && answers.length > 1);
          if (!refused) model.set(userId, new Set(answers));
        }
        const expected: Record<number, number> = {};
        for (const chosen of model.values())
          for (const answer of chosen) expected[answer] = (expected[answer] ?? 0) + 1;
        expect(counts()).toEqual(expected);
      }),
    );
  });
});

describe('a new poll', () => {
  const draft = (more: Partial<PollDraft> = {}): PollDraft => ({
    question: { text: 'q' },
    answers: [{ poll_media: { text: 'a' } }],
    ...more,
  });
  const answersOf = (count: number) => Array.from({ length: count }, () => ({ poll_media: { text: 'a' } }));
  const media = (text: string, emoji?: { id?: string; name?: string }) => [
    { poll_media: { text, ...(emoji ? { emoji } : {}) } },
  ];
  const send = (poll: PollDraft, more: object = {}) =>
    run(guild, 'createMessage', creation({ poll, ...more }), caller('10'));

  it.each<[string, Partial<PollDraft>, readonly (string | number)[] | null]>([
    ['a question of 300', { question: { text: 'q'.repeat(300) } }, null],
    ['a question of 301', { question: { text: 'q'.repeat(301) } }, ['question', 'text']],
    ['an empty question', { question: { text: ' ' } }, ['question', 'text']],
    ['no answer', { answers: [] }, ['answers']],
    ['ten answers', { answers: answersOf(10) }, null],
    ['eleven answers', { answers: answersOf(11) }, ['answers']],
    ['an answer of 55', { answers: media('a'.repeat(55)) }, null],
    ['an answer of 56', { answers: media('a'.repeat(56)) }, ['answers', 0, 'poll_media', 'text']],
    ['an empty answer', { answers: media('') }, ['answers', 0, 'poll_media', 'text']],
    ['an emoji', { answers: media('a', { name: '👍' }) }, null],
    ['an unknown emoji', { answers: media('a', { name: 'x' }) }, ['answers', 0, 'poll_media', 'emoji']],
    ['an hour', { duration: 1 }, null],
    ['zero hours', { duration: 0 }, ['duration']],
    ['32 days', { duration: 768 }, null],
    ['32 days and an hour', { duration: 769 }, ['duration']],
  ])('is accepted or refused, with %s, with the path of the field', (_, more, path) => {
    const { outcome, code } = send(draft(more));
    expect(code).toBe(path ? 50035 : undefined);
    if (!path) return;
    const inner = path.reduceRight<object>((tree, key) => ({ [key]: tree }), { _errors: [{}] });
    expect(outcome).toMatchObject({ refusal: { errors: { poll: inner } } });
  });

  it('requires SEND_POLLS and no content', () => {
    expect(send(draft()).code).toBeUndefined();
    arrange(openPoll(), P.VIEW_CHANNEL | P.SEND_MESSAGES);
    expect(send(draft()).code).toBe(50013);
  });

  it('has only custom emojis that its author may use in this channel, with their names', () => {
    const asked = draft({ answers: media('a', { id: '99', name: 'x' }) });
    const custom = { id: '99', name: 'badger', animated: true };
    const sendWith = (...emojis: readonly CustomEmoji[]) =>
      run<Written>(
        guild,
        'createMessage',
        creation({ poll: asked }, { emojis }),
        caller('10'),
        envAt(NOW_MS),
      );
    expect(sendWith().code).toBe(520004);
    expect(sendWith({ ...custom, guildId: 'another' }).code).toBe(520004);
    for (const guildId of [guild.id, null])
      expect(sendWith({ ...custom, guildId }).outcome).toMatchObject({
        value: { message: { poll: { answers: [{ poll_media: { emoji: custom } }] } } },
      });
    arrange(openPoll(), P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_POLLS | P.USE_EXTERNAL_EMOJIS);
    expect(sendWith({ ...custom, guildId: 'another' }).code).toBeUndefined();
  });

  it('ends after a day by default', () => {
    send(draft());
    const made = [...guild.messages.values()].at(-1);
    expect(made?.poll).toMatchObject({
      allow_multiselect: false,
      layout_type: 1,
      results: { answer_counts: [] },
    });
  });
});

it('a message with a poll cannot be published to followers', () => {
  guild.channels.set('50' as never, channel('50', [], { type: 5 }));
  expect(run(guild, 'crosspostMessage', named(), caller('12')).code).toBe(50068);
});

describe('a poll in an edit', () => {
  const LOADING = 1 << 7;
  const EPHEMERAL = 1 << 6;
  const poll: PollDraft = { question: { text: 'q' }, answers: [{ poll_media: { text: 'a' } }] };
  const edit = (more: Partial<StoredMessage>, edited: object = { poll }) => {
    id = placed(guild, storedMessage('50', '12', more));
    return run(guild, 'updateMessage', edition(id, edited), caller('12'));
  };

  it.each([
    ['of a message that is being prepared', { flags: LOADING, content: '' }, undefined],
    ['of an ephemeral message', { flags: LOADING | EPHEMERAL, content: '' }, 520002],
    ['of a sent message', {}, 520003],
    ['of a message with a poll', { poll: openPoll() }, 520003],
  ])('%s is accepted or refused', (_, more, code) => {
    expect(edit(more).code).toBe(code);
  });

  it('is refused if it changes the poll, and accepted without one', () => {
    expect(edit({ poll: openPoll() }, { content: 'x' }).code).toBe(520003);
    expect(edit({}, { poll: null, content: 'x' }).code).toBeUndefined();
  });

  it('completes a prepared message without content', () => {
    const { facts } = edit({ flags: LOADING, content: '' });
    expect(facts).toMatchObject([
      { type: 'messageUpdated', message: { poll: { question: { text: 'q' } }, edited_timestamp: null } },
    ]);
  });
});
