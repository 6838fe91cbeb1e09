// `node scripts/packages.mjs <folder>`, after a build: assembles the packages that clients install without the server.
// @guildhall/protocol has the facts of the wire, @guildhall/sdk the client library. Each gets the built files that its entries
// reach, and as dependencies what those import; neither has a native part.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { ROOT, say } from './prepare.mjs';

const DIST = join(ROOT, 'dist');
const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const typed = (path) => ({ types: `./${path}.d.ts`, default: `./${path}.js` });
const PACKAGES = {
  protocol: {
    description:
      'Facts of the wire that Guildhall speaks: opcodes, intents, permissions, limits, ids and dispatches.',
    exports: { '.': typed('protocol/index') },
    extra: [],
  },
  sdk: {
    description:
      'Client library of Guildhall: sign-in, lobbies, messages, friends, presence and calls, in browsers and Node.',
    exports: {
      '.': { node: typed('sdk/node'), default: typed('sdk/index') },
      './activities': typed('sdk/activities/index'),
      './sdk.js': { types: './sdk/index.d.ts', default: './sdk.js' },
    },
    extra: ['sdk.js'],
    unpkg: './sdk.js',
    jsdelivr: './sdk.js',
  },
};
/** What calls in Node and in pages need, and nothing else does. */
const OPTIONAL = new Set(Object.keys(own.peerDependencies));
const IMPORT =
  /^\s*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

const [target = join(DIST, 'packages')] = process.argv.slice(2);
if (!existsSync(join(DIST, 'sdk.js'))) {
  say('Nothing is built: run `npm run build` first.');
  process.exit(1);
}
function assemble(name, { extra, ...fields }, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const entries = Object.values(fields.exports).flatMap(pathsOf);
  const files = new Set(extra);
  const packages = new Set();
  for (const path of entries) if (!extra.includes(path)) reach(path, files, packages);
  for (const path of files) cpSync(join(DIST, path), join(folder, path));
  for (const path of ['LICENSE', 'NOTICE', 'CHANGELOG.md']) cpSync(join(ROOT, path), join(folder, path));
  const page = name === 'sdk' ? 'docs/sdk.md' : 'docs/gateway.md';
  cpSync(join(ROOT, page), join(folder, 'README.md'));
  const { version, license, engines, repository, homepage, bugs } = own;
  const unknown = [...packages].filter((each) => !own.dependencies[each] && !OPTIONAL.has(each));
  if (unknown.length > 0)
    throw new Error(`@guildhall/${name} imports ${unknown.join(', ')}, which is no dependency.`);
  const needed = [...packages].filter((each) => !OPTIONAL.has(each));
  const optional = [...packages].filter((each) => OPTIONAL.has(each));
  const manifest = {
    name: `@guildhall/${name}`,
    ...{ version, license, type: 'module', engines, repository, homepage, bugs },
    ...fields,
    sideEffects: false,
    publishConfig: { access: 'public', provenance: true },
    dependencies: Object.fromEntries(needed.map((each) => [each, own.dependencies[each]])),
    peerDependencies: Object.fromEntries(optional.map((each) => [each, own.peerDependencies[each]])),
    peerDependenciesMeta: Object.fromEntries(optional.map((each) => [each, { optional: true }])),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  say(
    `@guildhall/${name}: ${files.size} files in ${relative(process.cwd(), folder)}; needs ${needed.join(', ') || 'nothing'}`,
  );
}

function pathsOf(entry) {
  return typeof entry === 'string' ? [entry.replace(/^\.\//, '')] : Object.values(entry).flatMap(pathsOf);
}

/** Adds a built file, its types, and all that either imports. */
function reach(path, files, packages) {
  if (files.has(path)) return;
  files.add(path);
  for (const [, named, called] of readFileSync(join(DIST, path), 'utf8').matchAll(IMPORT)) {
    const wanted = named ?? called;
    if (wanted.startsWith('.')) {
      const found = join(dirname(path), wanted);
      const types = path.endsWith('.d.ts') ? found.replace(/\.[jt]s$/, '.d.ts') : found;
      if (existsSync(join(DIST, types))) reach(types, files, packages);
    } else if (!wanted.startsWith('node:') && !builtinModules.includes(wanted))
      packages.add(
        wanted
          .split('/')
          .slice(0, wanted.startsWith('@') ? 2 : 1)
          .join('/'),
      );
  }
}

for (const [name, given] of Object.entries(PACKAGES)) assemble(name, given, join(resolve(target), name));
