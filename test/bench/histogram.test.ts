// Goal: what threads record apart is one distribution when it is put together.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Latencies } from '../../bench/wire/histogram.ts';

const recorded = (micros: readonly number[]): Latencies => {
  const latencies = new Latencies();
  for (const each of micros) latencies.record(each);
  return latencies;
};

describe('latencies', () => {
  test('are zero, not absent, when nothing was recorded', () => {
    const none = new Latencies();
    expect([none.count, none.millisAt(99), none.meanMillis, none.maxMillis]).toEqual([0, 0, 0, 0]);
  });

  test('are good to three digits', () => {
    const latencies = recorded(Array.from({ length: 1000 }, (_, index) => (index + 1) * 1000));
    expect(latencies.millisAt(50)).toBeCloseTo(500, -1);
    expect(latencies.millisAt(99)).toBeCloseTo(990, -1);
    expect(latencies.meanMillis).toBeCloseTo(500.5, 0);
  });

  test('count as the longest beyond the range, and as zero when clocks disagree', () => {
    const latencies = recorded([1e12, -5]);
    expect(latencies.count).toBe(2);
    expect(latencies.maxMillis).toBeGreaterThanOrEqual(299_000);
    expect(latencies.maxMillis).toBeLessThan(301_000);
  });

  test('merged are as if they had been recorded in one place', () => {
    const samples = fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(samples, samples, (a, b) => {
        const whole = recorded([...a, ...b]);
        const merged = new Latencies();
        for (const part of [a, b]) merged.merge(recorded(part).encode());
        expect(merged.count).toBe(whole.count);
        for (const percentile of [0, 50, 90, 99, 100])
          expect(merged.millisAt(percentile)).toBe(whole.millisAt(percentile));
      }),
      { numRuns: 30 },
    );
  });
});
