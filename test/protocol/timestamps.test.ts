// Goal: a timestamp of the wire is read to the microsecond, and written as it was read.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoMicroseconds, microsecondsOf } from '../../protocol/timestamps.ts';

test('microseconds are read from what they are written as', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000_000_000 }), (us) => {
      expect(microsecondsOf(isoMicroseconds(us))).toBe(us);
    }),
  );
});

test.each([
  ['2026-01-01T00:00:00Z', 1_767_225_600_000_000],
  ['2026-01-01T00:00:00.5Z', 1_767_225_600_500_000],
  ['2026-01-01T00:00:00.000007+00:00', 1_767_225_600_000_007],
  ['2026-01-01T01:00:00.1234+01:00', 1_767_225_600_123_400],
  ['yesterday', Number.NaN],
])('%s is read', (text, us) => {
  expect(microsecondsOf(text)).toBe(us);
});
