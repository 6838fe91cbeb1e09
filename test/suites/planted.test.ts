// Goal: the simulation finds bugs: with each planted bug a seed soon fails that passes without the bug.
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundle } from '../sim/build.ts';
import { BUGS } from '../sim/planted/index.ts';
import type { Patch } from '../sim/planted/patch.ts';
import { type SeedReport, seedsFrom, seedsOn, seedsThere } from '../sim/pool.ts';

/** Seeds within which a bug is to be found. */
const SEEDS = 100;
const JOBS = 2;
/** Time limit on a machine that is busy with other work. */
const TIMEOUT_MS = 600_000;

let main: URL;
/** Seeds that pass while all bugs are asleep. */
let clean: readonly number[];
/** The rule that was broken first, null: none was, and how many seeds that took. */
const hunted = new Map<string, { readonly rule: string | null; readonly seeds: number }>();

async function hunt({ name, features, outages }: Patch): Promise<void> {
  const reports: SeedReport[] = [];
  const run = {
    seeds: clean,
    planted: name,
    untilFailure: true,
    ...(outages && { outages }),
    ...(features && { features }),
  };
  await seedsThere(main, run, (report) => void reports.push(report));
  const rule = reports.at(-1)?.violations[0]?.rule ?? null;
  hunted.set(name, { rule, seeds: reports.length });
}

beforeAll(async () => {
  main = pathToFileURL(await bundle('planted', BUGS));
  const passed: number[] = [];
  await seedsOn(main, JOBS, { seeds: seedsFrom(1, SEEDS), planted: '' }, ({ seed, violations }) => {
    if (violations.length === 0) passed.push(seed);
  });
  clean = passed.sort((a, b) => a - b);
  const waiting = BUGS.values();
  const huntOn = async (): Promise<void> => {
    for (const bug of waiting) await hunt(bug);
  };
  await Promise.all(Array.from({ length: JOBS }, huntOn));
}, TIMEOUT_MS);

describe('a planted bug', () => {
  it.each(BUGS)('is found: $name', ({ name, about }) => {
    const { rule, seeds } = hunted.get(name) ?? { rule: null, seeds: 0 };
    expect(rule, `${about}; not found in ${seeds} seeds`).toEqual(expect.any(String));
  });
});
