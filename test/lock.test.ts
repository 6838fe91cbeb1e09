// Goal: the lock file installs everything the build needs, on every platform, from the registry alone.
import { describe, expect, test } from 'vitest';
import { read } from './support/source.ts';

interface Entry {
  readonly cpu?: readonly string[];
  readonly resolved?: string;
  readonly link?: boolean;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
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

  test('names no place to download from', () => {
    const placed = Object.values(packages).filter(({ resolved, link }) => resolved !== undefined && !link);
    expect(placed).toEqual([]);
  });
});
