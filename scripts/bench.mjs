// `npm run bench:<name> -- …`: builds the program and the benchmarks, and runs the file of one of them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { binOf, checkNode, ensureInstalled, ROOT } from './prepare.mjs';

const [file, ...args] = process.argv.slice(2);

checkNode();
ensureInstalled({ tests: true });
run(binOf('typescript', 'tsc'), '-p', join(ROOT, 'tsconfig.bench.json'));
run(join(ROOT, 'scripts/addon.mjs'));
run(join(ROOT, 'scripts/program.mjs'));
run('--expose-gc', join(ROOT, file), ...args);

function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
