import { RECORDING } from '../planting.ts';
import { type SeedReport, seedsOn, seedsThere, type ThreadEnded } from '../pool.ts';

/** A seed takes a second, on a busy machine a minute; a seed that takes this long never ends. */
const HUNG_MS = 5 * 60_000;

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

/** Runs a mutant on those seeds, until one fails. A mutant that breaks the program, or keeps a seed from ending, is killed too. */
export async function hunt(
  main: URL,
  name: string,
  seeds: readonly number[],
  silentMsMax = HUNG_MS,
): Promise<Verdict> {
  if (seeds.length === 0) return { kind: 'unreached' };
  const reports: SeedReport[] = [];
  const run = { seeds, planted: name, untilFailure: true };
  const ended = await seedsThere(main, run, (report) => reports.push(report), { silentMsMax }).catch(
    (fault) => fault as ThreadEnded,
  );
  const failed = reports.find(({ violations }) => violations.length > 0);
  if (!failed && ended) await mustRun(main, seeds[reports.length] ?? 0);
  const rule = failed?.violations[0]?.rule ?? ended?.message;
  if (rule === undefined) return { kind: 'survived', seeds: reports.length };
  return {
    kind: 'killed',
    rule,
    seed: failed?.seed ?? seeds[reports.length] ?? Number.NaN,
    seeds: reports.length,
  };
}

/**
 * A seed that ends its thread proves something of a mutant only when it runs without one.
 *
 * @throws ThreadEnded when it does not.
 */
const mustRun = (main: URL, seed: number): Promise<void> =>
  seedsThere(main, { seeds: [seed], planted: RECORDING }, () => undefined, { silentMsMax: HUNG_MS });
