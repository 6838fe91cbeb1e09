// Goal: no stale write is accepted, whenever processes stop and whatever their clocks say; and the fence is what rejects it.
import { describe, expect, test } from 'vitest';
import { type SeedReport, seedsFrom, seedsHere } from '../sim/pool.ts';

/** About one in four schedules without the fence has a stale write. */
const SEEDS_MAX = 40;

async function run(seeds: readonly number[], planted: '' | 'no-fence'): Promise<SeedReport[]> {
  const reports: SeedReport[] = [];
  await seedsHere({ seeds, planted, staleWriters: true }, (report) => void reports.push(report));
  return reports;
}

const stale = (reports: readonly SeedReport[]) =>
  reports.flatMap(({ seed, violations }) =>
    violations.flatMap(({ rule, what }) => (rule === 'single owner' ? [`seed ${seed}: ${what}`] : [])),
  );

describe('processes that are paused between a decision and its commit', () => {
  test('write nothing once another process owns the partition', async () => {
    const reports = await run(seedsFrom(1, 16), '');
    expect(stale(reports)).toEqual([]);
    expect(reports.reduce((sum, { counts }) => sum + (counts.stale ?? 0), 0)).toBeGreaterThan(0);
  });

  test('write stale commits without the fence, and none in the same schedules with it', async () => {
    const broken: number[] = [];
    for (const seed of seedsFrom(1, SEEDS_MAX)) {
      if (stale(await run([seed], 'no-fence')).length > 0) broken.push(seed);
      if (broken.length === 2) break;
    }
    expect(broken).toHaveLength(2);
    expect(stale(await run(broken, ''))).toEqual([]);
  });
});
