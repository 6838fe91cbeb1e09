// Goal: packets between threads arrive whole, in order, and in bounded pieces.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Batcher, memoryOf, unpack } from '../../../media/io/batch.ts';

const packets = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.uint8Array({ maxLength: 2000 })),
  {
    maxLength: 600,
  },
);

test('unpacked packets equal the packed ones, over any number of batches', () => {
  fc.assert(
    fc.property(packets, (given) => {
      const batcher = new Batcher();
      const arrived: [number, Uint8Array][] = [];
      const flush = (): void => {
        const batch = batcher.take();
        expect(batch.count).toBeLessThanOrEqual(256);
        // As another thread receives the batch: with transferred memory.
        unpack(structuredClone(batch, { transfer: memoryOf(batch) }), (ssrc, packet) =>
          arrived.push([ssrc, Uint8Array.from(packet)]),
        );
      };
      for (const [ssrc, packet] of given) {
        if (batcher.add(ssrc, packet)) continue;
        flush();
        expect(batcher.add(ssrc, packet)).toBe(true);
      }
      flush();
      expect(arrived).toEqual(given);
      expect(batcher.isEmpty).toBe(true);
    }),
    { numRuns: 30 },
  );
});
