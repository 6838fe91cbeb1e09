// Goal: an id counts as moved for a while after its partition got another owner, and what is kept for that is bounded.
import { expect, it } from 'vitest';
import { RecentMoves } from '../../../actors/runtime/recentmoves.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';

it('an id counts as moved until the time is over, since its last move', () => {
  const clock = new VirtualClock();
  const moves = new RecentMoves(clock, 5_000);
  const has = () => ['a', 'b'].map((id) => moves.has(id));
  expect(has()).toEqual([false, false]);
  moves.add((id) => id === 'a');
  clock.advance(3_000);
  moves.add((id) => id === 'b');
  clock.advance(1_999);
  expect(has()).toEqual([true, true]);
  clock.advance(1);
  expect(has()).toEqual([false, true]);
  moves.add((id) => id === 'b');
  clock.advance(4_999);
  expect(has()).toEqual([false, true]);
  clock.advance(1);
  expect(has()).toEqual([false, false]);
});

it('every id counts as moved after more moves than are kept', () => {
  const clock = new VirtualClock();
  const moves = new RecentMoves(clock, 5_000);
  for (let count = 0; count < 64; count += 1) moves.add(() => false);
  expect(moves.has('a')).toBe(false);
  for (let count = 0; count < 10; count += 1) moves.add(() => false);
  expect(moves.has('a')).toBe(true);
  clock.advance(5_000);
  expect(moves.has('a')).toBe(false);
});
