// Goal: every opcode that a client sends is served, ignored or refused as the platform does it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { opcodeOf } from '../../../transports/gateway/opcodes/index.ts';

const SERVED = [1, 2, 3, 4, 6, 8, 31, 43];
const SERVED_TO_USERS = [14, 17, 18, 19, 20, 21, 22, 37, 42];
const IGNORED = [5, 13, 15, 16, 28, 29, 30, 32, 33, 34, 35, 36, 38, 39, 40, 41];
const kindOf = (op: unknown, ofUser: boolean): string => {
  const found = opcodeOf(op, ofUser);
  return typeof found === 'string' ? found : 'served';
};
const expected = (op: unknown, ofUser: boolean): string => {
  const isOne = (ops: readonly number[]) => ops.some((known) => Object.is(known, op));
  if (isOne(SERVED) || (ofUser && isOne(SERVED_TO_USERS))) return 'served';
  return ofUser && isOne(IGNORED) ? 'ignored' : 'unknown';
};

describe('an opcode', () => {
  test('is served to bots and people as the tables say, from 0 to 255', () => {
    for (let op = 0; op < 256; op += 1)
      for (const ofUser of [true, false])
        expect([op, ofUser, kindOf(op, ofUser)]).toEqual([op, ofUser, expected(op, ofUser)]);
  });

  test('is unknown when it is anything but a number of the tables', () => {
    fc.assert(
      fc.property(fc.anything(), fc.boolean(), (op, ofUser) => {
        expect(kindOf(op, ofUser)).toBe(expected(op, ofUser));
      }),
    );
  });
});
