// Goal: sends are due at their own times, however late the sender is, so that no delay hides the delays behind it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Pacer } from '../../bench/wire/pace.ts';

const SECOND = 1e9;

function takeAll(pacer: Pacer, nowNs: number): number[] {
  const taken: number[] = [];
  for (let index = pacer.take(nowNs); index >= 0; index = pacer.take(nowNs)) taken.push(index);
  return taken;
}

describe('a pacer', () => {
  test('gives each send its time', () => {
    const pacer = new Pacer({ perSecond: 4, total: 3, startNs: SECOND });
    expect(takeAll(pacer, SECOND - 1)).toEqual([]);
    expect(pacer.waitMs(SECOND - 1e6)).toBe(1);
    expect(takeAll(pacer, SECOND)).toEqual([0]);
    expect(takeAll(pacer, 1.5 * SECOND)).toEqual([1, 2]);
    expect(pacer.done).toBe(true);
    expect(takeAll(pacer, 9 * SECOND)).toEqual([]);
  });

  test('keeps the intended times when the sender was stopped for a while', () => {
    const pacer = new Pacer({ perSecond: 10, total: 50, startNs: 0 });
    takeAll(pacer, 0.1 * SECOND);
    const late = takeAll(pacer, 3 * SECOND);
    expect(late).toHaveLength(29);
    expect(late.map((index) => pacer.intendedNs(index) / SECOND)).toEqual(late.map((index) => index / 10));
  });

  test('takes every send once and none early, at any pace and any times', () => {
    const times = fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 500, noNaN: true }), times, (perSecond, seconds) => {
        const pacer = new Pacer({ perSecond, total: 200, startNs: 0 });
        const taken: number[] = [];
        for (const second of seconds.sort((a, b) => a - b)) {
          const now = takeAll(pacer, second * SECOND);
          for (const index of now) expect(pacer.intendedNs(index)).toBeLessThanOrEqual(second * SECOND);
          taken.push(...now);
          const next = taken.length;
          if (next < 200) expect(pacer.intendedNs(next)).toBeGreaterThan(second * SECOND);
        }
        expect(taken).toEqual(taken.map((_, index) => index));
      }),
    );
  });

  test.each([0, -1, Number.NaN])('refuses a rate of %d a second', (perSecond) => {
    expect(() => new Pacer({ perSecond, total: 1, startNs: 0 })).toThrow(RangeError);
  });
});
