// Hooks that `npm pack -w @guildhall/sdk` and `npm publish -w @guildhall/protocol` run in the workspace's folder after a build:
// `fill` before they pack, `empty` afterwards. A workspace has sources, and one build makes the files of all packages, so `fill`
// copies the built files that the entries of its package.json reach. It refuses a package.json that does not match the server's:
// another version, a range of a dependency that differs, or a dependency that is imported and not declared, or the other way round.
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { ROOT, say } from './prepare.mjs';

const BUILT = join(ROOT, 'dist');
/** The pages that become the README of each package. */
const PAGES = { protocol: 'docs/gateway.md', sdk: 'docs/sdk.md' };
const COPIED = ['LICENSE', 'NOTICE', 'CHANGELOG.md'];
const IMPORT =
  /^\s*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

const json = (path) => JSON.parse(readFileSync(path, 'utf8'));
const own = json(join(ROOT, 'package.json'));
const folder = process.cwd();
const page = PAGES[basename(folder)];
const [command] = process.argv.slice(2);

function fill() {
  if (!existsSync(join(BUILT, 'sdk.js'))) throw new Error('Nothing is built: run `npm run build` first.');
  const manifest = json(join(folder, 'package.json'));
  const files = new Set();
  const imported = new Set();
  for (const path of Object.values(manifest.exports).flatMap(pathsOf)) reach(path, files, imported);
  checkManifest(manifest, imported);
  empty();
  for (const path of files) cpSync(join(BUILT, path), join(folder, 'dist', path));
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path));
  cpSync(join(ROOT, page), join(folder, 'README.md'));
}

function empty() {
  for (const name of ['dist', 'README.md', ...COPIED])
    rmSync(join(folder, name), { recursive: true, force: true });
}

/** The built files of an entry of `exports`, relative to dist. */
function pathsOf(entry) {
  if (typeof entry !== 'string') return Object.values(entry).flatMap(pathsOf);
  return entry.startsWith('./dist/') ? [entry.slice('./dist/'.length)] : [];
}

/** Adds a built file, its types, and all that either imports. */
function reach(path, files, packages) {
  if (files.has(path)) return;
  files.add(path);
  // The script has all of its code in itself.
  if (path === 'sdk.js') return;
  for (const [, named, called] of readFileSync(join(BUILT, path), 'utf8').matchAll(IMPORT)) {
    const wanted = named ?? called;
    if (wanted.startsWith('.')) {
      const found = join(dirname(path), wanted);
      const types = path.endsWith('.d.ts') ? found.replace(/\.[jt]s$/, '.d.ts') : found;
      if (existsSync(join(BUILT, types))) reach(types, files, packages);
    } else if (!wanted.startsWith('node:') && !builtinModules.includes(wanted))
      packages.add(
        wanted
          .split('/')
          .slice(0, wanted.startsWith('@') ? 2 : 1)
          .join('/'),
      );
  }
}

function checkManifest(manifest, imported) {
  for (const field of ['version', 'license', 'type'])
    if (manifest[field] !== own[field])
      throw new Error(`${manifest.name}: its ${field} is ${manifest[field]}, the server's is ${own[field]}.`);
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  const ranges = { ...own.dependencies, ...own.peerDependencies };
  for (const name of new Set([...imported, ...Object.keys(declared)])) {
    if (!imported.has(name)) throw new Error(`${manifest.name} declares ${name}, and imports it nowhere.`);
    if (declared[name] === undefined)
      throw new Error(`${manifest.name} imports ${name}, and does not declare it.`);
    if (declared[name] !== ranges[name])
      throw new Error(`${manifest.name} asks for ${name} ${declared[name]}, the server for ${ranges[name]}.`);
  }
}

if (!page || !['fill', 'empty'].includes(command)) {
  say('Run by npm: `npm pack -w @guildhall/sdk`, `npm publish -w @guildhall/protocol`.');
  process.exit(1);
}
try {
  if (command === 'fill') fill();
  else empty();
} catch (error) {
  say(error.message);
  process.exit(1);
}
