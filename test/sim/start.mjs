// `npm run sim`: builds the simulation into one file and runs it. With `--planted`, the bugs are built in.
import { build } from 'vite';

const root = new URL('../..', import.meta.url).pathname;
const outDir = `${root}dist/simulation/alone`;
await build({
  ...{ root, configFile: false, logLevel: 'error' },
  build: {
    ...{ ssr: 'test/sim/main.ts', outDir, target: 'node20', minify: false, sourcemap: true },
    rollupOptions: { output: { entryFileNames: 'sim.mjs', codeSplitting: false } },
  },
});
await import(`${outDir}/sim.mjs`);
