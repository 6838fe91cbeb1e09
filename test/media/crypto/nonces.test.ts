// Goal: no nonce is used twice under one key, in either direction, and none is accepted twice.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isServerNonce,
  NONCE_WINDOW,
  NonceWindow,
  SERVER_NONCES,
  serverNonce,
} from '../../../media/crypto/nonces.ts';

const littleEndian = (value: number): number => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.readUInt32BE();
};

describe('nonces of the server', () => {
  test('are all different', () => {
    const count = fc.integer({ min: 0, max: SERVER_NONCES - 1 });
    fc.assert(
      fc.property(count, count, (a, b) => {
        expect(isServerNonce(serverNonce(a))).toBe(true);
        expect(serverNonce(a) === serverNonce(b)).toBe(a === b);
      }),
    );
    const first = new Set(Array.from({ length: 70_000 }, (_, index) => serverNonce(index)));
    expect(first.size).toBe(70_000);
  });

  test('are not reached by a client before its 2^31st packet, in either byte order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (count) => {
        expect(isServerNonce(count)).toBe(false);
        expect(isServerNonce(littleEndian(count))).toBe(false);
      }),
    );
  });

  test('are never accepted from a client', () => {
    expect(new NonceWindow().fresh(serverNonce(0))).toBe(false);
  });
});

describe('the nonce window', () => {
  /** Feeds counters to a window and returns the accepted ones. */
  const accepted = (counters: readonly number[], encode = (counter: number) => counter): number[] => {
    const window = new NonceWindow();
    return counters.filter((counter) => {
      const fresh = window.fresh(encode(counter));
      if (fresh) window.accept(encode(counter));
      return fresh;
    });
  };

  test.each([
    ['big-endian', (counter: number) => counter],
    ['little-endian', littleEndian],
  ])('accepts each recent nonce exactly once (%s)', (_, encode) => {
    const steps = fc.array(fc.oneof(fc.integer({ min: -1200, max: 1200 }), fc.constantFrom(0, 1, -1, 1, 1)), {
      minLength: 3,
      maxLength: 300,
    });
    fc.assert(
      fc.property(fc.integer({ min: 5000, max: 2 ** 24 }), steps, (start, moves) => {
        // The window learns the byte order from the first two packets, which every client sends in order.
        const counters = [start, start + 1];
        for (const move of moves) counters.push(Math.max(0, counters.at(-1)! + move));
        const seen = new Set<number>();
        let highest = 0;
        const expected = counters.filter((counter) => {
          const fresh = !seen.has(counter) && highest - counter < NONCE_WINDOW;
          if (fresh) seen.add(counter);
          highest = Math.max(highest, counter);
          return fresh;
        });
        expect(accepted(counters, encode)).toEqual(expected);
      }),
    );
  });

  test('accepts 200,000 successive nonces of a little-endian client', () => {
    const counters = Array.from({ length: 200_000 }, (_, index) => index + 1);
    expect(accepted(counters, littleEndian)).toHaveLength(counters.length);
  });

  test('accepts a jump over half the number range as fast as a step', () => {
    const far = 2 ** 31 - 1;
    expect(accepted([1, 2, far, 2, 3, far - NONCE_WINDOW, far - 1, far])).toEqual([1, 2, far, far - 1]);
    const window = new NonceWindow();
    // Advancing one number at a time would exceed the time-out of the test.
    for (let jump = 1; jump < 128; jump += 1) expect(window.accept(jump * 2 ** 25 - 1)).toBe(true);
  });

  test('reports whether a nonce is newer than all earlier ones', () => {
    const window = new NonceWindow();
    expect([5, 7, 6, 8].map((nonce) => window.accept(nonce))).toEqual([true, true, false, true]);
  });

  test('resumes from a position and rejects nonces up to it', () => {
    const window = new NonceWindow();
    window.resume(5000, false);
    for (const old of [0, 4000, 4999, 5000]) expect(window.fresh(old)).toBe(false);
    expect(window.fresh(5001)).toBe(true);
    expect(window.accept(5003)).toBe(true);
    expect(window.fresh(5002)).toBe(true);
    expect(window.fresh(5003)).toBe(false);
    expect(window.position).toEqual({ highest: 5003, littleEndian: false });
  });
});
