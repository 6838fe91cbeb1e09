// Goal: concurrent callers share a read, each receives an answer, and no answer is older than its question.
import { describe, expect, it } from 'vitest';
import { batchReads } from '../../../actors/runtime/cache.ts';

function arrange() {
  const reads: { readonly keys: readonly string[]; answer(): void; fail(): void }[] = [];
  let version = 0;
  const ask = batchReads<string>((keys) => {
    version += 1;
    const mine = version;
    return new Promise((resolve, reject) => {
      reads.push({
        keys,
        answer: () =>
          resolve(new Map(keys.filter((key) => key !== 'none').map((key) => [key, `${key}${mine}`]))),
        fail: () => reject(new Error('disk')),
      });
    });
  });
  const turn = async (): Promise<void> => {
    for (let count = 0; count < 10; count += 1) await Promise.resolve();
  };
  return { reads, ask, turn };
}

describe('reads by key', () => {
  it('are sent as one batch when they are requested in one turn', async () => {
    const { reads, ask, turn } = arrange();
    const answers = Promise.all([ask('a'), ask('b'), ask('a'), ask('none')]);
    await turn();
    expect(reads.map(({ keys }) => keys)).toEqual([['a', 'b', 'none']]);
    reads[0]?.answer();
    expect(await answers).toEqual(['a1', 'b1', 'a1', undefined]);
  });

  it('wait for the next read when one is under way, also for the same key', async () => {
    const { reads, ask, turn } = arrange();
    const first = ask('a');
    await turn();
    const second = ask('a');
    await turn();
    expect(reads).toHaveLength(1);
    reads[0]?.answer();
    expect(await first).toBe('a1');
    await turn();
    reads[1]?.answer();
    expect(await second).toBe('a2');
  });

  it('take 500 keys at a time', async () => {
    const { reads, ask, turn } = arrange();
    const answers = Promise.all(Array.from({ length: 501 }, (_, index) => ask(`k${index}`)));
    await turn();
    expect(reads[0]?.keys).toHaveLength(500);
    reads[0]?.answer();
    await turn();
    reads[1]?.answer();
    expect((await answers)[500]).toBe('k5002');
  });

  it('fail together, and the next ones do not', async () => {
    const { reads, ask, turn } = arrange();
    const lost = [ask('a'), ask('b')];
    await turn();
    reads[0]?.fail();
    for (const each of lost) await expect(each).rejects.toThrow('disk');
    const next = ask('a');
    await turn();
    reads[1]?.answer();
    expect(await next).toBe('a2');
  });
});
