// Goal: a short-lived cache answers fresh values without reading, and drops failures, old values and invalidated
// ones.
import { expect, test } from 'vitest';
import { createReadCache } from '../../services/readcache.ts';

function arrange() {
  const at = { ms: 0 };
  const asked: string[] = [];
  const failing = new Set<string>();
  const cache = createReadCache(
    async (...key: readonly string[]) => {
      const name = key.join(' ');
      asked.push(name);
      if (failing.has(name)) throw new Error('The database was lost.');
      return `${name} ${asked.length}`;
    },
    () => at.ms,
    { freshMs: 1_000, keptMax: 2 },
  );
  return { at, asked, failing, cache };
}

test('a value is read once while it is fresh, and again afterwards', async () => {
  const { at, cache } = arrange();
  expect(await cache.read(['a'])).toBe('a 1');
  at.ms = 999;
  expect(await cache.read(['a'])).toBe('a 1');
  at.ms = 1_000;
  expect(await cache.read(['a'])).toBe('a 2');
});

test('peek returns a value only after it was read and while it is fresh', async () => {
  const { at, cache } = arrange();
  expect(cache.peek(['a'])).toBeUndefined();
  const read = cache.read(['a']);
  expect(cache.peek(['a'])).toBeUndefined();
  await read;
  expect(cache.peek(['a'])).toBe('a 1');
  at.ms = 1_000;
  expect(cache.peek(['a'])).toBeUndefined();
});

test('a failed read is not kept', async () => {
  const { failing, cache } = arrange();
  failing.add('a');
  await expect(cache.read(['a'])).rejects.toThrow('The database was lost.');
  failing.clear();
  expect(await cache.read(['a'])).toBe('a 2');
});

test('a value that is not good enough is read again', async () => {
  const { cache } = arrange();
  await cache.read(['a']);
  expect(await cache.read(['a'], (value) => value !== 'a 1')).toBe('a 2');
});

test('the oldest value is dropped at the bound', async () => {
  const { cache } = arrange();
  for (const key of ['a', 'b', 'c']) await cache.read([key]);
  expect(['a', 'b', 'c'].map((key) => cache.peek([key]))).toEqual([undefined, 'b 2', 'c 3']);
});

test('forget drops the values whose keys begin with the given part, and no others', async () => {
  const { cache } = arrange();
  await cache.read(['a', 'x']);
  await cache.read(['ab']);
  cache.forget('a');
  expect([cache.peek(['a', 'x']), cache.peek(['ab'])]).toEqual([undefined, 'ab 2']);
});
