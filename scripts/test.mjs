// `npm test`: installs what is missing and passes every test. `npm test -- --only unit,e2e` narrows the steps, and
// what follows replaces the files of a step: `npm test -- --only unit test/cli`. The last line is the sum.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { binOf, checkNode, ensureInstalled, ROOT } from './prepare.mjs';
import { checkReplies, FOLDER_VARIABLE } from './replies.mjs';

/** Generous, for machines that do other work meanwhile: it only ends a run that hangs. */
const STEP_TIMEOUT_MS = 45 * 60_000;
const TIDY = 'test/tidy.test.ts';
const CONFORMANCE = 'test/conformance/';
/** The files that took longest are named at the end. */
const LONGEST = 20;
/** Characters of the reason of a failure that are repeated at the end. */
const REASON_CHARACTERS = 600;
/** Folders of test/ that are a step of their own, or hold no tests. */
const NOT_UNIT = ['test/e2e/', 'test/suites/', CONFORMANCE, TIDY];

/**
 * Steps that keep one processor busy: so many of them run at a time, before the others. A step with `beside` runs together
 * with the step that it names.
 */
const SINGLE_AT_ONCE = 2;

/** A step is a command that passes or fails as one, or a run of vitest that counts its tests. */
const STEPS = [
  {
    name: 'types',
    isSingle: true,
    command: () => [binOf('typescript', 'tsc'), '-p', 'tsconfig.json', '--noEmit'],
  },
  { name: 'build', isSingle: true, command: () => ['--input-type=module', '-e', BUILD] },
  { name: 'web', isSingle: true, command: () => [binOf('typescript', 'tsc'), '-p', 'web/tsconfig.json'] },
  {
    name: 'lint',
    isSingle: true,
    command: () => [binOf('@biomejs/biome', 'biome'), 'ci', '--error-on-warnings', '.'],
  },
  { name: 'tidy', isSingle: true, project: 'unit', files: () => [TIDY] },
  { name: 'conformance', isSingle: true, project: 'unit', files: () => [CONFORMANCE] },
  { name: 'unit', project: ['unit', 'apart'], files: unitFiles },
  { name: 'suites', project: 'suites', files: () => [] },
  // For changes of what shards do, or of the simulation.
  { name: 'planted', project: 'sim', files: () => ['test/suites/planted.test.ts'], onlyByName: true },
  { name: 'e2e', project: 'e2e', files: () => [] },
  { name: 'realtime', project: 'realtime', files: () => [] },
  // On seeded time, so it may wait for the tests in real time, which leave more than one processor idle.
  { name: 'sim', project: 'sim', files: () => ['test/suites/sim.test.ts'], beside: 'realtime' },
  // Reads what the end-to-end tests compared.
  { name: 'replies', onlyAfterWholeRun: true },
];
/** The steps whose tests compare replies. */
const COMPARING = ['e2e', 'realtime'];
const BUILD =
  "const { ensureBuilt, ensureDocs } = await import('./scripts/prepare.mjs'); ensureBuilt(); ensureDocs();";

checkNode();
const { only, files: chosen } = readArguments(process.argv.slice(2));
ensureInstalled({ tests: true });

const reports = mkdtempSync(join(tmpdir(), 'guildhall-test-'));
const compared = join(reports, 'compared');
const results = [];
const wanted = STEPS.filter(isChosen);
const single = wanted.filter(({ isSingle }) => isSingle);
await Promise.all(Array.from({ length: SINGLE_AT_ONCE }, () => runAll(single)));
for (const step of wanted.filter((each) => !each.isSingle && !isAside(each)))
  await Promise.all([step, ...wanted.filter(({ beside }) => beside === step.name)].map(runAndKeep));
results.sort(
  (a, b) => wanted.findIndex(({ name }) => name === a.name) - wanted.findIndex(({ name }) => name === b.name),
);
rmSync(reports, { recursive: true });

process.stdout.write('\n');
for (const { name, passed, failed, skipped, repeated = [], failures = [], tookMs } of results) {
  for (const failure of failures) process.stdout.write(`failed: ${name}: ${failure}\n`);
  for (const title of repeated) process.stdout.write(`passed when repeated: ${name}: ${title}\n`);
  for (const title of skipped) process.stdout.write(`skipped: ${name}: ${title}\n`);
  const counts = `${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed`;
  process.stdout.write(`${name.padEnd(12)} ${counts} ${(tookMs / 1000).toFixed(1).padStart(7)} s\n`);
}
const longest = results
  .flatMap(({ name, files = [] }) => files.map((file) => ({ name, ...file })))
  .sort((a, b) => b.tookMs - a.tookMs)
  .slice(0, LONGEST);
for (const { name, path, tookMs } of longest)
  process.stdout.write(`${(tookMs / 1000).toFixed(1).padStart(6)} s ${name} ${path}\n`);
for (const step of STEPS.filter(({ onlyByName }) => only === null && onlyByName))
  process.stdout.write(`left out, as it takes minutes: npm test -- --only ${step.name}\n`);
const sum = (of) => results.reduce((total, result) => total + result[of], 0);
process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed\n`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

function isChosen({ name, onlyByName, onlyAfterWholeRun }) {
  const isNamed = (step) => only?.includes(step) ?? !onlyByName;
  if (onlyAfterWholeRun) return chosen.length === 0 && COMPARING.every(isNamed);
  return isNamed(name);
}

/** Takes steps from a list until it is empty. */
async function runAll(steps) {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) await runAndKeep(step);
}

async function runAndKeep(step) {
  const { name } = step;
  if (!isQuiet(step)) process.stdout.write(`\n── ${name} ──\n`);
  const startedMs = performance.now();
  const { said = '', ...result } = await run(step);
  if (isQuiet(step)) process.stdout.write(`\n── ${name} ──\n${said}`);
  results.push({ name, ...result, tookMs: performance.now() - startedMs });
}

function run(step) {
  if (step.onlyAfterWholeRun) return checkReplies(compared);
  return step.project === undefined ? runCommand(step) : runVitest(step);
}

function readArguments(given) {
  const names = STEPS.filter(({ onlyAfterWholeRun }) => !onlyAfterWholeRun).map(({ name }) => name);
  const at = given.indexOf('--only');
  if (at === -1) return { only: null, files: given };
  const only = (given[at + 1] ?? '').split(',');
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`There is no step "${unknown.join(', ')}". The steps are ${names.join(', ')}.\n`);
    process.exit(2);
  }
  return { only, files: given.toSpliced(at, 2) };
}

/** Everything in test/ that no other step runs. */
function unitFiles() {
  return readdirSync(join(ROOT, 'test'), { withFileTypes: true })
    .map((entry) => `test/${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((path) => /\/$|\.test\.ts$/.test(path) && !NOT_UNIT.includes(path));
}

function isAside({ beside }) {
  return wanted.some(({ name }) => name === beside);
}

/** The output of such a step is kept until it has ended, because others run meanwhile. */
function isQuiet(step) {
  return step.isSingle || isAside(step);
}

/** Runs Node; a step beside another one with the lowest priority. */
async function spawnNode(step, args, more = {}) {
  const env = { ...process.env, ...more, ...(!process.stdout.isTTY && { NO_COLOR: '1' }) };
  const output = isQuiet(step) ? 'pipe' : 'inherit';
  const child = spawn(process.execPath, args, {
    ...{ cwd: ROOT, timeout: STEP_TIMEOUT_MS, env },
    stdio: ['ignore', output, output],
  });
  if (isAside(step) && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  const [status] = await once(child, 'close');
  return { passed: status === 0, said };
}

async function runCommand(step) {
  const { passed, said } = await spawnNode(step, step.command());
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: [], said };
}

/** Runs vitest and counts from its own report; a run that dies, or a file that does not load, counts as a failure. */
async function runVitest(step) {
  const { name, project, files: ownFiles } = step;
  const file = join(reports, `${name}.json`);
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`];
  const wanted = chosen.length > 0 ? chosen : ownFiles();
  const projects = [project].flat().flatMap((each) => ['--project', each]);
  const args = [binOf('vitest', 'vitest'), 'run', ...projects, ...reporters, ...wanted];
  const more = COMPARING.includes(name) ? { [FOLDER_VARIABLE]: compared } : {};
  const { passed: ok, said } = await spawnNode(step, args, more);
  const report = readReport(file);
  if (report === null) return { passed: 0, failed: 1, skipped: [], said };
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === 'passed').length;
  const failed = tests.filter(({ status }) => status === 'failed').length;
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const repeated = tests.filter((test) => test.status === 'passed' && test.failureMessages.length > 0);
  const files = report.testResults.map(({ name: path, startTime, endTime }) => ({
    path: relative(ROOT, path),
    tookMs: endTime - startTime,
  }));
  return {
    passed,
    failed: ok ? failed : Math.max(1, failed),
    skipped: titlesOf(skipped),
    repeated: repeated.map(withReason),
    failures: tests.filter(({ status }) => status === 'failed').map(withReason),
    files,
    said,
  };
}

/** The title of a test and the first line of why it failed, because a log of the whole run may be cut. */
function withReason({ fullName, failureMessages: [reason = ''] }) {
  return `${fullName}: ${reason.split('\n', 1)[0].slice(0, REASON_CHARACTERS)}`;
}

/** A line for each test, and one for all of a group with the same heading, which says why. */
function titlesOf(skipped) {
  const groups = new Map();
  for (const test of skipped) {
    const heading = test.ancestorTitles.join(' ');
    groups.set(heading, [...(groups.get(heading) ?? []), test.fullName]);
  }
  return [...groups].map(([heading, titles]) =>
    titles.length === 1 ? titles[0] : `${heading} (${titles.length} tests)`,
  );
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
