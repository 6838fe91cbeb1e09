// `npm run sim -- --seed 123` runs one seed and prints its trace; `--seeds 1000` runs that many from there on, on as many
// threads as `--jobs` says. A failure prints the command that repeats it. `--planted <name>` runs with that bug in, where the build
// has it; `--stale-writers` stops processes as they write, and `--preempted` the machine within turns; `--features direct` has every
// seed do that beside guilds.
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { CommandExit, optionsOf, runOrExit } from '../support/commandline.ts';
import { COUNTED_SEEDS, HIT_MIN } from './bounds.ts';
import { FEATURES } from './features.ts';
import { planted } from './planting.ts';
import { type SeedRun, seedsFrom, seedsHere, seedsOn } from './pool.ts';
import { simulate, type Variant } from './run.ts';

const TRACE_LINES = 120;

const USAGE = `npm run sim -- [options]    runs a cluster on seeded time and judges it

  --seed N            the first seed (1)
  --seeds N           how many seeds; one alone is traced (1)
  --jobs N            threads (2)
  --features A,B      every seed has these and no others: ${FEATURES.join(', ')}
  --planted NAME      with a planted bug, whose name is in test/sim/planted
  --trace N           lines of the trace of one seed (${TRACE_LINES})
  --stale-writers     shards write although their lease has ended: the fence must refuse it
  --preempted         shards stand still more often
  --fleeting          partitions stay with an owner for milliseconds
  --outages           no shard reaches the database for seconds`;

const readOptions = () => {
  const values = optionsOf(
    process.argv.slice(2),
    USAGE,
    {
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
      planted: { type: 'string', default: '' },
      'stale-writers': { type: 'boolean', default: false },
      preempted: { type: 'boolean', default: false },
      fleeting: { type: 'boolean', default: false },
      outages: { type: 'boolean', default: false },
      features: { type: 'string' },
      trace: { type: 'string', default: String(TRACE_LINES) },
    },
    ['seed', 'seeds', 'jobs', 'trace'],
  );
  const unknown = values.features?.split(',').find((name) => !FEATURES.some((feature) => feature === name));
  if (unknown !== undefined) throw new CommandExit(`There is no feature "${unknown}".\n\n${USAGE}`, 2);
  return values;
};

if (isMainThread) await fromCommandLine();
else await seedsHere(workerData as SeedRun, (report) => parentPort?.postMessage(report));

async function fromCommandLine(): Promise<void> {
  const values = runOrExit(readOptions);
  const seed = Number(values.seed);
  const count = Number(values.seeds);
  planted.name = values.planted;
  const named = values.features?.split(',');
  const variant = {
    staleWriters: values['stale-writers'],
    preempted: values.preempted,
    fleeting: values.fleeting,
    outages: values.outages,
    ...(named && { features: FEATURES.filter((feature) => named.includes(feature)) }),
  };
  const again = [
    ...(named ? ['--features', named.join()] : []),
    ...(values.planted ? ['--planted', values.planted] : []),
    ...(['stale-writers', 'preempted', 'fleeting', 'outages'] as const)
      .filter((name) => values[name])
      .map((name) => `--${name}`),
  ]
    .map((option) => ` ${option}`)
    .join('');
  if (count === 1) await tell(seed, Number(values.trace), variant);
  else
    await many(
      { seeds: seedsFrom(seed, count), planted: values.planted, ...variant },
      Number(values.jobs),
      again,
    );
}

async function tell(seed: number, lines: number, variant: Variant): Promise<void> {
  const { trace, violations, scenario, counts, virtualMs, tookMs, fingerprint } = await simulate(
    seed,
    variant,
  );
  for (const line of trace.slice(-lines)) console.log(line);
  console.log(JSON.stringify({ scenario, counts, fingerprint }));
  for (const { rule, what, atMs } of violations)
    console.log(`${(atMs / 1_000).toFixed(4)}  ${rule}: ${what}`);
  console.log(
    `seed ${seed}: ${violations.length === 0 ? 'nothing wrong' : 'FAILED'}, ${speed(virtualMs, tookMs)}`,
  );
  if (violations.length > 0) process.exitCode = 1;
}

async function many(run: SeedRun, jobs: number, options: string): Promise<void> {
  const startedMs = performance.now();
  const rules = new Map<string, number[]>();
  const bounds = new Map<string, number>(namedBounds().map((bound) => [bound, 0]));
  let done = 0;
  let virtualMs = 0;
  await seedsOn(new URL(import.meta.url), jobs, run, (report) => {
    done += 1;
    virtualMs += report.virtualMs;
    for (const bound of report.bounds) bounds.set(bound, (bounds.get(bound) ?? 0) + 1);
    if (done % 100 === 0)
      console.log(`${done} of ${run.seeds.length} seeds, ${speed(virtualMs, performance.now() - startedMs)}`);
    const [first] = report.violations;
    if (!first) return;
    console.log(`seed ${report.seed}: ${first.rule}: ${first.what}`);
    for (const rule of new Set(report.violations.map((violation) => violation.rule)))
      rules.set(rule, [...(rules.get(rule) ?? []), report.seed]);
  });
  console.log(
    `${done} seeds in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s, ${speed(virtualMs, performance.now() - startedMs)}`,
  );
  sayBounds(bounds, done);
  for (const [rule, seeds] of rules) {
    console.log(`${rule}: ${seeds.length} seeds. Again: npm run sim -- --seed ${seeds[0]}${options}`);
    process.exitCode = 1;
  }
}

/** Bounds whose places the build has marked. */
function namedBounds(): readonly string[] {
  return (globalThis as { simulatedBounds?: readonly string[] }).simulatedBounds ?? [];
}

/** In how many seeds each bound was hit. Of many seeds, one in a hundred must hit each. */
function sayBounds(bounds: ReadonlyMap<string, number>, seeds: number): void {
  const counted = [...bounds].sort(([, a], [, b]) => a - b);
  console.log(`Bounds hit, in seeds: ${counted.map(([bound, hit]) => `${bound} ${hit}`).join(', ')}`);
  const rare = counted.filter(([, hit]) => hit < seeds * HIT_MIN);
  if (seeds < COUNTED_SEEDS || rare.length === 0) return;
  console.log(`Hit in too few seeds: ${rare.map(([bound]) => bound).join(', ')}`);
  process.exitCode = 1;
}

function speed(virtualMs: number, tookMs: number): string {
  return `${Math.round(virtualMs / tookMs)} times real time`;
}
