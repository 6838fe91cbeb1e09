// Goal: growth of memory is the trend of a run after its first fifth, whatever single samples do.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { growthOf, type Sample } from '../../bench/voice/growth.ts';

const run = (rssMibAt: (seconds: number) => number): Sample[] =>
  Array.from({ length: 60 }, (_, at) => ({ seconds: at * 10, rssMib: rssMibAt(at * 10), heapMib: 1 }));
const rss = ({ rssMib }: Sample): number => rssMib;

test('memory that rises only in the first fifth of a run does not grow', () => {
  expect(
    growthOf(
      run((seconds) => Math.min(100, seconds)),
      rss,
    ),
  ).toBeCloseTo(0, 6);
});

test('a steady rise grows by what it rises after the first fifth', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 10, noNaN: true }), (perSecond) => {
      expect(
        growthOf(
          run((seconds) => 50 + perSecond * seconds),
          rss,
        ),
      ).toBeCloseTo(perSecond * 470, 3);
    }),
  );
});

test('one sample taken before a collection is no growth', () => {
  expect(
    growthOf(
      run((seconds) => (seconds === 590 ? 104 : 100)),
      rss,
    ),
  ).toBeLessThan(1);
});
