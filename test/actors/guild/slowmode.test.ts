// Goal: a slow mode holds over the loss of the guild's owner, with one read for each user and none in other channels.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANN, BOB, CELLAR, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

const SLOW_SEC = 60;

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
  guild.slowmodeSec = SLOW_SEC;
});
afterEach(() => {
  expect(guild.faults).toEqual([]);
  guild.close();
});

async function send(userId: string, channelId = SQUARE) {
  const sent = guild.say(channelId, 'hi', null, userId);
  await settleAll();
  guild.owner.settle();
  const reply = await sent;
  return reply.ok
    ? 'sent'
    : [reply.refusal.code, (reply.refusal as { retryAfterSec?: number }).retryAfterSec];
}

describe('a slow mode', () => {
  it('delays a user for the remaining time after the owner was lost', async () => {
    expect(await send(ANN)).toBe('sent');
    guild.crash();
    guild.clock.advance(20_000);
    expect([await send(ANN), await send(BOB)]).toEqual([[20_016, SLOW_SEC - 20], 'sent']);
    guild.crash();
    guild.clock.advance(40_000);
    expect([await send(ANN), await send(BOB)]).toEqual(['sent', [20_016, SLOW_SEC - 40]]);
  });

  it('delays a user whose message became durable although its owner was lost before the answer', async () => {
    const sent = guild.say(SQUARE, 'hi', null, ANN);
    await settleAll();
    guild.crash(1);
    await Promise.allSettled([sent]);
    expect(await send(ANN)).toEqual([20_016, SLOW_SEC]);
  });

  it('reads once when each user last wrote, however often the user then writes', async () => {
    for (const userId of [ANN, BOB, ANN, BOB, ANN]) await send(userId);
    expect(guild.rows.lastReads).toBe(2);
    guild.clock.advance(SLOW_SEC * 1_000);
    for (const userId of [ANN, BOB]) expect(await send(userId)).toBe('sent');
    expect(guild.rows.lastReads).toBe(2);
  });

  it('reads nothing for channels without one', async () => {
    expect([await send(ANN, CELLAR), guild.rows.lastReads]).toEqual(['sent', 0]);
    guild.slowmodeSec = 0;
    guild.crash();
    expect([await send(ANN), await send(ANN), guild.rows.lastReads]).toEqual(['sent', 'sent', 0]);
  });

  it('is handed over: the next owner reads nothing about users whom it delays', async () => {
    expect(await send(ANN)).toBe('sent');
    guild.clock.advance(1_000);
    expect(await send(ANN)).toEqual([20_016, SLOW_SEC - 1]);
    await guild.handOver();
    const reads = guild.rows.lastReads;
    expect((await send(ANN)) as unknown[]).toContain(20_016);
    expect(guild.rows.lastReads).toBe(reads);
  });
});
