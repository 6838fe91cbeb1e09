// Goal: a bounded map or set loses its oldest entries until the bound is met, and no others.
import { expect, test } from 'vitest';
import { dropOldest } from '../../protocol/oldest.ts';

test('deletes the oldest entries until as many as allowed are left', () => {
  const map = new Map([1, 2, 3, 4].map((key) => [key, 'value']));
  dropOldest(map, 2);
  expect([...map.keys()]).toEqual([3, 4]);
  const set = new Set(['a', 'b']);
  dropOldest(set, 1);
  expect([...set]).toEqual(['b']);
  dropOldest(set, 0);
  expect(set.size).toBe(0);
});

test('keeps everything within the bound', () => {
  const map = new Map([[1, 'one']]);
  dropOldest(map, 1);
  dropOldest(map, 5);
  expect(map.get(1)).toBe('one');
});
