// Goal: a window is bounded, yet never drops a row that a commit under way depends on, or one that is pinned.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { oldestFirst, PinningWindow, Window, Windows } from '../../../actors/runtime/cache.ts';
import { snowflakeSource } from '../../../actors/runtime/snowflakes.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { compareIds } from '../../../protocol/ids.ts';

describe('Window', () => {
  it('drops the oldest settled entries and keeps the rest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ key: fc.nat(40), commit: fc.integer({ min: 1, max: 9 }) }), { maxLength: 120 }),
        fc.nat(9),
        fc.nat(10),
        (sets, settled, max) => {
          const window = new Window<number, number>();
          const stamps = new Map<number, number>();
          for (const { key, commit } of sets) {
            window.nextCommit = commit;
            window.set(key, commit);
            stamps.set(key, commit);
          }
          const pinned = (key: number) => key % 7 === 0;
          const pinnedCount = [...window.keys()].filter(pinned).length;
          window.trim(max, settled, pinnedCount, pinned);
          const evictable = [...stamps].filter(([key, stamp]) => stamp <= settled && !pinned(key));
          for (const [key, stamp] of stamps)
            if (stamp > settled || pinned(key)) expect(window.get(key)).toBe(stamp);
          const kept = [...window.keys()].filter((key) => !pinned(key)).length;
          const mustStay = stamps.size - pinnedCount - evictable.length;
          expect(kept).toBe(Math.max(mustStay, Math.min(max, stamps.size - pinnedCount)));
        },
      ),
    );
  });
});

describe('a window in which the value decides whether a row is pinned', () => {
  const isPinned = (value: number) => value % 2 === 0;

  it('keeps all pinned rows and the newest others, after any steps', () => {
    const step = fc.record({
      key: fc.nat(20),
      value: fc.nat(9),
      kind: fc.constantFrom('set', 'delete', 'trim', 'clear'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.nat(5), (steps, max) => {
        const window = new PinningWindow<number, number>(isPinned);
        const model = new Map<number, number>();
        const unpinned = () => [...model].filter(([, value]) => !isPinned(value));
        for (const { key, value, kind } of steps) {
          if (kind === 'set') {
            window.set(key, value);
            model.set(key, value);
          } else if (kind === 'delete') expect(window.delete(key)).toBe(model.delete(key));
          else if (kind === 'clear') {
            window.clear();
            model.clear();
          } else {
            window.trimUnpinned(max, 0);
            for (const [gone] of unpinned()) if (!window.has(gone)) model.delete(gone);
            expect(unpinned().length).toBeLessThanOrEqual(max);
          }
          expect(new Map(window)).toEqual(model);
        }
      }),
    );
  });
});

describe('windows that are read', () => {
  it('keep what was written since the oldest read in progress began, and what was not settled then', async () => {
    const windows = new Windows();
    const window = new Window<string, number>();
    windows.add(window, oldestFirst(0));
    const reads: (() => void)[] = [];
    const read = (key: string) => {
      const fetch = () => new Promise<void>((resolve) => reads.push(resolve));
      return windows.read([{ kind: 'row', keys: [key], fetch }]);
    };
    const written = (key: string, commit: number) => {
      windows.number(commit);
      window.set(key, commit);
      windows.number(0);
    };
    for (const [key, commit] of [
      ['a', 1],
      ['b', 2],
    ] as const)
      written(key, commit);
    windows.trim(1);
    expect([...window.keys()]).toEqual(['b']);
    const first = read('x');
    written('c', 3);
    windows.trim(3);
    const second = read('y');
    written('d', 4);
    window.set('read', 0);
    windows.trim(4);
    expect([...window.keys()].sort()).toEqual(['b', 'c', 'd']);
    reads[0]?.();
    await first;
    windows.trim(4);
    expect([...window.keys()]).toEqual(['d']);
    reads[1]?.();
    await second;
    windows.trim(4);
    expect(window.size).toBe(0);
  });

  it('drop what was written when a read has failed', async () => {
    const windows = new Windows();
    const window = new Window<string, number>();
    windows.add(window, oldestFirst(0));
    const fetch = () => Promise.reject(new Error('lost'));
    await expect(windows.read([{ kind: 'row', keys: ['x'], fetch }])).rejects.toThrow('lost');
    windows.number(1);
    window.set('a', 1);
    windows.trim(1);
    expect(window.size).toBe(0);
  });
});

describe('trimInOrder', () => {
  it('drops the oldest entries, and none younger than an entry whose commit is in progress', () => {
    const window = new Window<string, number>();
    for (const [key, commit] of [
      ['a', 1],
      ['b', 2],
      ['c', 0],
      ['d', 3],
    ] as const) {
      window.nextCommit = commit;
      window.set(key, commit);
    }
    window.trimInOrder(1, 1);
    expect([...window.keys()].sort()).toEqual(['b', 'c', 'd']);
    window.trimInOrder(2, 2);
    expect([...window.keys()]).toEqual(['c', 'd']);
    window.trimInOrder(0, 3);
    expect(window.size).toBe(0);
  });
});

describe('snowflakeSource', () => {
  it('ascends strictly, through bursts and when the clock is set back', () => {
    let nowMs = 1_700_000_000_000;
    const clock = Object.assign(new VirtualClock(), { now: () => nowMs });
    const next = snowflakeSource(clock, { number: 5 });
    let last = next();
    for (let count = 0; count < 20_000; count += 1) {
      if (count === 10_000) nowMs -= 60_000;
      const id = next();
      expect(compareIds(last, id)).toBeLessThan(0);
      last = id;
    }
  });
});
