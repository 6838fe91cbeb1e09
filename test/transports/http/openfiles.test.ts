// Goal: WebSockets never take the files that the rest of the process needs, and files are not counted for each of them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OpenFiles, openFilesCount, openFilesMax } from '../../../transports/http/openfiles.ts';

function scene(max: number, open: number) {
  const world = { open, nowMs: 0, counts: 0 };
  const files = new OpenFiles({
    max,
    count: () => {
      world.counts += 1;
      return world.open;
    },
    nowMs: () => world.nowMs,
  });
  /** Opens sockets until one is refused, at most so many. */
  const fill = (most: number): number => {
    for (let taken = 0; taken < most; taken += 1) {
      if (!files.take()) return taken;
      world.open += 1;
    }
    return most;
  };
  return { world, files, fill };
}

describe('open files', () => {
  test('are left to everything else: a quarter of a small limit, five hundred of a large one', () => {
    expect(scene(1_000, 200).fill(10_000)).toBe(550);
    expect(scene(20_000, 200).fill(30_000)).toBe(19_300);
    expect(scene(300, 260).fill(10)).toBe(0);
    expect(scene(Number.POSITIVE_INFINITY, 5).fill(1_000)).toBe(1_000);
  });

  test('are counted again at once in a burst, so that no socket is refused while there is room', () => {
    const { world, fill } = scene(20_000, 200);
    expect(fill(5_000)).toBe(5_000);
    expect(world.nowMs).toBe(0);
  });

  test('are counted again after a tenth of the free ones is taken, and at most twenty times a second while there is no room', () => {
    const { world, files, fill } = scene(20_000, 100);
    fill(1_940);
    expect(world.counts).toBe(1);
    fill(1_000);
    expect(world.counts).toBe(2);
    world.open = 19_900;
    while (files.take());
    const before = world.counts;
    for (let again = 0; again < 1_000; again += 1) expect(files.take()).toBe(false);
    expect(world.counts).toBe(before);
    world.open = 100;
    world.nowMs += 50;
    expect(files.take()).toBe(true);
    expect(world.counts).toBe(before + 1);
  });

  test('never exceed the limit, whatever sockets and other files come and go', () => {
    const step = fc.record({ sockets: fc.nat(300), others: fc.integer({ min: -50, max: 50 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { world, files } = scene(2_000, 100);
        for (const { sockets, others } of steps) {
          world.open = Math.max(100, Math.min(1_500, world.open + others));
          for (let count = 0; count < sockets; count += 1) if (files.take()) world.open += 1;
          world.nowMs += 50;
          expect(world.open).toBeLessThanOrEqual(1_650);
        }
      }),
    );
  });

  test('are fewer in this process than its limit', () => {
    expect(openFilesCount()).toBeLessThan(openFilesMax());
  });
});
