// Goal: a transition waits for every member who answered the last one, and not again for a member who missed it.
import { expect, test } from 'vitest';
import { Transitions } from '../../../media/dave/transitions.ts';

const ALL = ['1', '2', '3'];

test('a transition ends when its last member is ready or has left', () => {
  const transitions = new Transitions(7);
  const id = transitions.begin(ALL, 100);
  expect(id).toBe(8);
  expect(transitions.ready('1', id)).toEqual([]);
  expect(transitions.ready('2', id)).toEqual([]);
  expect(transitions.forget('3')).toEqual([{ id, members: ALL, result: 'ready' }]);
  expect(transitions.deadlineMs).toBeNull();
});

test('a member who missed a transition does not delay the next one, until it answers again', () => {
  const transitions = new Transitions(0);
  const first = transitions.begin(ALL, 100);
  transitions.ready('1', first);
  transitions.ready('2', first);
  expect(transitions.expire(99)).toEqual([]);
  expect(transitions.expire(100)).toEqual([{ id: first, members: ALL, result: 'timeout' }]);

  const second = transitions.begin(ALL, 200);
  transitions.ready('1', second);
  expect(transitions.ready('2', second)).toEqual([{ id: second, members: ALL, result: 'ready' }]);

  transitions.ready('3', second);
  const third = transitions.begin(ALL, 300);
  transitions.ready('1', third);
  expect(transitions.ready('2', third)).toEqual([]);
  expect(transitions.ready('3', third)).toEqual([{ id: third, members: ALL, result: 'ready' }]);
});

test('a transition without punctual members waits for all of them until its deadline', () => {
  const transitions = new Transitions(0);
  transitions.begin(ALL, 100);
  transitions.expire(100);
  const id = transitions.begin(ALL, 200);
  expect(transitions.expire(150)).toEqual([]);
  expect(transitions.expire(200)).toEqual([{ id, members: ALL, result: 'timeout' }]);
});

test('transition ids wrap from 65,535 to 1, because id 0 means that there is nothing to wait for', () => {
  const transitions = new Transitions(0xffff);
  expect(transitions.begin(ALL, 100)).toBe(1);
});
