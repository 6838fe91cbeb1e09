// `npm run sim`: builds the simulation into one file and runs it, with a mark at each bound of the program (`bounds.json`).
import { readFileSync } from 'node:fs';
import { build } from 'vite';
import { spreadsInChunks } from '../../scripts/spreads.mjs';

const root = new URL('../..', import.meta.url).pathname;
const outDir = `${root}dist/simulation/alone`;
const { places, models } = JSON.parse(readFileSync(new URL('bounds.json', import.meta.url), 'utf8'));

/** Marks where a bound is hit, so that a run can count it. A place must be in its file once. */
const marking = {
  name: 'bounds',
  enforce: 'pre',
  transform(code, id) {
    let marked = code;
    for (const { bound, file, from, to } of places.filter((place) => id === `${root}${place.file}`)) {
      const [before, after, ...more] = marked.split(from);
      if (after === undefined || more.length > 0) throw new RangeError(`${file} has no place of "${bound}".`);
      marked = `${before}${to}${after}`;
    }
    return marked === code ? null : { code: marked, map: null };
  },
};

await build({
  ...{ root, configFile: false, logLevel: 'error', plugins: [marking, spreadsInChunks] },
  build: {
    ...{ ssr: 'test/sim/main.ts', outDir, target: 'node20', minify: false, sourcemap: true },
    rollupOptions: { output: { entryFileNames: 'sim.mjs', codeSplitting: false } },
  },
});
globalThis.simulatedBounds = [...new Set([...places.map(({ bound }) => bound), ...models])];
await import(`${outDir}/sim.mjs`);
