// Goal: calls are searched when this shard receives partitions, and when a process starts that owns all of them.
import { expect, it } from 'vitest';
import { keepCalls, keepCallsHere } from '../../../../actors/cluster/membership/keptcalls.ts';
import type { OwnershipChange } from '../../../../actors/placement/ports.ts';

function arrange(keep: typeof keepCalls) {
  const listeners: ((change: OwnershipChange) => void)[] = [];
  const searches: number[] = [];
  keep({
    ownership: {
      self: { instance: 'a-run' },
      view: { owners: [{ instance: 'a-run' }, { instance: 'b-run' }, null] },
      onChange: (run: (change: OwnershipChange) => void) => listeners.push(run),
    } as never,
    loading: { searchLater: (delayMs) => void searches.push(delayMs) },
  });
  const move = (...moved: number[]): void => {
    for (const run of listeners) run({ moved, gone: [], came: [] });
  };
  return { searches, move };
}

it('a shard looks for calls 100 ms after it received a partition', () => {
  const { searches, move } = arrange(keepCalls);
  expect(searches).toEqual([]);
  move(1, 0);
  expect(searches).toEqual([100]);
});

it('a shard does not look for calls when partitions of others move', () => {
  const { searches, move } = arrange(keepCalls);
  move(1, 2);
  move();
  expect(searches).toEqual([]);
});

it('a process that owns everything looks for calls once, when it starts', () => {
  const { searches, move } = arrange(keepCallsHere);
  move(0);
  expect(searches).toEqual([100]);
});
