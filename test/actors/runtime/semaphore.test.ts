// Goal: a semaphore runs at most its number of jobs at once, and the waiting ones in their order.
import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../../actors/runtime/semaphore.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Jobs that are begun in order and end when they are told. */
function jobs(semaphore: Semaphore, count: number) {
  const begun: number[] = [];
  const ends: ((fault?: Error) => void)[] = [];
  const runs = Array.from({ length: count }, (_, index) =>
    semaphore.run(
      () =>
        new Promise<void>((resolve, reject) => {
          begun.push(index);
          ends[index] = (fault) => (fault ? reject(fault) : resolve());
        }),
    ),
  );
  return { begun, end: (index: number, fault?: Error) => ends[index]?.(fault), runs };
}

describe('a semaphore', () => {
  it('begins waiting jobs in their order, each when another has ended', async () => {
    const semaphore = new Semaphore(2);
    const { begun, end, runs } = jobs(semaphore, 4);
    expect([begun, semaphore.waiting]).toEqual([[0, 1], 2]);
    end(1);
    await turn();
    expect([begun, semaphore.waiting]).toEqual([[0, 1, 2], 1]);
    end(0);
    await turn();
    expect(begun).toEqual([0, 1, 2, 3]);
    end(2);
    end(3);
    await Promise.all(runs);
  });

  it('gives the place of a failed job to the next', async () => {
    const { begun, end, runs } = jobs(new Semaphore(1), 2);
    end(0, new Error('no'));
    await expect(runs[0]).rejects.toThrow('no');
    expect(begun).toEqual([0, 1]);
    end(1);
    await runs[1];
  });

  it('has all its places again when nothing runs or waits', async () => {
    const semaphore = new Semaphore(2);
    const first = jobs(semaphore, 3);
    for (const index of [0, 1]) first.end(index);
    await turn();
    first.end(2);
    await Promise.all(first.runs);
    const { begun, end, runs } = jobs(semaphore, 3);
    expect([begun, semaphore.waiting]).toEqual([[0, 1], 1]);
    for (const index of [0, 1]) end(index);
    await turn();
    end(2);
    await Promise.all(runs);
  });

  it('gives a place that becomes free to a waiting job, not to a new one', async () => {
    const semaphore = new Semaphore(1);
    const waiting = jobs(semaphore, 2);
    waiting.end(0);
    const late = jobs(semaphore, 1);
    await turn();
    expect([waiting.begun, late.begun]).toEqual([[0, 1], []]);
    waiting.end(1);
    await turn();
    expect(late.begun).toEqual([0]);
    late.end(0);
    await Promise.all([...waiting.runs, ...late.runs]);
  });
});
