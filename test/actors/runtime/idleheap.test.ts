// Goal: an idle process gives a fragmented heap back to the system, and a busy one never stands still for it.
import { describe, expect, it } from 'vitest';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { type Heap, keepHeapCompact, processHeap } from '../../../actors/runtime/idleheap.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { present } from '../../../protocol/present.ts';

const MIB = 2 ** 20;

function arrange(use: { occupiedBytes: number; usedBytes: number }, utilization = 0.01, isEnabled = true) {
  const clock = new VirtualClock();
  const state = { use, utilization, compacted: [] as number[] };
  const heap: Heap = {
    use: () => state.use,
    utilization: () => state.utilization,
    compact: () => {
      state.use = { ...state.use, occupiedBytes: state.use.usedBytes };
    },
  };
  keepHeapCompact({
    ...{ isEnabled, scope: new Lifetime(clock), heap },
    onCompacted: ({ beforeBytes }) => state.compacted.push(beforeBytes / MIB),
    onFault: (error) => expect.fail(String(error)),
  });
  const later = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { later, state };
}

const of = (occupiedMib: number, usedMib: number) => ({
  occupiedBytes: occupiedMib * MIB,
  usedBytes: usedMib * MIB,
});

describe('the heap of a process', () => {
  it('is compacted when the process is idle and a quarter of it, at least 16 MiB, is free', async () => {
    const { later, state } = arrange(of(100, 60));
    await later(9_999);
    expect(state.compacted).toEqual([]);
    await later(1);
    expect(state.compacted).toEqual([100]);
  });

  it.each([
    ['the event loop is busy', of(100, 60), 0.11],
    ['less than 16 MiB are free', of(40, 25), 0.01],
    ['less than a quarter is free', of(100, 76), 0.01],
    ['the setting is off', of(100, 60), 0.01, false],
  ])('is left alone while %s', async (_why, use, utilization, isEnabled = true) => {
    const { later, state } = arrange(use, utilization, isEnabled);
    for (let looks = 0; looks < 10; looks += 1) await later(10_000);
    expect(state.compacted).toEqual([]);
  });

  it('is compacted at most once in a minute', async () => {
    const { later, state } = arrange(of(100, 60));
    await later(10_000);
    state.use = of(200, 60);
    await later(59_999);
    expect(state.compacted).toEqual([100]);
    await later(1);
    expect(state.compacted).toEqual([100, 200]);
  });
});

describe('the utilization of the event loop', () => {
  it('covers the time since the last reading', () => {
    const readings = [0.9, 0.2, 0.7].map((utilization) => ({ idle: 0, active: 0, utilization }));
    const asked: unknown[] = [];
    const heap = processHeap((since) => {
      if (since === undefined) return present(readings.shift());
      asked.push(since.utilization);
      return { ...since, utilization: since.utilization / 2 };
    });
    expect([heap.utilization(), heap.utilization()]).toEqual([0.45, 0.1]);
    expect(asked).toEqual([0.9, 0.2]);
  });
});

describe('a compaction', () => {
  it('frees the pages of objects that are gone, and leaves the others as they were', async () => {
    const heap = processHeap();
    let kept: { readonly at: number }[] = Array.from({ length: 400_000 }, (_, at) => ({
      at,
      text: `no ${at}`,
    }));
    heap.compact();
    const full = heap.use().occupiedBytes;
    kept = kept.filter(({ at }) => at % 3 === 0);
    // Objects that the stack still names are kept by a collection within this task.
    await new Promise((resolve) => setImmediate(resolve));
    heap.compact();
    const { occupiedBytes } = heap.use();
    expect(full - occupiedBytes).toBeGreaterThan(8 * MIB);
    expect(kept.length).toBe(133_334);
    expect(kept.every(({ at }, index) => at === index * 3)).toBe(true);
  });
});
