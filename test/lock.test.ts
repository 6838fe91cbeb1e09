// Goal: the lock file installs everything the build needs, on every platform, from the registry alone.
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesUnder, read } from './support/source.ts';

interface Entry {
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
  readonly libc?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const FITS = { os: 'linux', cpu: 'x64', libc: 'glibc' } as const;
const isForLinux = (entry: Entry): boolean =>
  (['os', 'cpu', 'libc'] as const).every((kind) => entry[kind]?.includes(FITS[kind]) ?? true);

/** Imports of a file as Biome formats it. */
const IMPORT = /(?:^import |^[^'`]*\bfrom )'([^'\s]+)';$|\bimport\('([^'\s]+)'\)/gm;

/** Where Node finds a package from another's folder; null when the lock file has it nowhere, as optional peers may be. */
function placeOf(from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const place = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[place]) return place;
    if (at === '') return null;
  }
}

const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Entry> };

describe('the lock file', () => {
  test('lets the WebAssembly that the page needs be installed on any processor', () => {
    expect(packages['node_modules/@snazzah/davey-wasm32-wasi']).toBeDefined();
    expect(packages['node_modules/@snazzah/davey-wasm32-wasi']).not.toHaveProperty('cpu');
  });

  test('names the native parts of every platform, not of the one it was written on', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {}).filter(
        (name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  test('has what tests and benches need in a package of their own, which no installation to run the server takes along', () => {
    const { devDependencies: build = {} } = packages[''] as Entry;
    const { devDependencies: tests = {}, ...rest } = packages.test as Entry;
    expect(
      Object.keys(build).filter((name) => /vitest|biome|colyseus|eris|postgres|playwright/.test(name)),
    ).toEqual([]);
    expect(Object.keys(tests)).toEqual(expect.arrayContaining(['vitest', '@biomejs/biome', 'eris']));
    expect(rest).not.toHaveProperty('dependencies');
  });

  test('has every package that the build imports where only the server is to run', () => {
    const { include, exclude } = JSON.parse(read('tsconfig.build.json')) as {
      readonly include: readonly string[];
      readonly exclude: readonly string[];
    };
    const folders = include.filter((name) => name !== '*.ts');
    const isBuilt = (path: string) =>
      (!path.includes('/') || folders.includes(path.split('/')[0]!)) &&
      !exclude.some((name) => path === name || path.startsWith(`${name}/`));
    const waiting = filesUnder('.', /\.ts$/).filter(isBuilt);
    expect(waiting.length).toBeGreaterThan(1000);
    const { dependencies, devDependencies, peerDependencies } = packages[''] as Entry;
    const installed = { ...dependencies, ...devDependencies, ...peerDependencies };
    const seen = new Set(waiting);
    const missing: string[] = [];
    // A file that is excluded is compiled too when another one imports it.
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop())
      for (const [, named, called] of read(path).matchAll(IMPORT)) {
        const from = named ?? called ?? '';
        const target = join(dirname(path), from);
        if (from.startsWith('.')) {
          if (target.endsWith('.ts') && !seen.has(target)) waiting.push(target);
          seen.add(target);
        } else if (!isBuiltin(from)) {
          const name = from.split('/', from.startsWith('@') ? 2 : 1).join('/');
          if (!(name in installed)) missing.push(`${path} imports ${name}`);
        }
      }
    expect(missing).toEqual([]);
  });

  test('installs at most 170 packages where only the server is to run', () => {
    const places = new Set<string>();
    const waiting = [''];
    for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
      const entry = packages[from] as Entry;
      const { dependencies, optionalDependencies, devDependencies, peerDependencies = {} } = entry;
      // npm installs a peer unless it is optional.
      const peers = Object.entries(peerDependencies).filter(
        ([name]) => entry.peerDependenciesMeta?.[name]?.optional !== true,
      );
      const wanted = { ...dependencies, ...optionalDependencies, ...Object.fromEntries(peers) };
      for (const name of Object.keys(from === '' ? { ...wanted, ...devDependencies } : wanted)) {
        const place = placeOf(from, name);
        if (place === null || places.has(place) || !isForLinux(packages[place] as Entry)) continue;
        places.add(place);
        waiting.push(place);
      }
    }
    expect(places.size).toBeGreaterThan(100);
    expect(places.size).toBeLessThanOrEqual(170);
  });

  test('names no place to download from', () => {
    const placed = Object.values(packages).filter(({ resolved, link }) => resolved !== undefined && !link);
    expect(placed).toEqual([]);
  });
});
