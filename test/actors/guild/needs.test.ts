// Goal: what a guild decides about pins and reactions counts what it has decided before, also while the database does
// not have that yet.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GuildCommands } from '../../../engine/guild/rules.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { OWNER_ID } from '../../support/guild.ts';
import { openPoll, storedMessage } from '../../support/messages.ts';
import { ANN, BOB, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';
import { NOW_MS } from '../../support/people.ts';

const channelId = SQUARE as ChannelId;
const emoji = '👍';

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  expect(guild.faults).toEqual([]);
  guild.close();
});

/** A message that the database has. */
function written(pinnedMs: number | null = null, reactedBy: readonly string[] = []): MessageId {
  const counts =
    reactedBy.length > 0 ? [{ key: emoji, emoji: { id: null, name: emoji }, count: reactedBy.length }] : [];
  const pin = { pinned: pinnedMs !== null, pinned_ms: pinnedMs };
  const message = storedMessage(SQUARE, OWNER_ID, { ...pin, reactions: counts });
  guild.rows.messages.set(message.id, message);
  for (const userId of reactedBy) guild.rows.reacted.set(`${message.id}:${emoji}:${userId}`, true);
  return message.id;
}

/** The database takes nothing before all of them are decided, each after the one before it, or all sent `together`. */
async function undurable(calls: readonly (() => Promise<unknown>)[], together = false): Promise<unknown[]> {
  const answers: Promise<unknown>[] = [];
  for (const call of calls) {
    answers.push(call());
    if (!together) await settleAll();
  }
  await settleAll();
  guild.owner.settle();
  return Promise.all(answers);
}

const inTurn = (...calls: (() => Promise<unknown>)[]) => undurable(calls);
const together = (...calls: (() => Promise<unknown>)[]) => undurable(calls, true);

const sending =
  <K extends keyof GuildCommands>(type: K, userId: string = OWNER_ID) =>
  (messageId: MessageId, more: object = {}) =>
  () =>
    guild.call(type, { channelId, messageId, ...more } as never, userId);

const pin = sending('pinMessage');
const unpin = sending('unpinMessage');
const remove = sending('deleteMessage');
const react = (userId: string, messageId: MessageId) => sending('addReaction', userId)(messageId, { emoji });
const unreact = (userId: string, messageId: MessageId) =>
  sending('removeReaction', userId)(messageId, { emoji, userId });

const done = expect.objectContaining({ ok: true });
const refusedWith = (code: number) => ({ ok: false, refusal: expect.objectContaining({ code }) });
const lastPin = async () => {
  const reply = await guild.call('getChannel', { channelId } as never);
  return (reply as { value?: { last_pin_timestamp?: string | null } }).value?.last_pin_timestamp;
};
const countOf = (messageId: MessageId) => guild.rows.messages.get(messageId)?.reactions[0]?.count ?? 0;

describe('pins of a channel', () => {
  const fill = (count: number) => Array.from({ length: count }, (_, n) => written(n + 1));

  it('never exceed the bound, however many are asked for at once', async () => {
    fill(LIMITS.pins_per_channel_max - 1);
    const [a, b] = [written(), written()];
    expect(await together(pin(a), pin(b))).toEqual([done, refusedWith(30003)]);
    expect(guild.rows.pinTimes(SQUARE).size).toBe(LIMITS.pins_per_channel_max);
  });

  it('leave room as soon as one is unpinned or deleted, before that is durable', async () => {
    const [first, second] = fill(LIMITS.pins_per_channel_max) as [MessageId, MessageId];
    const [a, b, c] = [written(), written(), written()];
    expect(await inTurn(remove(first), pin(a), unpin(second), pin(b), pin(c))).toEqual([
      ...[done, done, done, done],
      refusedWith(30003),
    ]);
  });

  it('have the right last pin, also when several are unpinned at once', async () => {
    const [old, young] = [written(1_000), written(2_000)];
    await inTurn(unpin(old), unpin(young));
    expect(await lastPin()).toBeNull();
  });

  it('have the right last pin when one is unpinned right after it was pinned', async () => {
    const [old, young] = [written(1_000), written()];
    guild.clock.advance(5_000);
    await inTurn(pin(young), unpin(young));
    expect(await lastPin()).toBe('1970-01-01T00:00:01.000000+00:00');
    expect(guild.rows.pinTimes(SQUARE)).toEqual(new Map([[old, 1_000]]));
  });
});

describe('reactions to a message', () => {
  it('count a user once who adds the same one twice at once', async () => {
    const message = written(null, [ANN]);
    await together(react(BOB, message), react(BOB, message), react(ANN, message));
    expect(countOf(message)).toBe(2);
  });

  it('are kept when removed and added at once, and removed in the opposite order', async () => {
    const [kept, gone] = [written(null, [ANN, BOB]), written(null, [BOB])];
    await inTurn(unreact(ANN, kept), react(ANN, kept), react(ANN, gone), unreact(ANN, gone));
    expect([countOf(kept), countOf(gone)]).toEqual([2, 1]);
    await inTurn(unreact(ANN, kept), unreact(ANN, kept), unreact(ANN, gone));
    expect([countOf(kept), countOf(gone)]).toEqual([1, 1]);
  });

  it('may be added again after all were cleared, before that is durable', async () => {
    const message = written(null, [ANN, BOB]);
    await inTurn(sending('clearReactions')(message), react(OWNER_ID, message), react(BOB, message));
    expect(countOf(message)).toBe(2);
    expect(guild.rows.reactionsOf(BOB as UserId, [message]).get(message)).toEqual(new Set([emoji]));
  });

  it('are known of the past by the next owner', async () => {
    const message = written(null, [ANN]);
    await inTurn(react(BOB, message));
    await guild.handOver();
    await inTurn(react(BOB, message), unreact(ANN, message));
    expect(countOf(message)).toBe(1);
  });
});

describe('votes in a poll', () => {
  const asked = (count = 3) => {
    const message = storedMessage(SQUARE, OWNER_ID, { poll: openPoll(count) });
    guild.rows.messages.set(message.id, message);
    guild.clock.advance(NOW_MS - guild.clock.now());
    return message.id;
  };
  const vote = (userId: string, messageId: MessageId, ...answerIds: number[]) =>
    sending('votePoll', userId)(messageId, { answerIds });
  const countsOf = (messageId: MessageId) =>
    guild.rows.messages.get(messageId)?.poll?.results?.answer_counts.map(({ id, count }) => [id, count]);

  it('count a user once who votes twice at once, for the last answer', async () => {
    const message = asked();
    await together(
      vote(ANN, message, 1),
      vote(ANN, message, 1),
      vote(BOB, message, 1),
      vote(ANN, message, 2),
    );
    expect(countsOf(message)).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('are removed and added again before any of it is durable', async () => {
    const message = asked();
    await inTurn(vote(ANN, message, 3), vote(ANN, message), vote(ANN, message, 3), vote(BOB, message));
    expect(countsOf(message)).toEqual([[3, 1]]);
  });

  it('are known of the past by the next owner', async () => {
    const message = asked();
    await inTurn(vote(ANN, message, 1), vote(BOB, message, 1));
    await guild.handOver();
    await inTurn(vote(ANN, message, 1), vote(BOB, message, 2));
    expect(countsOf(message)).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });
});
