// Goal: what a failed actor keeps reaches the next actor of its aggregate under the same epoch, and nothing grows.
import { expect, it } from 'vitest';
import { KeptStates } from '../../../actors/runtime/keptstates.ts';

it('returns what was kept under the same epoch until it is dropped', () => {
  const kept = new KeptStates<string>();
  kept.keep('1', 3, 'voice');
  expect([kept.of('1', 3), kept.of('1', 3), kept.of('1', 4), kept.of('2', 3)]).toEqual([
    'voice',
    'voice',
    null,
    null,
  ]);
  kept.drop('1');
  expect(kept.of('1', 3)).toBeNull();
});

it('drops the oldest beyond 4,096 aggregates', () => {
  const kept = new KeptStates<number>();
  for (let at = 0; at <= 4_096; at += 1) kept.keep(`${at}`, 0, at);
  expect([kept.of('0', 0), kept.of('1', 0), kept.of('4096', 0)]).toEqual([null, 1, 4_096]);
});

it('keeps the state of the last actor that failed', () => {
  const kept = new KeptStates<string>();
  kept.keep('1', 3, 'first');
  kept.keep('1', 3, 'second');
  expect(kept.of('1', 3)).toBe('second');
});
