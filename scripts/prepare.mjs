// Checks that `npm start` and `npm test` run before anything else: Node's version, the installed packages, the built pages.
// Plain JavaScript without dependencies, because it runs before any are there. It speaks on standard error only, so
// that the standard output of `npm start -- --json` stays one line.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const NODE_MIN = [20, 19];
const NOT_SOURCE = new Set([
  'node_modules',
  'dist',
  'coverage',
  'data',
  'docs',
  'test',
  'scripts',
  'templates',
]);

export const say = (line) => process.stderr.write(`${line}\n`);

/** Ends the process with a sentence when Node is too old. */
export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  say(`Guildhall needs Node ${NODE_MIN.join('.')} or newer; this is ${process.versions.node}.`);
  say('Install a newer one from https://nodejs.org and run the same command again.');
  process.exit(1);
}

/**
 * Installs the dependencies when there are none, or when the lock file is newer than they are: those that it takes to
 * build and run, and what tests and benches want besides only where it is asked for, or is there already.
 */
export function ensureInstalled({ tests = false } = {}) {
  const hasTests = existsSync(join(ROOT, 'node_modules', 'vitest', 'package.json'));
  const lock = join(ROOT, 'package-lock.json');
  const installed = join(ROOT, 'node_modules', '.package-lock.json');
  const isFresh = existsSync(installed) && changedMs(installed) >= changedMs(lock);
  if (isFresh && (hasTests || !tests)) return;
  say('Installing dependencies (once) …');
  const npm = process.env.npm_execpath;
  // Its warnings are of packages that are not installed at all; what fails is an error.
  const flags = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  if (!tests && !hasTests) flags.push('--workspaces=false');
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...flags]] : ['npm', flags];
  run(command, args, 'The dependencies could not be installed; the lines above say why.');
}

/** The bundles that vite builds, with the message when it fails. */
const BUNDLES = [
  ['web/vite.config.ts', 'The pages could not be built'],
  ['web/sdk.config.ts', 'The client library could not be built as a script'],
];

/** Builds `dist` when it is missing or older than a source file. */
export function ensureBuilt() {
  const built = join(ROOT, 'dist', 'cli.js');
  if (existsSync(built) && changedMs(built) >= newestSourceMs(ROOT)) return;
  say('Building …');
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
  const args = [binOf('typescript', 'tsc'), '-p', join(ROOT, 'tsconfig.build.json'), '--noEmitOnError'];
  run(process.execPath, args, 'The sources do not compile; the lines above say why.');
  // A machine without a compiler has no addon, and needs none.
  spawnSync(process.execPath, [join(ROOT, 'scripts/addon.mjs')], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  const descriptions = [join(ROOT, 'scripts/descriptions.mjs')];
  run(process.execPath, descriptions, 'The interface could not be described; the lines above say why.');
  const database = [join(ROOT, 'scripts/database.mjs')];
  run(process.execPath, database, 'The empty database could not be made; the lines above say why.');
  const program = [join(ROOT, 'scripts/program.mjs')];
  run(process.execPath, program, 'The program could not be bundled; the lines above say why.');
  for (const [config, complaint] of BUNDLES) {
    const bundle = ['build', '--config', join(ROOT, config), '--logLevel', 'warn'];
    run(process.execPath, [binOf('vite', 'vite'), ...bundle], `${complaint}; the lines above say why.`);
  }
}

/** Builds `dist/docs` when it is missing or older than a page or what makes pages. */
export function ensureDocs() {
  const built = join(ROOT, 'dist', 'docs', 'index.html');
  const sources = ['docs', 'web/docs', 'scripts/docs'].map((folder) => newestMs(join(ROOT, folder)));
  if (existsSync(built) && changedMs(built) >= Math.max(...sources)) return;
  say('Building the documentation …');
  const docs = [join(ROOT, 'scripts/docs.mjs'), '--quiet'];
  run(process.execPath, docs, 'The documentation could not be built; the lines above say why.');
}

/** Path of the script behind a package's command. */
export function binOf(name, command) {
  const folder = join(ROOT, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

function run(command, args, complaint) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  say(error === undefined ? complaint : `${complaint} (${error.message})`);
  process.exit(1);
}

const changedMs = (path) => statSync(path).mtimeMs;

/** When a file of the folder changed last. */
const newestMs = (folder) =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, path, name }) => changedMs(join(parentPath ?? path, name))),
  );

function newestSourceMs(folder) {
  let newestMs = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (folder !== ROOT || !NOT_SOURCE.has(entry.name)) newestMs = Math.max(newestMs, newestSourceMs(path));
    } else if (/\.(tsx?|[ch]|css|html|svg|ogg)$|^tsconfig.*\.json$|^package\.json$/.test(entry.name)) {
      newestMs = Math.max(newestMs, changedMs(path));
    }
  }
  return newestMs;
}
