// Goal: loss and jitter are what RFC 3550 defines, across wraps, reordering and senders that restart.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reception, sequenceDelta } from '../../../media/rtp/sequence.ts';

test('distances between sequence numbers take the shorter direction', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 65_535 }),
      fc.integer({ min: -32_768, max: 32_767 }),
      (from, delta) => {
        expect(sequenceDelta(from, (from + delta) & 0xffff)).toBe(delta);
      },
    ),
  );
});

describe('reception', () => {
  test('expects all packets between the first and the highest, over any number of wraps', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 65_535 }),
        fc.array(fc.integer({ min: 1, max: 2000 }), { maxLength: 300 }),
        (first, steps) => {
          const reception = new Reception(48_000);
          let at = first;
          reception.received(at & 0xffff, 0, 0);
          for (const step of steps) {
            at += step;
            reception.received(at & 0xffff, 0, 0);
          }
          expect(reception.expected).toBe(at - first + 1);
          expect(reception.count).toBe(steps.length + 1);
        },
      ),
    );
  });

  test('counts late packets once and goes on after a jump', () => {
    const reception = new Reception(48_000);
    for (const sequence of [10, 11, 13, 12, 40_000, 40_002]) reception.received(sequence, 0, 0);
    expect(reception.expected).toBe(4 + 3);
    expect(reception.count).toBe(6);
  });

  test('has no jitter for evenly received packets, and the mean difference for uneven ones', () => {
    const even = new Reception(48_000);
    const uneven = new Reception(48_000);
    // The timestamp wraps on the way.
    for (let index = 0; index < 500; index += 1) {
      const timestamp = (0xffff_ff00 + index * 960) >>> 0;
      even.received(index, timestamp, 1e9 + index * 20);
      uneven.received(index, timestamp, 1e9 + index * 20 + (index % 2) * 5);
    }
    expect(even.jitterMs).toBe(0);
    expect(uneven.jitterMs).toBeCloseTo(5, 2);
  });
});
