// Goal: a shard that receives partitions loads the private channels of their calls, and no others.
import { describe, expect, it } from 'vitest';
import { keepCalls } from '../../../../actors/cluster/membership/keptcalls.ts';
import type { OwnershipChange } from '../../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { ChannelId } from '../../../../protocol/ids.ts';

const FRESH_MS = 60_000;
const OURS = 0;
const THEIRS = 1;

function arrange() {
  const clock = new VirtualClock();
  const listeners: ((change: OwnershipChange) => void)[] = [];
  const asked: number[] = [];
  const loaded: string[] = [];
  const faults: unknown[] = [];
  const lifetime = { over: false, run: <T>(job: Promise<T>) => job };
  const kept = { ids: ['1', '2', '3'], fault: null as Error | null };
  const owned = new Set(['1', '2']);
  const resident = new Set(['2']);
  keepCalls({
    ownership: {
      self: { instance: 'a-run' },
      view: { owners: [{ instance: 'a-run' }, { instance: 'b-run' }, null] },
      owns: (id: string) => owned.has(id),
      onChange: (run: (change: OwnershipChange) => void) => listeners.push(run),
    } as never,
    privateChannels: {
      peek: (id: string) => (resident.has(id) ? {} : null),
      work: (id: string) => void loaded.push(id),
    } as never,
    store: {
      keptCalls: async (sinceMs) => {
        asked.push(sinceMs);
        if (kept.fault) throw kept.fault;
        return kept.ids as ChannelId[];
      },
    },
    ...{ freshMs: FRESH_MS, clock, wheel: new TimerWheel(clock), lifetime },
    onFault: (error, where) => faults.push([error, where]),
  });
  const move = (...moved: number[]) => {
    for (const run of listeners) run({ moved, gone: [], came: [] });
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { clock, asked, loaded, faults, kept, lifetime, move, pass };
}

describe('a shard that receives partitions', () => {
  it('loads the channels of fresh calls that it owns and that are not in memory', async () => {
    const { clock, asked, loaded, move, pass } = arrange();
    move(OURS);
    await pass(150);
    expect(loaded).toEqual(['1']);
    expect(asked).toHaveLength(1);
    expect(Math.abs((asked[0] ?? 0) - (clock.now() - FRESH_MS))).toBeLessThanOrEqual(150);
  });

  it('looks once for changes that come together, and again for a later one', async () => {
    const { asked, move, pass } = arrange();
    move(OURS);
    move(OURS);
    await pass(150);
    expect(asked).toHaveLength(1);
    move(OURS);
    await pass(150);
    expect(asked).toHaveLength(2);
  });

  it('looks 100 ms after the first change, however many follow', async () => {
    const { asked, move, pass } = arrange();
    move(OURS);
    await pass(99);
    move(OURS);
    expect(asked).toEqual([]);
    await pass(1);
    expect(asked).toHaveLength(1);
  });

  it('reports a failed look, and looks again at the next change', async () => {
    const { asked, faults, kept, move, pass } = arrange();
    kept.fault = new Error('gone');
    move(OURS);
    await pass(150);
    expect(faults).toEqual([[kept.fault, 'calls']]);
    move(OURS);
    await pass(150);
    expect(asked).toHaveLength(2);
  });

  it('loads nothing after its end', async () => {
    const { loaded, lifetime, move, pass } = arrange();
    move(OURS);
    lifetime.over = true;
    await pass(150);
    expect(loaded).toEqual([]);
  });
});

it('a shard does not look for calls when partitions of others move', async () => {
  const { asked, move, pass } = arrange();
  move(THEIRS, 2);
  move();
  await pass(150);
  expect(asked).toEqual([]);
});
