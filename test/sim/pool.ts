import { Worker } from 'node:worker_threads';
import type { Violation } from './judge.ts';
import { planted, RECORDING, reached } from './planting.ts';
import { simulate, type Variant } from './run.ts';

export interface SeedRun extends Variant {
  readonly seeds: readonly number[];
  /** The active bug, or ''; with `RECORDING` the result has the bugs whose code each seed runs. */
  readonly planted: string;
  /** Stop at the first seed that fails. */
  readonly untilFailure?: boolean;
}

/** The result of one seed. */
export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly virtualMs: number;
  readonly tookMs: number;
  readonly fingerprint: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Bounds that were hit. */
  readonly bounds: readonly string[];
  /** Bugs whose code has run, with `RECORDING`. */
  readonly reached?: readonly string[];
}

type Hear = (report: SeedReport) => void;

export const seedsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at);

/** Runs seeds in this thread, one after the other. */
export async function seedsHere(run: SeedRun, report: Hear): Promise<void> {
  planted.name = run.planted;
  // Code that ran while the modules were loaded counts for each seed.
  const loaded = [...reached];
  for (const seed of run.seeds) {
    reached.clear();
    const { violations, virtualMs, tookMs, fingerprint, counts, bounds } = await simulate(seed, run);
    const places = planted.name === RECORDING && { reached: [...loaded, ...reached] };
    report({ seed, violations, virtualMs, tookMs, fingerprint, counts, bounds, ...places });
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

/** Distributes the seeds over threads. */
export async function seedsOn(main: URL, jobs: number, run: SeedRun, report: Hear): Promise<void> {
  const hands = Array.from({ length: jobs }, (_, job) => run.seeds.filter((_seed, at) => at % jobs === job));
  await Promise.all(hands.map((seeds) => seedsThere(main, { ...run, seeds }, report)));
}
