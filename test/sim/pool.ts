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

/** A thread that ended before it reported all of its seeds; the message says how. */
export class ThreadEnded extends Error {}

/** Bounds on a thread whose program may be broken. */
interface Watch {
  /** The thread is ended when it reports no seed for this long. */
  readonly silentMsMax: number;
}

/**
 * Runs seeds on a thread of the program `main`.
 *
 * @throws ThreadEnded when it does not report all of them, or a failure where it stops at the first.
 */
export const seedsThere = (
  main: URL,
  run: SeedRun,
  report: Hear,
  watch: Watch | null = null,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(main, { workerData: run, stderr: watch !== null });
    let expected = run.seeds.length;
    let ended = new ThreadEnded('ends early');
    const timer =
      watch &&
      setTimeout(() => {
        ended = new ThreadEnded('does not end');
        void worker.terminate();
      }, watch.silentMsMax);
    worker.on('message', (seen: SeedReport) => {
      timer?.refresh();
      expected = run.untilFailure && seen.violations.length > 0 ? 0 : expected - 1;
      report(seen);
    });
    worker.on('error', (cause) => {
      ended = new ThreadEnded('does not run', { cause });
    });
    // The last event, also of a thread that is terminated; all messages come before it.
    worker.on('exit', () => {
      if (timer) clearTimeout(timer);
      if (expected === 0) resolve();
      else reject(ended);
    });
  });

/** Distributes the seeds over threads. */
export async function seedsOn(main: URL, jobs: number, run: SeedRun, report: Hear): Promise<void> {
  const hands = Array.from({ length: jobs }, (_, job) => run.seeds.filter((_seed, at) => at % jobs === job));
  await Promise.all(hands.map((seeds) => seedsThere(main, { ...run, seeds }, report)));
}
