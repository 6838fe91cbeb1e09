// Goal: a cluster breaks no rule in a thousand seeds of failures; a seed that fails shows the command that repeats it.
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { bundle } from '../sim/build.ts';
import { type SeedReport, seedsFrom, seedsOn } from '../sim/pool.ts';
import type { Variant } from '../sim/run.ts';

const SEEDS = 1_000;
const PREEMPTED = 100;
const FLEETING = 100;
const OUTAGES = 100;
/** Seeds that are run once more. */
const REPEATED = 20;
const JOBS = 2;
/** Time limit on a machine that is busy with other work. */
const TIMEOUT_MS = 600_000;

let main: URL;
beforeAll(async () => {
  main = pathToFileURL(await bundle('seeds'));
}, TIMEOUT_MS);

async function reportsOf(count: number, variant: Variant = {}): Promise<SeedReport[]> {
  const reports: SeedReport[] = [];
  const run = { seeds: seedsFrom(1, count), planted: '', ...variant };
  await seedsOn(main, JOBS, run, (each) => void reports.push(each));
  return reports.sort((a, b) => a.seed - b.seed);
}

/** The commands that repeat the seeds which have failed. */
const failures = (reports: readonly SeedReport[], options = ''): string[] =>
  reports.flatMap(({ seed, violations: [first] }) =>
    first ? [`npm run sim -- --seed ${seed}${options}   # ${first.rule}: ${first.what}`] : [],
  );

it(`a cluster breaks no rule in ${SEEDS} seeds`, { timeout: TIMEOUT_MS }, async () => {
  const startedMs = performance.now();
  const reports = await reportsOf(SEEDS);
  const tookMs = performance.now() - startedMs;
  const virtualMs = reports.reduce((sum, each) => sum + each.virtualMs, 0);
  const pace = `${SEEDS} seeds in ${Math.round(tookMs / 1000)} s, ${Math.round(virtualMs / tookMs)} times real time`;
  expect(failures(reports), pace).toEqual([]);
  expect(reports).toHaveLength(SEEDS);
});

it(`a cluster breaks no rule in ${PREEMPTED} seeds of a machine that stops within turns`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const reports = await reportsOf(PREEMPTED, { preempted: true });
  expect(failures(reports, ' --preempted')).toEqual([]);
  expect(reports).toHaveLength(PREEMPTED);
});

it(`a cluster breaks no rule in ${FLEETING} seeds of owners that stay for milliseconds`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const reports = await reportsOf(FLEETING, { fleeting: true });
  expect(failures(reports, ' --fleeting')).toEqual([]);
  expect(reports).toHaveLength(FLEETING);
});

it(`a cluster breaks no rule in ${OUTAGES} seeds of a database that is lost for seconds`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const reports = await reportsOf(OUTAGES, { outages: true });
  expect(failures(reports, ' --outages')).toEqual([]);
  expect(reports).toHaveLength(OUTAGES);
});

it('a simulation of one seed has the same result each time', { timeout: TIMEOUT_MS }, async () => {
  const fingerprints = async () => (await reportsOf(REPEATED)).map(({ fingerprint }) => fingerprint);
  const first = await fingerprints();
  expect(await fingerprints()).toEqual(first);
  expect(new Set(first).size).toBe(REPEATED);
});
