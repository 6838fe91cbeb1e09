// Goal: a channel whose actor failed is loaded until that succeeds, and not by a shard that does not own it any more.
import { expect, it } from 'vitest';
import { reloading } from '../../../actors/privatechannel/reloading.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { ChannelId } from '../../../protocol/ids.ts';

function arrange() {
  const clock = new VirtualClock();
  const state = { isOwned: true, isAway: true, loads: 0 };
  const reload = reloading({
    registry: () => ({
      work: (_id, { run, fault }) => {
        state.loads += 1;
        if (state.isAway) fault(new Error('The database is gone.'));
        else run(undefined as never);
      },
    }),
    wheel: new TimerWheel(clock),
    owns: () => state.isOwned,
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      clock.advance(100);
      await new Promise(setImmediate);
    }
  };
  reload('1' as ChannelId);
  return { state, pass };
}

it('tries until the channel is loaded', async () => {
  const { state, pass } = arrange();
  expect(state.loads).toBe(0);
  await pass(3_000);
  expect(state.loads).toBeGreaterThan(3);
  state.isAway = false;
  await pass(1_000);
  state.loads = 0;
  await pass(5_000);
  expect(state.loads).toBe(0);
});

it('stops when another shard owns the channel', async () => {
  const { state, pass } = arrange();
  await pass(1_000);
  state.isOwned = false;
  await pass(1_000);
  state.loads = 0;
  await pass(5_000);
  expect(state.loads).toBe(0);
});
