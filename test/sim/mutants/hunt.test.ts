// Goal: a mutant survives only when every seed was run with it and passed, however the thread that runs it ends.
import { describe, expect, it } from 'vitest';
import { seedsThere, ThreadEnded } from '../pool.ts';
import { hunt } from './hunt.ts';

/** A program in place of the simulation; it has `seeds`, `pass(seed)` and `fail(seed)`. Without the mutant `otherwise` runs. */
const program = (source: string, otherwise = 'seeds.forEach(pass);'): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort, workerData } from 'node:worker_threads';
      const { seeds, planted } = workerData;
      const pass = (seed) => parentPort.postMessage({ seed, violations: [] });
      const fail = (seed) => parentPort.postMessage({ seed, violations: [{ rule: 'order', what: '', atMs: 0 }] });
      if (planted === 'm') { ${source} } else { ${otherwise} }
    `)}`,
  );

const huntOn = (source: string, silentMsMax?: number) => hunt(program(source), 'm', [4, 5, 6], silentMsMax);

describe('a mutant', () => {
  it('survives when every seed passes', async () => {
    expect(await huntOn('seeds.forEach(pass);')).toEqual({ kind: 'survived', seeds: 3 });
  });

  it('is killed by the rule that its first failing seed breaks', async () => {
    const killed = { kind: 'killed', rule: 'order', seed: 5, seeds: 2 };
    expect(await huntOn('pass(4); fail(5);')).toEqual(killed);
    expect(await huntOn("pass(4); fail(5); throw new Error('broken');")).toEqual(killed);
  });

  it.each([
    ['ends early', 'pass(4);'],
    ['ends early', 'pass(4); process.exit(0);'],
    ['ends early', 'pass(4); await new Promise(() => {});'],
    ['does not run', "pass(4); setImmediate(() => { throw new Error('broken'); });"],
  ])('is killed when its thread %s: %s', async (rule, source) => {
    expect(await huntOn(source)).toEqual({ kind: 'killed', rule, seed: 5, seeds: 1 });
  });

  it('is killed when a seed does not end', async () => {
    const killed = { kind: 'killed', rule: 'does not end', seed: 4, seeds: 0 };
    expect(await huntOn('for (;;);', 10)).toEqual(killed);
    expect(await huntOn('setInterval(() => undefined, 1_000);', 10)).toEqual(killed);
  });

  it('is not judged on a machine on which the seed does not run without it', async () => {
    const broken = program("throw new Error('broken');", "throw new Error('broken');");
    await expect(hunt(broken, 'm', [4])).rejects.toThrow(ThreadEnded);
  });

  it('is unreached when no seed runs its expression', async () => {
    expect(await hunt(program('fail(1);'), 'm', [])).toEqual({ kind: 'unreached' });
  });
});

describe('a run of seeds', () => {
  it('fails when its thread ends before the last seed', async () => {
    const run = seedsThere(program('', 'pass(4);'), { seeds: [4, 5], planted: '' }, () => undefined);
    await expect(run).rejects.toThrow(ThreadEnded);
  });
});
