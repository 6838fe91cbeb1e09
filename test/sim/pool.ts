import { Worker } from 'node:worker_threads';
import type { Violation } from './judge.ts';
import { planted } from './planting.ts';
import { simulate, type Variant } from './run.ts';

export interface SeedRun extends Variant {
  readonly seeds: readonly number[];
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

type Hear = (report: SeedReport) => void;

export const seedsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at);

/** Runs seeds in this thread, one after the other. */
export async function seedsHere(run: SeedRun, report: Hear): Promise<void> {
  planted.name = run.planted;
  for (const seed of run.seeds) {
    const { violations, virtualMs, tookMs, fingerprint, counts } = await simulate(seed, run);
    report({ seed, violations, virtualMs, tookMs, fingerprint, counts });
    if (run.untilFailure && violations.length > 0) return;
  }
}

/** Runs seeds on a thread of the program `main`. */
export const seedsThere = (main: URL, run: SeedRun, report: Hear): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(main, { workerData: run });
    worker.on('message', report);
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });

/** Deals the seeds out to so many threads. */
export async function seedsOn(main: URL, jobs: number, run: SeedRun, report: Hear): Promise<void> {
  const hands = Array.from({ length: jobs }, (_, job) => run.seeds.filter((_seed, at) => at % jobs === job));
  await Promise.all(hands.map((seeds) => seedsThere(main, { ...run, seeds }, report)));
}
