// Puts the thousand built modules of the program, and of the packages that are many small modules themselves, into a few
// files under dist/program. To find and to open each by itself took most of the time of a start. The entries keep their
// places in dist; so do the other built modules, which workers, benchmarks and the client packages load.
import { join, posix, relative } from 'node:path';
import { build } from 'vite';
import { ROOT } from './prepare.mjs';
import { spreadsInChunks } from './spreads.mjs';

const ENTRIES = ['cli', 'main', 'testing'];
/** Packages in plain JavaScript modules. The others have native parts, files of their own, or one file. */
const BUNDLED = ['@zxcvbn-ts/language-common', 'commander', 'jose', 'ts-mls', 'typebox', 'yaml'];

/** Modules find files by where they were built themselves, and not by where their bundle is. */
const places = {
  name: 'places',
  enforce: 'pre',
  transform(code, id) {
    if (id.includes('node_modules') || !code.includes('import.meta.url')) return null;
    const place = relative(ROOT, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
    return code.replaceAll('import.meta.url', `urlOfModule(${JSON.stringify(place)})`);
  },
  renderChunk(code, { fileName }) {
    return code.replaceAll(/\burlOfModule\("([^"]+)"\)/g, (_, place) => {
      const path = posix.relative(posix.dirname(fileName), place);
      return `new URL(${JSON.stringify(path)}, import.meta.url).href`;
    });
  },
};

/** Refuses a character of two bytes: V8 keeps the source of a module, and all of it with two bytes a character then. */
const oneByte = {
  name: 'one-byte',
  generateBundle(_, bundle) {
    for (const { fileName, code = '' } of Object.values(bundle)) {
      const [line] = /^.*[^\p{ASCII}].*$/mu.exec(code) ?? [];
      if (line !== undefined)
        this.error(`${fileName} would need two bytes a character. Write as an escape: ${line.trim()}`);
    }
  },
};

await build({
  configFile: false,
  root: ROOT,
  logLevel: 'warn',
  publicDir: false,
  plugins: [places, spreadsInChunks, oneByte],
  ssr: { noExternal: BUNDLED, target: 'node' },
  build: {
    ssr: true,
    outDir: 'dist',
    emptyOutDir: false,
    target: 'node20',
    minify: false,
    license: { fileName: 'program/licenses.md' },
    rolldownOptions: {
      input: Object.fromEntries(ENTRIES.map((name) => [name, join(ROOT, `${name}.ts`)])),
      output: {
        format: 'esm',
        entryFileNames: '[name].js',
        chunkFileNames: 'program/[name].js',
        charset: 'ascii',
        comments: { legal: true, annotation: false, jsdoc: false },
      },
    },
  },
});
