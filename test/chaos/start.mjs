// `npm run chaos`: builds the server, and the program that harms it, and runs it.
import { spawnSync } from 'node:child_process';
import { build } from 'vite';
import { ensureBuilt } from '../../scripts/prepare.mjs';

const root = new URL('../..', import.meta.url).pathname;
const outDir = `${root}dist/chaos`;
ensureBuilt();
await build({
  ...{ root, configFile: false, logLevel: 'error' },
  build: {
    ...{ ssr: 'test/chaos/main.ts', outDir, target: 'node20', minify: false, sourcemap: true },
    rollupOptions: { output: { entryFileNames: 'chaos.mjs', codeSplitting: false } },
  },
});
// Networks and disks that the run makes end with its process, in namespaces of its own.
const isolated = process.argv.includes('--system') && process.platform === 'linux' && process.getuid() === 0;
if (isolated) {
  const command = [process.execPath, `${outDir}/chaos.mjs`, ...process.argv.slice(2)];
  process.exitCode = spawnSync('unshare', ['--net', '--mount', ...command], { stdio: 'inherit' }).status ?? 1;
} else await import(`${outDir}/chaos.mjs`);
