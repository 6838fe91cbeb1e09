// Goal: jobs of one key run one after another, in the order in which they were added, whatever becomes of them.
import { describe, expect, it } from 'vitest';
import { eagerKeyedMutex, keyedMutex } from '../../../actors/runtime/keyedmutex.ts';

/** A job that logs its begin and its end. It ends when it is told. */
function jobs() {
  const log: string[] = [];
  const ends = new Map<string, (fault?: Error) => void>();
  const job = (name: string) => () => {
    log.push(name);
    return new Promise<string>((resolve, reject) => {
      ends.set(name, (fault) => {
        log.push(`end of ${name}`);
        if (fault) reject(fault);
        else resolve(name);
      });
    });
  };
  const end = async (name: string, fault?: Error) => {
    ends.get(name)?.(fault);
    await new Promise(setImmediate);
  };
  return { log, job, end };
}

const settled = () => new Promise(setImmediate);

describe.each([
  ['a keyed mutex', keyedMutex],
  ['an eager keyed mutex', eagerKeyedMutex],
])('%s', (_name, make) => {
  it('runs the jobs of one key in their order, and those of another beside them', async () => {
    const run = make<string>();
    const { log, job, end } = jobs();
    const all = [run('a', job('1')), run('a', job('2')), run('b', job('3'))];
    await settled();
    expect(log).toEqual(['1', '3']);
    await end('1');
    await end('2');
    await end('3');
    expect([await Promise.all(all), log]).toEqual([
      ['1', '2', '3'],
      ['1', '3', 'end of 1', '2', 'end of 2', 'end of 3'],
    ]);
  });

  it('runs the next job after one that fails, also when it throws at once', async () => {
    const run = make<string>();
    const { log, job, end } = jobs();
    const thrown = run('a', () => {
      throw new Error('at once');
    });
    await expect(thrown).rejects.toThrow('at once');
    const failed = run('a', job('1'));
    const next = run('a', job('2'));
    await settled();
    await Promise.all([end('1', new Error('later')), expect(failed).rejects.toThrow('later')]);
    await end('2');
    expect([await next, log.slice(-2)]).toEqual(['2', ['2', 'end of 2']]);
  });

  it('runs a job that another adds after it', async () => {
    const run = make<string>();
    const { log, job, end } = jobs();
    let added: Promise<string> | null = null;
    const first = run('a', () => {
      added = run('a', job('added'));
      return job('1')();
    });
    const second = run('a', job('2'));
    await settled();
    expect(log).toEqual(['1']);
    for (const name of ['1', 'added', '2']) await end(name);
    for (const name of ['1', 'added', '2']) await end(name);
    await Promise.all([first, second, added]);
    expect(log.filter((line) => !line.startsWith('end'))).toHaveLength(3);
  });
});

describe('an eager keyed mutex', () => {
  it('begins a job within the call when no other of its key runs', () => {
    const { log, job } = jobs();
    void eagerKeyedMutex<string>()('a', job('1'));
    expect(log).toEqual(['1']);
  });

  it('runs what a job adds before what others add later', async () => {
    const run = eagerKeyedMutex<string>();
    const { log, job, end } = jobs();
    void run('a', () => {
      void run('a', job('added'));
      return job('1')();
    });
    void run('a', job('2'));
    for (const name of ['1', 'added', '2']) await end(name);
    expect(log).toEqual(['1', 'end of 1', 'added', 'end of added', '2', 'end of 2']);
  });
});
