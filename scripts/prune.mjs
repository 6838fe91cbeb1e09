// Removes from a folder of installed production dependencies what this machine never loads: native parts for other platforms and
// versions of Node, source maps, types, and the tests, examples and documentation of packages; and from the built program, its types.
// The Dockerfile runs it.
//
//   node scripts/prune.mjs node_modules dist
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const { platform, arch, versions } = process;

/** Folders of a package that it does not load. Licences are files, and stay. */
const UNUSED_FOLDERS = new Set([
  '.github',
  'benchmark',
  'benchmarks',
  'docs',
  'example',
  'examples',
  'test',
  'tests',
]);
const UNUSED_FILES = /\.(?:map|d\.[cm]?ts|flow|tsbuildinfo)$/;
/** Programs that embed the server take its types from the package; its source maps stay, for the traces of errors. */
const UNUSED_OF_PROGRAM = /\.d\.ts$/;

/** Files of one package that run elsewhere or not at all, by what their names say. */
const OF_PACKAGES = {
  'uWebSockets.js': (file) =>
    /^uws_.*\.node$/.test(file) && file !== `uws_${platform}_${arch}_${versions.modules}.node`,
  // Extensions of the database that the server does not use.
  '@electric-sql/pglite/dist': (file) => file.endsWith('.tar.gz'),
  // The same parser in one file each, for pages and for CommonJS.
  'mediabunny/dist': (file) => file === 'bundles',
  mediabunny: (file) => file === 'src',
};

const isFolder = (path) => statSync(path).isDirectory();
const remove = (path) => rmSync(path, { recursive: true, force: true });

function packagesIn(modules) {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
    );
}

function pruneFiles(folder, unused) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) pruneFiles(path, unused);
    else if (unused.test(entry.name)) remove(path);
  }
}

function prunePackage(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (isFolder(path) && UNUSED_FOLDERS.has(name)) remove(path);
  }
  const prebuilds = join(folder, 'prebuilds');
  if (existsSync(prebuilds))
    for (const name of readdirSync(prebuilds))
      if (name !== `${platform}-${arch}`) remove(join(prebuilds, name));
  pruneFiles(folder, UNUSED_FILES);
}

/** Prunes every package of a `node_modules` folder, nested ones included. */
export function prune(modules) {
  for (const name of packagesIn(modules)) {
    const folder = join(modules, name);
    if (!isFolder(folder)) continue;
    if (name.startsWith('@types/')) remove(folder);
    else {
      prunePackage(folder);
      const nested = join(folder, 'node_modules');
      if (existsSync(nested)) prune(nested);
    }
  }
  for (const [place, isUnused] of Object.entries(OF_PACKAGES)) {
    const folder = join(modules, place);
    if (!existsSync(folder)) continue;
    for (const file of readdirSync(folder)) if (isUnused(file)) remove(join(folder, file));
  }
}

const [modules, program] = process.argv.slice(2);
if (modules === undefined || program === undefined) {
  process.stderr.write('Name the folders to prune: node scripts/prune.mjs node_modules dist\n');
  process.exit(2);
}
prune(modules);
pruneFiles(program, UNUSED_OF_PROGRAM);
