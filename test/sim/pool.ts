import { Worker } from 'node:worker_threads';
import type { Violation } from './judge.ts';
import { planted } from './planting.ts';
import { simulate } from './run.ts';

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  /** The bug to run with; '' is none. */
  readonly planted: string;
  /** Stop at the first seed that fails. */
  readonly untilFailure?: boolean;
}

/** What one seed has come to. */
export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly virtualMs: number;
  readonly tookMs: number;
  readonly fingerprint: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs seeds in this thread, one after the other. */
export async function seedsHere(range: SeedRange, report: (report: SeedReport) => void): Promise<void> {
  planted.name = range.planted;
  for (let seed = range.from; seed < range.from + range.count; seed += 1) {
    const { violations, virtualMs, tookMs, fingerprint, counts } = await simulate(seed);
    report({ seed, violations, virtualMs, tookMs, fingerprint, counts });
    if (range.untilFailure && violations.length > 0) return;
  }
}

/** Runs seeds on threads of the program `main`, a slice each. */
export async function runSeeds(
  main: URL,
  range: SeedRange,
  jobs: number,
  report: (report: SeedReport) => void,
): Promise<void> {
  if (jobs <= 1) return seedsHere(range, report);
  const share = Math.ceil(range.count / jobs);
  const slices = Array.from({ length: jobs }, (_, job) => {
    const from = range.from + job * share;
    return { ...range, from, count: Math.min(share, range.from + range.count - from) };
  });
  await Promise.all(
    slices.map(
      (slice) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(main, { workerData: slice });
          worker.on('message', report);
          worker.on('error', reject);
          worker.on('exit', () => resolve());
        }),
    ),
  );
}
