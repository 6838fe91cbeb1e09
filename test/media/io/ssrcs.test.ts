// Goal: no two streams of any call share an SSRC, and 0, which means "none", is never one.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SsrcPool } from '../../../media/io/ssrcs.ts';

test('reserved runs never overlap, for any random numbers', () => {
  // A space of sixteen places at either end of the range makes collisions common.
  const places = fc.oneof(
    fc.integer({ min: 0, max: 15 }),
    fc.integer({ min: 2 ** 32 - 16, max: 2 ** 32 - 1 }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean()), { maxLength: 8 }),
      fc.infiniteStream(places),
      (runs, chance) => {
        const pool = new SsrcPool(() => chance.next().value as number);
        const held = new Set<number>();
        for (const [count, isReleased] of runs) {
          if (held.size > 20) break;
          const first = pool.take(count);
          for (let ssrc = first; ssrc < first + count; ssrc += 1) {
            expect(ssrc).toBeGreaterThan(0);
            expect(ssrc).toBeLessThan(2 ** 32);
            expect(held.has(ssrc)).toBe(false);
            held.add(ssrc);
          }
          if (!isReleased) continue;
          pool.release(first, count);
          for (let ssrc = first; ssrc < first + count; ssrc += 1) held.delete(ssrc);
        }
        expect(pool.size).toBe(held.size);
      },
    ),
  );
});
