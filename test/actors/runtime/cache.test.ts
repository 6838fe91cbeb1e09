// Goal: a cache answers with no value that was read before the last change of its key.
import { describe, expect, it } from 'vitest';
import { type CacheBounds, createCache } from '../../../actors/runtime/cache.ts';

/** A cache of rows that the test changes, and the keys that were read. */
function arrange(bounds: Partial<CacheBounds> = {}) {
  const rows = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  const reads: string[] = [];
  const load = async (key: string) => {
    reads.push(key);
    return rows.get(key) ?? null;
  };
  return { rows, reads, cache: createCache(load, { kept_max: 10, reads_max: 10, ...bounds }) };
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

  it('evicts the key that was used least recently, and reads it again', async () => {
    const { rows, cache } = arrange({ kept_max: 2 });
    for (const key of ['a', 'b']) await cache.lookUp(key);
    cache.peek('a');
    await cache.lookUp('c');
    expect(['a', 'b', 'c'].map(cache.peek)).toEqual([1, undefined, null]);
    rows.set('b', 2);
    expect(await cache.lookUp('b')).toBe(2);
  });

  it('forgets all keys that match, cached or being read, and no other', async () => {
    const { rows, reads, cache } = arrange();
    await cache.lookUp('b');
    const looking = cache.lookUp('a');
    for (const key of ['a', 'b']) rows.set(key, 2);
    cache.forgetAll((key) => key === 'a');
    expect([await looking, await cache.lookUp('b'), reads]).toEqual([2, 1, ['b', 'a', 'a']]);
    cache.forgetAll((key) => key === 'b');
    expect([cache.peek('a'), await cache.lookUp('b')]).toEqual([2, 2]);
  });

  it('allows only so many reads at a time, and does not count those that have ended', async () => {
    const { cache } = arrange({ reads_max: 1 });
    const [first, second] = ['a', 'b'].map(cache.lookUp);
    await expect(second).rejects.toThrow('Too many look-ups');
    expect([await first, await cache.lookUp('b')]).toEqual([1, 1]);
  });

  it('asks the caller to try again after eight reads in a row that changes overtook', async () => {
    let reads = 0;
    const load = async (key: string): Promise<number> => {
      reads += 1;
      await Promise.resolve();
      cache.forget(key);
      return reads;
    };
    const cache = createCache(load, { kept_max: 10, reads_max: 10 });
    await expect(cache.lookUp('a')).rejects.toThrow('Value changed during 8 reads in a row');
    expect(reads).toBe(8);
  });
});
