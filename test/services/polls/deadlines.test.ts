// Goal: every poll is asked to end when its time is over, by who owns it, whatever fails on the way.
import { describe, expect, test } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { PollDeadlines } from '../../../services/polls/deadlines.ts';
import type { DuePoll } from '../../../storage/message/port.ts';

const START_MS = 1_750_000_000_000;
const HOUR_MS = 3_600_000;

function pageOf(rows: ReadonlyMap<string, number>, nowMs: number, limit: number, after: DuePoll | null) {
  const isNext = (id: string, atMs: number) =>
    !after || atMs > after.endsMs || (atMs === after.endsMs && id > after.messageId);
  return [...rows]
    .sort(([one, oneMs], [two, twoMs]) => oneMs - twoMs || (one < two ? -1 : 1))
    .filter(([id, atMs]) => atMs <= nowMs && isNext(id, atMs))
    .slice(0, limit);
}

/** Deadlines by message; `fails` polls fail as often as it says. */
function arrange(ends: Readonly<Record<string, number>>) {
  const clock = new VirtualClock(START_MS);
  const wheel = new TimerWheel(clock, 10);
  const rows = new Map(Object.entries(ends));
  const state = {
    rows,
    ended: [] as (readonly [messageId: string, atMs: number])[],
    fails: new Map<string, number>(),
    gone: new Set<string>(),
    private: new Set<string>(),
    foreign: new Set<string>(),
    askedPrivately: [] as string[],
    atOnce: 0,
    faults: 0,
    reads: 0,
    isDown: false,
  };
  const pollOf = (messageId: string) =>
    ({
      ownerId: messageId,
      guildId: state.private.has(messageId) ? null : '1',
      channelId: '2',
      messageId,
      endsMs: rows.get(messageId),
    }) as DuePoll;
  const end = async (messageId: string) => {
    const left = state.fails.get(messageId) ?? 0;
    if (left > 0) {
      state.fails.set(messageId, left - 1);
      throw new Error('The owner does not answer.');
    }
    if (state.gone.has(messageId)) return { ok: false, refusal: refusal('UNKNOWN_GUILD') };
    state.ended.push([messageId, clock.now() - START_MS]);
    return { ok: true, value: { isOver: true } };
  };
  const scope = new Lifetime(clock);
  const deadlines = new PollDeadlines({
    store: {
      duePolls: async (nowMs, limit, after) => {
        state.reads += 1;
        if (state.isDown) throw new Error('The database is down.');
        const due = pageOf(rows, nowMs, limit, after);
        state.atOnce = Math.max(state.atOnce, due.length);
        return due.map(([messageId]) => pollOf(messageId));
      },
      nextPollMs: async () => (rows.size === 0 ? null : Math.min(...rows.values())),
      forgetPoll: async ({ messageId }) => void rows.delete(messageId),
    },
    guilds: { call: (async (_: string, __: string, { messageId }: DuePoll) => end(messageId)) as never },
    inPrivate: (async (_: string, __: string, { messageId }: DuePoll) => {
      state.askedPrivately.push(messageId);
      return end(messageId);
    }) as never,
    ...{ clock, wheel, scope },
    routing: { owns: (ownerId) => !state.foreign.has(ownerId) },
    onFault: () => {
      state.faults += 1;
    },
  });
  const pass = async (ms: number, step = 1_000) => {
    for (let done = 0; done < ms; done += step) {
      clock.advance(step);
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    }
  };
  deadlines.start();
  return { state, pass, scope, wheel };
}

describe('the clock of polls', () => {
  test('ends each poll at its time, in guilds and in private channels', async () => {
    const { state, pass, wheel } = arrange({ a: START_MS + HOUR_MS, b: START_MS + HOUR_MS + 30_000 });
    state.private.add('b');
    await pass(HOUR_MS - 1_000);
    expect(state.ended).toEqual([]);
    await pass(60_000);
    expect(state.ended.map(([name]) => name)).toEqual(['a', 'b']);
    for (const [index, [, atMs]] of state.ended.entries())
      expect(atMs - HOUR_MS - index * 30_000).toBeLessThanOrEqual(1_000);
    expect([state.askedPrivately, state.rows.size, state.faults]).toEqual([['b'], 0, 0]);
    wheel.stop();
  });

  test('ends polls created while it waited, and polls left by an earlier process', async () => {
    const { state, pass, wheel } = arrange({ old: START_MS - HOUR_MS });
    await pass(2_000);
    expect(state.ended.map(([name]) => name)).toEqual(['old']);
    state.rows.set('new', START_MS + HOUR_MS);
    await pass(HOUR_MS + 2_000);
    expect(state.ended.map(([name]) => name)).toEqual(['old', 'new']);
    wheel.stop();
  });

  test('retries after a failure of the owner or the database, and drops deleted polls', async () => {
    const { state, pass, wheel } = arrange({ a: START_MS, b: START_MS, c: START_MS });
    state.fails.set('a', 2);
    state.gone.add('b');
    await pass(1_000);
    expect([...state.rows.keys()]).toEqual(['a']);
    await pass(20_000);
    expect(state.ended.map(([name]) => name)).toEqual(['c', 'a']);
    state.rows.set('d', START_MS);
    state.isDown = true;
    await pass(120_000);
    expect(state.reads).toBeLessThan(40);
    state.isDown = false;
    await pass(6_000);
    expect(state.ended.at(-1)?.[0]).toBe('d');
    expect(state.faults).toBeGreaterThan(2);
    wheel.stop();
  });

  test('skips polls of other shards, and ends them once this shard owns them', async () => {
    const { state, pass, wheel } = arrange({ a: START_MS });
    state.foreign.add('a');
    await pass(30_000);
    expect([state.ended, state.rows.size]).toEqual([[], 1]);
    state.foreign.clear();
    await pass(2_000);
    expect(state.ended.map(([name]) => name)).toEqual(['a']);
    wheel.stop();
  });

  test.each(['fails', 'foreign'] as const)(
    'ends polls behind more than a batch of polls that it cannot end: %s',
    async (kind) => {
      const stuck = Array.from({ length: 200 }, (_, n) => `s${n}`);
      const { state, pass, wheel } = arrange({
        ...Object.fromEntries(stuck.map((id) => [id, START_MS - HOUR_MS])),
        last: START_MS,
      });
      for (const id of stuck) kind === 'fails' ? state.fails.set(id, 9) : state.foreign.add(id);
      await pass(4_000, 100);
      expect([state.ended.map(([name]) => name), state.atOnce]).toEqual([['last'], 64]);
      expect(state.reads).toBeLessThan(20);
      wheel.stop();
    },
  );

  test('takes many polls in bounded batches, and none after it was stopped', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`p${n}`, START_MS]));
    const { state, pass, scope, wheel } = arrange(many);
    await pass(400, 100);
    await scope.close();
    const before = state.ended.length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(300);
    expect(state.atOnce).toBe(64);
    await pass(10_000);
    expect(state.ended.length).toBe(before);
    wheel.stop();
  });
});
