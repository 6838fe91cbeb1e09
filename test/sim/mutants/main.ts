// `npm run mutants -- --count 500 --seed 1` draws mutants of the program, runs the simulation with each and prints those that it
// does not detect. `--tests` then runs the unit tests of the changed file with those. Results are kept in `--results`, so that a
// stopped run continues. `--json` prints the results.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { optionsOf, runOrExit } from '../../support/commandline.ts';
import { bundle } from '../build.ts';
import { seedsFrom } from '../pool.ts';
import { buildsOf, type Mutant, mutantsAgain, mutantsFrom, patchesOf } from './draw.ts';
import { hunt, reachedBy, type Verdict } from './hunt.ts';
import { judged } from './judged.ts';
import { MutantTests } from './unittests.ts';

interface Result extends Mutant {
  readonly verdict: Verdict;
  /** The unit test that detects it; null for none. Absent before the unit tests have run. */
  readonly test?: string | null;
}

const USAGE = `npm run mutants -- [options]    changes one expression of the program at a time and runs the simulation with it

  --count N        how many mutants are drawn (500)
  --seed N         from which seed (1)
  --seeds N        seeds of the simulation for each (60)
  --tests          runs the unit tests of the changed file with those that the simulation does not detect
  --jobs N         how many at once (2)
  --only TEXT      only mutants whose name contains it: <file>:<line>:<offset>
  --results FILE   keeps the results, so that a stopped run continues (dist/simulation/mutants.json)
  --again FILE     runs what an earlier run with --json has not detected
  --json           prints the results as JSON`;
const values = runOrExit(() =>
  optionsOf(
    process.argv.slice(2),
    USAGE,
    {
      count: { type: 'string', default: '500' },
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '60' },
      jobs: { type: 'string', default: '2' },
      results: { type: 'string', default: 'dist/simulation/mutants.json' },
      only: { type: 'string', default: '' },
      again: { type: 'string', default: '' },
      tests: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
    ['count', 'seed', 'seeds', 'jobs'],
  ),
);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const known = readKnown();
const drawn = (
  values.again ? notNoticed(values.again) : mutantsFrom(Number(values.seed), Number(values.count))
).filter(({ name }) => name.includes(values.only));
const open = drawn.filter((mutant) => !known.has(keyOf(mutant)));
say(`${drawn.length} mutants, ${drawn.length - open.length} of them known. Results: ${values.results}`);
for (const [at, mutants] of buildsOf(open).entries()) await runBuild(at, mutants);
if (values.tests) await runTests();
report(drawn.flatMap((mutant) => known.get(keyOf(mutant)) ?? []));
process.exit();

async function runBuild(at: number, mutants: readonly Mutant[]): Promise<void> {
  say(`build ${at + 1}: ${mutants.length} mutants`);
  const main = pathToFileURL(await bundle(`mutants-${at}`, patchesOf(mutants)));
  const jobs = Number(values.jobs);
  const passing = await reachedBy(main, seedsFrom(1, Number(values.seeds)), jobs);
  const waiting = mutants.values();
  let done = 0;
  const huntOn = async (): Promise<void> => {
    for (const mutant of waiting) {
      const seeds = [...passing].filter(([, reached]) => reached.has(mutant.name)).map(([seed]) => seed);
      const verdict = await hunt(main, mutant.name, seeds);
      known.set(keyOf(mutant), { ...mutant, verdict });
      keep();
      done += 1;
      say(`${done}/${mutants.length} ${mutant.name} ${told(verdict)}`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, huntOn));
}

/** Runs the unit tests with what the simulation has not detected. */
async function runTests(): Promise<void> {
  const untested = drawn
    .flatMap((mutant) => known.get(keyOf(mutant)) ?? [])
    .filter((result) => result.verdict.kind !== 'killed' && result.test === undefined);
  say(`unit tests: ${untested.length} mutants`);
  const waiting = untested.values();
  let done = 0;
  const testOn = async (job: number): Promise<void> => {
    const tests = new MutantTests(`dist/simulation/mutants-tests-${job}`);
    for (const result of waiting) {
      const test = await tests.run(result);
      known.set(keyOf(result), { ...result, test });
      keep();
      done += 1;
      say(
        `${done}/${untested.length} ${result.name} ${test === null ? 'NO TEST FAILS' : `killed by "${test}"`}`,
      );
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, (_, job) => testOn(job)));
}

/** Mutants that an earlier run has not detected and that have no judgement. */
function notNoticed(path: string): Mutant[] {
  const { results } = JSON.parse(readFileSync(path, 'utf8')) as { readonly results: readonly Result[] };
  return mutantsAgain(
    results.filter((result) => result.verdict.kind !== 'killed' && !result.test && !judged(result)),
  );
}

/** Without the surrounding text: a mutant stays the same when lines above it change. */
function keyOf({ file, from, to, name }: Mutant): string {
  return `${file}\n${from}\n${to}\n${name}`;
}

function readKnown(): Map<string, Result> {
  if (!existsSync(values.results)) return new Map();
  const results = JSON.parse(readFileSync(values.results, 'utf8')) as readonly Result[];
  return new Map(results.map((result) => [keyOf(result), result]));
}

function keep(): void {
  writeFileSync(`${values.results}.new`, JSON.stringify([...known.values()], null, 1));
  renameSync(`${values.results}.new`, values.results);
}

function told(verdict: Verdict): string {
  if (verdict.kind === 'killed') return `killed by "${verdict.rule}" in seed ${verdict.seed}`;
  return verdict.kind === 'survived' ? `SURVIVED ${verdict.seeds} seeds` : 'not reached';
}

function report(results: readonly Result[]): void {
  const unnoticed = results.filter(({ verdict, test }) => verdict.kind !== 'killed' && !test);
  const equivalent = unnoticed.filter((result) => judged(result)?.as === 'equivalent');
  const elsewhere = unnoticed.filter((result) => judged(result)?.as === 'elsewhere');
  const counted = results.filter((result) => !equivalent.includes(result) && !elsewhere.includes(result));
  const tested = counted.filter(({ verdict, test }) => verdict.kind !== 'killed' && test);
  const killed = counted.filter(({ verdict }) => verdict.kind === 'killed');
  const of = (kind: Verdict['kind']) => counted.filter(({ verdict, test }) => verdict.kind === kind && !test);
  const bySimulation = killed.length / Math.max(1, counted.length);
  const score = (killed.length + tested.length) / Math.max(1, counted.length);
  if (values.json) {
    const as = { equivalent: equivalent.length, elsewhere: elsewhere.length };
    const told = results.map((result) => ({ ...result, judged: judged(result) }));
    console.log(JSON.stringify({ seed: Number(values.seed), score, bySimulation, ...as, results: told }));
    return;
  }
  for (const kind of ['survived', 'unreached'] as const)
    for (const { file, line, from, to } of of(kind))
      console.log(`${kind}: ${file}:${line}\n    ${oneLine(from)}\n  → ${oneLine(to)}`);
  for (const result of [...equivalent, ...elsewhere])
    console.log(`${judged(result)?.as}: ${result.file}:${result.line} ${judged(result)?.why}`);
  console.log(
    `${results.length} mutants: ${killed.length} killed by the simulation, ${tested.length} by unit tests, ` +
      `${of('survived').length} survived, ${of('unreached').length} not reached, ${equivalent.length} equivalent, ` +
      `${elsewhere.length} tested elsewhere. Score ${score.toFixed(3)}, of the simulation alone ${bySimulation.toFixed(3)}.`,
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 160);
}
