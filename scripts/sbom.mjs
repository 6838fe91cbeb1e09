// `node scripts/sbom.mjs`: prints the list of what an installation of the server contains, as CycloneDX JSON, from the lock file.
// `npm sbom --omit=dev` leaves out what anything needs for development, such as `ws` and `pg`; so it is asked in a folder with the
// same package, without what only builds and tests need.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, say } from './prepare.mjs';

const json = (name) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const { workspaces, devDependencies: _ofBuilds, ...own } = json('package.json');
const lock = json('package-lock.json');
const { workspaces: _ofTests, devDependencies: _alsoOfBuilds, ...entry } = lock.packages[''];
lock.packages[''] = entry;
for (const [path, { dev, devOptional, link }] of Object.entries(lock.packages))
  if (dev || devOptional || link || workspaces.includes(path)) delete lock.packages[path];

const folder = mkdtempSync(join(tmpdir(), 'guildhall-sbom-'));
try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1e8,
  });
  if (status !== 0) {
    say(stderr);
    process.exitCode = 1;
  } else process.stdout.write(stdout);
} finally {
  rmSync(folder, { recursive: true });
}
