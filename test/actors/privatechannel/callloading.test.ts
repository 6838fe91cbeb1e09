// Goal: channels with a call are loaded until that succeeds, those that a failed actor left and those of a lost owner, and no others.
import { describe, expect, it } from 'vitest';
import { CallLoading } from '../../../actors/privatechannel/callloading.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { ChannelId } from '../../../protocol/ids.ts';

const OURS = '1' as ChannelId;
const RESIDENT = '2' as ChannelId;
const THEIRS = '3' as ChannelId;

function arrange() {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  const owned = new Set([OURS, RESIDENT]);
  const loaded: string[] = [];
  const faults: unknown[] = [];
  const state = { isAway: false, isGone: false, isLost: false, searches: 0 };
  const lifetime = { over: false, run: <T>(job: Promise<T>) => job };
  const loading = new CallLoading({
    registry: () => ({
      peek: (id) => (id === RESIDENT ? ({} as never) : undefined),
      work: (id, { run, refuse, fault }) => {
        loaded.push(id);
        if (state.isGone) refuse({} as never, 'missing');
        else if (state.isAway) fault(new Error('The database is away.'));
        else run(undefined as never);
      },
    }),
    store: {
      withCalls: async () => {
        state.searches += 1;
        if (state.isLost) throw new Error('The database is lost.');
        return [OURS, RESIDENT, THEIRS];
      },
    },
    ...{ wheel, lifetime, owns: (id: ChannelId) => owned.has(id) },
    onFault: (error, where) => faults.push([String(error), where]),
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 10) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
  };
  return { loading, owned, loaded, faults, state, lifetime, wheel, pass };
}

describe('a channel whose actor failed in a call', () => {
  it('is loaded after half a second, and again until a load succeeds', async () => {
    const { loading, loaded, state, pass } = arrange();
    state.isAway = true;
    loading.reload(OURS);
    await pass(400);
    expect(loaded).toEqual([]);
    await pass(3_000);
    expect(loaded.length).toBeGreaterThan(3);
    expect(loading.waits(OURS)).toBe(true);
    state.isAway = false;
    await pass(1_000);
    expect(loading.waits(OURS)).toBe(false);
    const { length } = loaded;
    await pass(5_000);
    expect(loaded).toHaveLength(length);
  });

  it('is loaded once for two failures', async () => {
    const { loading, loaded, pass } = arrange();
    loading.reload(OURS);
    loading.reload(OURS);
    await pass(2_000);
    expect(loaded).toEqual([OURS]);
  });

  it('is not loaded again when it does not exist', async () => {
    const { loading, loaded, state, pass } = arrange();
    state.isGone = true;
    loading.reload(OURS);
    await pass(5_000);
    expect(loaded).toEqual([OURS]);
  });

  it('is not loaded any more when another shard owns it', async () => {
    const { loading, owned, loaded, state, pass } = arrange();
    state.isAway = true;
    loading.reload(OURS);
    await pass(1_000);
    owned.delete(OURS);
    const { length } = loaded;
    await pass(5_000);
    expect(loaded).toHaveLength(length);
    expect(loading.waits(OURS)).toBe(false);
  });

  it('is not loaded after the server has stopped', async () => {
    const { loading, loaded, wheel, pass } = arrange();
    loading.reload(OURS);
    wheel.stop();
    await pass(2_000);
    expect(loaded).toEqual([]);
  });
});

describe('a search for calls', () => {
  it('loads the channels with a call that are owned and not resident', async () => {
    const { loading, loaded, pass } = arrange();
    loading.searchLater(100);
    await pass(90);
    expect(loaded).toEqual([]);
    await pass(50);
    expect(loaded).toEqual([OURS]);
  });

  it('loads no channel that is about to be loaded again', async () => {
    const { loading, loaded, pass } = arrange();
    loading.reload(OURS);
    loading.searchLater(100);
    await pass(2_000);
    expect(loaded).toEqual([OURS]);
  });

  it('is one for requests that come together, and another for a later one', async () => {
    const { loading, state, pass } = arrange();
    loading.searchLater(100);
    await pass(50);
    loading.searchLater(100);
    await pass(60);
    expect(state.searches).toBe(1);
    loading.searchLater(100);
    await pass(150);
    expect(state.searches).toBe(2);
  });

  it('is repeated until the database answers', async () => {
    const { loading, loaded, faults, state, pass } = arrange();
    state.isLost = true;
    loading.searchLater(100);
    await pass(2_000);
    expect(state.searches).toBeGreaterThan(2);
    expect(faults[0]).toEqual(['Error: The database is lost.', 'calls']);
    state.isLost = false;
    await pass(1_000);
    expect(loaded).toEqual([OURS]);
    const { searches } = state;
    await pass(5_000);
    expect(state.searches).toBe(searches);
  });

  it('loads nothing after its end', async () => {
    const { loading, state, lifetime, pass } = arrange();
    loading.searchLater(100);
    lifetime.over = true;
    await pass(500);
    expect(state.searches).toBe(0);
  });
});
