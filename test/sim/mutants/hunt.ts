import { Worker } from 'node:worker_threads';
import { RECORDING } from '../planting.ts';
import { type SeedReport, type SeedRun, seedsOn } from '../pool.ts';

/** A seed with an active mutant takes a fraction of a second; a seed that takes this long never ends. */
const HUNG_MS = 60_000;

/** The result of the simulation for a mutant. */
export type Verdict =
  | { readonly kind: 'killed'; readonly rule: string; readonly seed: number; readonly seeds: number }
  | { readonly kind: 'survived'; readonly seeds: number }
  /** No seed runs its expression. */
  | { readonly kind: 'unreached' };

/** The seeds that pass with no mutant active, and the mutants whose expressions each seed runs. */
export async function reachedBy(
  main: URL,
  seeds: readonly number[],
  jobs: number,
): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const reached = new Map<number, ReadonlySet<string>>();
  await seedsOn(main, jobs, { seeds, planted: RECORDING }, (report) => {
    if (report.violations.length === 0) reached.set(report.seed, new Set(report.reached));
  });
  return new Map([...reached].sort(([a], [b]) => a - b));
}

/** Runs a mutant on those seeds, until one fails. */
export async function hunt(main: URL, name: string, seeds: readonly number[]): Promise<Verdict> {
  if (seeds.length === 0) return { kind: 'unreached' };
  const reports: SeedReport[] = [];
  const end = await watched(main, { seeds, planted: name, untilFailure: true }, (report) =>
    reports.push(report),
  );
  const last = reports.at(-1);
  const rule = last?.violations[0]?.rule ?? (end === null ? null : end);
  if (rule === null) return { kind: 'survived', seeds: reports.length };
  const seed = last?.violations.length ? last.seed : (seeds[reports.length] ?? Number.NaN);
  return { kind: 'killed', rule, seed, seeds: reports.length };
}

/** Resolves null when all seeds were reported, else why there are no more. */
function watched(main: URL, run: SeedRun, report: (report: SeedReport) => void): Promise<string | null> {
  return new Promise((resolve) => {
    const worker = new Worker(main, { workerData: run, stderr: true });
    const hung = () => void worker.terminate().then(() => resolve('does not end'));
    let timer = setTimeout(hung, HUNG_MS);
    worker.on('message', (seen: SeedReport) => {
      clearTimeout(timer);
      timer = setTimeout(hung, HUNG_MS);
      report(seen);
    });
    worker.on('error', () => resolve('does not run'));
    worker.on('exit', () => {
      clearTimeout(timer);
      resolve(null);
    });
  });
}
