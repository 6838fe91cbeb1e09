// Goal: no sequence of calls exceeds its windows, waiting for the reported time always helps, and memory is bounded.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { watchInvalidCalls } from '../../../engine/ratelimit/invalid.ts';
import { createLimiter } from '../../../engine/ratelimit/limiter.ts';
import { WindowTable } from '../../../engine/ratelimit/table.ts';
import { take, type Window } from '../../../engine/ratelimit/window.ts';

const rule = fc.record({
  limit: fc.integer({ min: 1, max: 20 }),
  windowMs: fc.integer({ min: 1, max: 10_000 }),
});
const gaps = fc.array(fc.nat({ max: 3_000 }), { maxLength: 200 });

describe('a window', () => {
  test('admits at most its limit between its first call and its end', () => {
    fc.assert(
      fc.property(rule, gaps, (limits, waits) => {
        let window: Window | undefined;
        let nowMs = 0;
        const admitted = new Map<number, number>();
        for (const wait of waits) {
          nowMs += wait;
          const taken = take(window, limits, nowMs);
          window = taken.window;
          if (taken.allowed) admitted.set(window.endMs, (admitted.get(window.endMs) ?? 0) + 1);
          expect(taken.remaining).toBe(limits.limit - window.used);
          expect(taken.resetMs).toBeGreaterThan(0);
          expect(taken.resetMs).toBeLessThanOrEqual(limits.windowMs);
        }
        for (const count of admitted.values()) expect(count).toBeLessThanOrEqual(limits.limit);
      }),
    );
  });

  test('admits again after the time that its refusal names', () => {
    fc.assert(
      fc.property(rule, gaps, (limits, waits) => {
        let window: Window | undefined;
        let nowMs = 0;
        for (const wait of waits) {
          nowMs += wait;
          const taken = take(window, limits, nowMs);
          window = taken.window;
          if (!taken.allowed) expect(take(window, limits, nowMs + taken.resetMs).allowed).toBe(true);
        }
      }),
    );
  });
});

describe('the table', () => {
  test('never exceeds its bound, and decides like a single window while it is not full', () => {
    const calls = fc.array(fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 500 })), { maxLength: 300 });
    fc.assert(
      fc.property(rule, calls, fc.integer({ min: 1, max: 40 }), (limits, sequence, entriesMax) => {
        const table = new WindowTable(entriesMax);
        const models = new Map<number, Window>();
        let nowMs = 0;
        for (const [key, wait] of sequence) {
          nowMs += wait;
          const taken = table.take(String(key), limits, nowMs);
          const model = take(models.get(key), limits, nowMs);
          models.set(key, model.window);
          if (entriesMax > 30) expect(taken).toEqual(model);
          expect(table.size).toBeLessThanOrEqual(entriesMax);
        }
      }),
    );
  });

  test('forgets a caller that barely called before one that is close to its limit', () => {
    const table = new WindowTable(3);
    const limits = { limit: 5, windowMs: 1_000 };
    for (let n = 0; n < 5; n++) table.take('busy', limits, 0);
    table.take('calm', limits, 0);
    table.take('middle', limits, 0);
    table.take('middle', limits, 0);
    table.take('new', limits, 1);
    expect(table.peek('calm', 1)).toBeUndefined();
    expect(table.take('busy', limits, 1).allowed).toBe(false);
  });
});

describe('the limiter', () => {
  const attempt = {
    principal: 'a',
    group: 'g',
    major: '',
    rule: { limit: 100, windowMs: 60_000 },
    globalExempt: false,
  };
  const settings = { global: { limit: 50, windowMs: 1_000 }, entriesMax: 1_000 };

  test('lets 50 calls a second through over all buckets, and exempt ones besides', () => {
    const limiter = createLimiter(settings);
    const admitted = Array.from({ length: 60 }, (_, n) => limiter.take({ ...attempt, major: String(n) }, 0));
    expect(admitted.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(admitted.at(-1)).toEqual({
      allowed: false,
      limit: 50,
      remaining: 0,
      resetMs: 1_000,
      scope: 'global',
    });
    expect(limiter.take({ ...attempt, globalExempt: true }, 0).allowed).toBe(true);
    expect(limiter.take({ ...attempt, principal: 'b' }, 0).allowed).toBe(true);
    expect(limiter.take(attempt, 1_000).allowed).toBe(true);
  });

  test('does not count a call twice: what the bucket refuses is free globally, and the other way round', () => {
    const limiter = createLimiter(settings);
    const small = { ...attempt, rule: { limit: 1, windowMs: 60_000 } };
    for (let n = 0; n < 100; n++) limiter.take(small, 0);
    const others = Array.from({ length: 49 }, (_, n) => limiter.take({ ...attempt, major: String(n) }, 0));
    expect(others.every(({ allowed }) => allowed)).toBe(true);
    expect(limiter.take({ ...attempt, major: 'last' }, 0)).toMatchObject({ allowed: false, scope: 'global' });
    expect(limiter.take({ ...attempt, major: 'last' }, 1_000)).toMatchObject({
      allowed: true,
      remaining: 99,
    });
  });
});

test('an address that reaches the limit of invalid calls is reported once a window', () => {
  const told: unknown[] = [];
  const watch = watchInvalidCalls(10, { limit: 3, windowMs: 100 }, (...given) => told.push(given));
  for (let n = 0; n < 9; n++) watch.count('a', n);
  watch.count('b', 9);
  expect(told).toEqual([['a', 98]]);
  for (let n = 0; n < 3; n++) watch.count('a', 200);
  expect(told).toHaveLength(2);
});

test('calls in vain block an address for the rest of the window only', () => {
  const watch = watchInvalidCalls(10, { limit: 3, windowMs: 100 });
  for (let n = 0; n < 3; n++) {
    expect(watch.blockedMs('a', n)).toBe(0);
    watch.count('a', n);
  }
  expect(watch.blockedMs('a', 10)).toBe(90);
  expect(watch.blockedMs('b', 10)).toBe(0);
  expect(watch.blockedMs('a', 100)).toBe(0);
});
