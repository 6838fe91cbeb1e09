// `npm test`: installs what is missing and passes every test. `npm test -- --only unit,e2e` narrows the steps, and
// what follows replaces the files of a step: `npm test -- --only unit test/cli`. The last line is the sum.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { binOf, checkNode, ensureInstalled, ROOT } from './prepare.mjs';
import { checkReplies, FOLDER_VARIABLE } from './replies.mjs';

/** Generous, for machines that do other work meanwhile: it only ends a run that hangs. */
const STEP_TIMEOUT_MS = 45 * 60_000;
const TIDY = 'test/tidy.test.ts';
const CONFORMANCE = 'test/conformance/';
/** The files that took longest are named at the end. */
const LONGEST = 20;
/** Folders of test/ that are a step of their own, or hold no tests. */
const NOT_UNIT = ['test/e2e/', 'test/suites/', CONFORMANCE, TIDY];

/** A step is a command that passes or fails as one, or a run of vitest that counts its tests. */
const STEPS = [
  { name: 'types', command: () => [binOf('typescript', 'tsc'), '-p', 'tsconfig.json', '--noEmit'] },
  { name: 'web', command: () => [binOf('typescript', 'tsc'), '-p', 'web/tsconfig.json'] },
  { name: 'lint', command: () => [binOf('@biomejs/biome', 'biome'), 'ci', '--error-on-warnings', '.'] },
  { name: 'tidy', project: 'unit', files: () => [TIDY] },
  { name: 'unit', project: ['unit', 'apart'], files: unitFiles },
  { name: 'conformance', project: 'unit', files: () => [CONFORMANCE] },
  { name: 'suites', project: 'suites', files: () => [] },
  { name: 'sim', project: 'sim', files: () => ['test/suites/sim.test.ts'] },
  // For who changes what shards do, or the simulation.
  { name: 'planted', project: 'sim', files: () => ['test/suites/planted.test.ts'], onlyByName: true },
  { name: 'build', command: () => ['--input-type=module', '-e', BUILD] },
  { name: 'e2e', project: 'e2e', files: () => [] },
  { name: 'realtime', project: 'realtime', files: () => [] },
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
for (const step of STEPS.filter(isChosen)) {
  process.stdout.write(`\n── ${step.name} ──\n`);
  const startedMs = performance.now();
  results.push({ name: step.name, ...(await run(step)), tookMs: performance.now() - startedMs });
}
rmSync(reports, { recursive: true });

process.stdout.write('\n');
for (const { name, passed, failed, skipped, repeated = [], tookMs } of results) {
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

function spawnNode(args, more = {}) {
  const env = { ...process.env, ...more, ...(!process.stdout.isTTY && { NO_COLOR: '1' }) };
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    stdio: 'inherit',
    timeout: STEP_TIMEOUT_MS,
    env,
  });
  return status === 0;
}

function runCommand({ command }) {
  const passed = spawnNode(command());
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: [] };
}

/** Runs vitest and counts from its own report; a run that dies, or a file that does not load, counts as a failure. */
function runVitest({ name, project, files: ownFiles }) {
  const file = join(reports, `${name}.json`);
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`];
  const wanted = chosen.length > 0 ? chosen : ownFiles();
  const projects = [project].flat().flatMap((each) => ['--project', each]);
  const args = [binOf('vitest', 'vitest'), 'run', ...projects, ...reporters, ...wanted];
  const ok = spawnNode(args, COMPARING.includes(name) ? { [FOLDER_VARIABLE]: compared } : {});
  const report = readReport(file);
  if (report === null) return { passed: 0, failed: 1, skipped: [] };
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
    repeated: repeated.map(({ fullName }) => fullName),
    files,
  };
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
