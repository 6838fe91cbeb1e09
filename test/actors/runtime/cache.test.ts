// Goal: a cache answers with no value that was read before the last change of its key.
import { describe, expect, it } from 'vitest';
import { createCache } from '../../../actors/runtime/cache.ts';

/** A cache of rows that the test changes, and the keys that were read. */
function arrange() {
  const rows = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  const reads: string[] = [];
  const load = async (key: string) => {
    reads.push(key);
    return rows.get(key) ?? null;
  };
  return { rows, reads, cache: createCache(load, { kept_max: 10, reads_max: 10 }) };
}

describe('a cache', () => {
  it('reads a key again after it was forgotten, and no other key', async () => {
    const { rows, reads, cache } = arrange();
    const both = () => Promise.all(['a', 'b'].map(cache.lookUp));
    expect([await both(), await both(), reads.splice(0)]).toEqual([
      [1, 1],
      [1, 1],
      ['a', 'b'],
    ]);
    rows.set('a', 2);
    cache.forget('a');
    expect([cache.peek('a'), cache.peek('b'), cache.usage.count]).toEqual([undefined, 1, 1]);
    expect([await both(), reads]).toEqual([[2, 1], ['a']]);
  });

  it('answers with the new value when a key changes while it is read', async () => {
    const { rows, cache } = arrange();
    const looking = cache.lookUp('a');
    rows.set('a', 2);
    cache.forget('a');
    expect(await looking).toBe(2);
  });
});
