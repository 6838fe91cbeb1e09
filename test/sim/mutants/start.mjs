// `npm run mutants`: builds what draws mutants and runs the simulation with each, and starts it.
import { build } from 'vite';

const root = new URL('../../..', import.meta.url).pathname;
const outDir = `${root}dist/simulation/mutants`;
await build({
  ...{ root, configFile: false, logLevel: 'error' },
  build: {
    ...{ ssr: 'test/sim/mutants/main.ts', outDir, target: 'node20', minify: false, sourcemap: true },
    rollupOptions: { output: { entryFileNames: 'main.mjs', codeSplitting: false } },
  },
});
await import(`${outDir}/main.mjs`);
