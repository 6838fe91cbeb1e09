// `npm run chaos`: builds the server, and the program that harms it, and runs it.
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
await import(`${outDir}/chaos.mjs`);
