// Goal: an id has one spelling, so that no second actor, bucket or memo can be made for the same thing.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareIds, isSnowflake, snowflakeAt, snowflakeMs } from '../../protocol/ids.ts';

const MAX = (1n << 63n) - 1n;

describe('an id', () => {
  it('is the one decimal text of a number the database holds', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX }), fc.integer({ min: 1, max: 3 }), (number, zeros) => {
        expect(isSnowflake(String(number))).toBe(true);
        expect(isSnowflake('0'.repeat(zeros) + number)).toBe(false);
      }),
    );
  });

  it('is nothing else', () => {
    for (const text of ['', '00', '01', '+1', '-1', '1.0', '1e3', ' 1', '1\n', '٣', '0x1', String(MAX + 1n)])
      expect(isSnowflake(text), text).toBe(false);
    for (const value of [1, 1n, null, undefined, ['1'], { toString: () => '1' }])
      expect(isSnowflake(value)).toBe(false);
  });

  it('contains its time, and sorts by it', () => {
    const id = snowflakeAt(1_700_000_000_123);
    expect(snowflakeMs(id)).toBe(1_700_000_000_123);
    expect(compareIds(snowflakeAt(1_700_000_000_122), id)).toBeLessThan(0);
    expect(compareIds('9', '10')).toBeLessThan(0);
  });
});
