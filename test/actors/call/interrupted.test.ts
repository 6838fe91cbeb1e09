// Goal: clients stay connected while the owner of their call waits for the database.
import { expect, it } from 'vitest';
import { arrange, CALL, seatOf } from './harness.ts';

it('clients of a call whose owner was interrupted are kept for a minute, longer than those of one that moved', () => {
  const world = arrange();
  const { sink } = world.connect('1');
  world.calls.ended(CALL, 'guild', 'interrupted');
  world.clock.advance(59_000);
  expect([sink.closed, world.calls.leaving]).toEqual([null, 1]);
  world.clock.advance(2_000);
  expect([sink.closed?.code, world.calls.leaving]).toEqual([4015, 0]);
});

it('clients of a call that is interrupted again are disconnected when those of the first time are still there', () => {
  const world = arrange();
  const { sink } = world.connect('1');
  world.calls.ended(CALL, 'guild', 'interrupted');
  world.calls.voiceJoined(seatOf('1'));
  world.calls.ended(CALL, 'guild', 'interrupted');
  expect([sink.closed?.code, world.calls.leaving]).toEqual([4015, 1]);
});
