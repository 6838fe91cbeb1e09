// Goal: a message is recognised in every dispatch that carries it, and losses, duplicates and reordering are counted
// apart.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openCorpus } from '../../bench/fanout/corpus.ts';
import { percentileOf, ratiosOf, spreadOf, verdictOf } from '../../bench/fanout/spread.ts';
import { lostOf, mergeTimelines } from '../../bench/gateway/bench.ts';
import { findStamp, markOf, stampOf } from '../../bench/gateway/stamp.ts';
import { dissenters, Tally } from '../../bench/gateway/tally.ts';

const RUN = 'a1b2c3d4';
const MARK = Buffer.from(markOf(RUN));

describe('a stamp', () => {
  test('is found in any payload that carries it', () => {
    const number = fc.nat({ max: 2 ** 50 });
    fc.assert(
      fc.property(number, number, fc.string(), fc.string(), (index, intendedMicros, before, after) => {
        const content = `${stampOf(RUN, index, intendedMicros)}${after}`;
        const payload = Buffer.from(JSON.stringify({ op: 0, d: { nonce: before, content } }));
        expect(findStamp(payload, MARK)).toEqual({ index, intendedMicros });
      }),
    );
  });

  test.each([
    'nothing',
    `${markOf(RUN)}`,
    `${markOf(RUN)}12`,
    `${markOf(RUN)}12 `,
    `${markOf(RUN)}x 5 `,
    `${markOf(RUN)}-1 5 `,
    stampOf('another1', 1, 2),
  ])('is not found in "%s"', (text) => {
    expect(findStamp(Buffer.from(text), MARK)).toBeNull();
  });
});

describe('a tally', () => {
  const tallyOf = (...indices: number[]): Tally => {
    const tally = new Tally(20);
    for (const index of indices) tally.see(index);
    return tally;
  };

  test('counts what comes twice and ignores what is not of the run', () => {
    const tally = new Tally(20);
    expect([3, 3, 19, 20, -1].map((index) => tally.see(index))).toEqual([true, false, true, false, false]);
    expect(tally.duplicated).toBe(1);
    expect([2, 3, 19].map((index) => tally.has(index))).toEqual([false, true, true]);
  });

  test('distinguishes one order from another', () => {
    const orders = [tallyOf(0, 1, 2), tallyOf(0, 1, 2), tallyOf(0, 2, 1), tallyOf(0, 1, 2, 2)].map(
      (each) => each.order,
    );
    expect(dissenters(orders)).toBe(1);
    expect(dissenters([])).toBe(0);
  });
});

describe('losses', () => {
  test('are of confirmed messages only, over all connections', () => {
    const confirmed = Uint8Array.of(1, 1, 0, 1);
    const results = [{ seen: Uint32Array.of(2, 1, 0, 2) }, { seen: Uint32Array.of(1, 1, 1, 0) }];
    expect(lostOf(confirmed, results, 3)).toBe(0 + 1 + 1);
  });

  test('add up over timelines of different lengths', () => {
    expect(mergeTimelines([[1, 2], [10], [100, 0, 5]])).toEqual([111, 2, 5]);
    expect(mergeTimelines([])).toEqual([]);
  });
});

describe('rounds', () => {
  test('have a middle and ends', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  });

  test('are compared one by one', () => {
    expect(ratiosOf([1, 20, 3], [2, 10, 6])).toEqual({ median: 0.5, min: 0.5, max: 2 });
  });

  test('miss a target only with their whole spread', () => {
    const spread = { median: 1, min: 0.9, max: 1.2 };
    expect([1.1, 0.95, 0.8].map((target) => verdictOf(spread, target))).toEqual([
      'met',
      'within the spread',
      'missed',
    ]);
  });

  test('have percentiles by the nearest rank', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([50, 99, 100].map((each) => percentileOf(samples, each))).toEqual([50, 99, 100]);
  });
});

describe('the corpus', () => {
  const messageOf = openCorpus();

  test('is the same each time, with ids that ascend', () => {
    expect(messageOf(7)).toEqual(openCorpus()(7));
    const ids = Array.from({ length: 50 }, (_, index) => BigInt(messageOf(index).id as string));
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] as bigint))).toBe(true);
  });

  test('has messages of about 900 bytes that differ', () => {
    const sizes = Array.from({ length: 200 }, (_, index) => JSON.stringify(messageOf(index)).length);
    const mean = sizes.reduce((sum, each) => sum + each, 0) / sizes.length;
    expect(mean).toBeGreaterThan(850);
    expect(mean).toBeLessThan(1000);
    expect(new Set(Array.from({ length: 200 }, (_, index) => messageOf(index).content)).size).toBe(200);
  });
});
