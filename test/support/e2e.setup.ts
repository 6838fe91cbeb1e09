/** Builds what the end-to-end tests start, when a source is newer than what is built. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './source.ts';

export default function setup(): void {
  // In a process of its own, because it ends its process when the sources do not compile.
  const prepare = pathToFileURL(join(ROOT, 'scripts/prepare.mjs'));
  const program = `(await import('${prepare}')).ensureBuilt()`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('There is nothing to test: the sources do not compile.');
}
