import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, type Source } from '../support/source.ts';

const ROOMS = [
  'config',
  'protocol',
  'engine',
  'media',
  'storage',
  'actors',
  'services',
  'transports',
  'compose',
  'sdk',
  'web',
  'cli',
  'bench',
];
/** Files of the root, and the room each one stands for. */
const ROOT_ROOMS: Record<string, string> = {
  'main.ts': 'main',
  'testing.ts': 'main',
  'maintenance.ts': 'main',
  'cli.ts': 'cli',
  'embedding.ts': 'embedding',
  'directories.ts': 'directories',
  'vitest.config.ts': 'test',
};

type Kind = 'type' | 'value';
/**
 * Permitted imports between rooms: the table of docs/architecture.md. `value` includes types. A room may always import
 * itself; main with compose, bench, examples and test may import everything. A folder has a row of its own where
 * it differs from its room: services use the keyed mutex, the cache and the batched reads of `actors/runtime`, which
 * know no actor.
 */
const MAY_IMPORT: Record<string, Record<string, Kind>> = {
  protocol: {},
  engine: { protocol: 'value' },
  media: { protocol: 'value' },
  storage: { protocol: 'value', engine: 'type', config: 'type', directories: 'value' },
  actors: {
    protocol: 'value',
    engine: 'value',
    storage: 'type',
    media: 'type',
    config: 'type',
    embedding: 'type',
  },
  services: {
    protocol: 'value',
    engine: 'value',
    storage: 'type',
    actors: 'type',
    'actors/runtime': 'value',
    embedding: 'type',
  },
  transports: {
    protocol: 'value',
    engine: 'type',
    actors: 'type',
    services: 'type',
    storage: 'type',
    config: 'type',
    embedding: 'type',
    directories: 'value',
  },
  sdk: { protocol: 'value' },
  web: { protocol: 'value', sdk: 'value' },
  config: {},
  directories: {},
  // The names of operations are the declarations of `transports/rest`.
  embedding: {
    config: 'type',
    engine: 'type',
    protocol: 'type',
    actors: 'type',
    services: 'type',
    storage: 'type',
    transports: 'type',
    sdk: 'type',
  },
  cli: {
    main: 'value',
    config: 'value',
    directories: 'value',
    protocol: 'value',
    bench: 'value',
    actors: 'value',
    services: 'value',
    transports: 'value',
    // `guildhall rpc` is a client of a server.
    sdk: 'value',
    engine: 'type',
    embedding: 'type',
  },
};
const MAY_IMPORT_ALL = ['main', 'compose', 'bench', 'examples', 'test'];

/** Packages that stay in their room, because they are native or because one room should know them. */
const PACKAGE_ROOMS: Record<string, string> = {
  'uWebSockets.js': 'transports',
  '@grpc/grpc-js': 'transports',
  msgpackr: 'transports',
  etcd3: 'transports',
  'node-datachannel': 'media',
  'sodium-native': 'media',
  pg: 'storage',
  '@electric-sql/pglite': 'storage',
  xstate: 'actors or sdk',
  commander: 'cli',
};
/** All that services may import of Node: they open no socket and no file. */
const SERVICE_BUILTINS = ['node:assert', 'node:crypto', 'node:util'];
/** All that the pure rooms may import from outside. */
const PURE_PACKAGES = ['discord-api-types', 're2js', 'typebox', 'node:assert'];

/** The room of a file: its first folder, or what a file of the root stands for. */
export function roomOf(path: string): string {
  const [first] = path.split('/') as [string];
  return ROOT_ROOMS[path] ?? first;
}

const packageOf = (from: string): string => from.split('/', from.startsWith('@') ? 2 : 1).join('/');
/** Why an import breaks the table, or null. */
function importObjection(path: string, from: string, kind: Kind): string | null {
  const room = roomOf(path);
  if (!from.startsWith('.')) {
    const name = packageOf(from);
    const home = PACKAGE_ROOMS[name];
    if (home !== undefined && !home.split(' or ').includes(room) && !MAY_IMPORT_ALL.includes(room))
      return `${name} stays in ${home}`;
    if (room === 'services' && name.startsWith('node:') && !SERVICE_BUILTINS.includes(name))
      return `${name} in a room without sockets and files`;
    const isPure = room === 'engine' || room === 'protocol';
    return isPure && !PURE_PACKAGES.includes(name) ? `${name} in a pure room` : null;
  }
  if (!/\.(tsx?|mjs|json)$/.test(from)) return `imports ${from} without its extension`;
  if (MAY_IMPORT_ALL.includes(room)) return null;
  const targetPath = posix.join(posix.dirname(path), from);
  const target = roomOf(targetPath);
  if (target === room) return null;
  const allowed = MAY_IMPORT[room]?.[posix.dirname(targetPath)] ?? MAY_IMPORT[room]?.[target];
  if (allowed === undefined) return `${room} may not import ${target}`;
  return allowed === 'type' && kind === 'value' ? `${room} may import only types of ${target}` : null;
}

/** The table of imports, over all files. */
export function importRules(sources: readonly Source[]): void {
  describe('imports', () => {
    test('point in the direction of the table, and native packages stay in their room', () => {
      const broken = sources.flatMap((source) =>
        importsOf(source).flatMap(({ from, kind, line }) => {
          const objection = importObjection(source.path, from, kind);
          return objection === null ? [] : [`${source.path}:${line} ${objection}`];
        }),
      );
      expect(broken).toEqual([]);
    });

    test('of every folder are covered by the table', () => {
      const known = [...ROOMS, 'examples', 'test'];
      const strays = sources.filter(({ path }) => {
        const [first, rest] = path.split('/');
        return rest === undefined ? ROOT_ROOMS[path] === undefined : !known.includes(first!);
      });
      expect(strays.map(({ path }) => path)).toEqual([]);
      for (const room of ROOMS) expect(MAY_IMPORT_ALL.includes(room) || room in MAY_IMPORT, room).toBe(true);
    });

    test.each([
      ['engine/a.ts', '../storage/b.ts', 'type', 'engine may not import storage'],
      ['transports/rest/a.ts', '../../engine/b.ts', 'value', 'transports may import only types of engine'],
      ['transports/rest/a.ts', '../../engine/b.ts', 'type', null],
      ['actors/a.ts', '../engine/b.ts', 'value', null],
      ['actors/lobby/a.ts', '../../services/b.ts', 'type', 'actors may not import services'],
      ['services/oauth/a.ts', '../../actors/runtime/b.ts', 'value', null],
      ['services/oauth/a.ts', '../../actors/user/b.ts', 'value', 'services may import only types of actors'],
      ['services/oauth/a.ts', 'node:net', 'value', 'node:net in a room without sockets and files'],
      ['engine/a.ts', 'node:fs', 'value', 'node:fs in a pure room'],
      ['storage/a.ts', 'uWebSockets.js', 'type', 'uWebSockets.js stays in transports'],
      ['storage/a.ts', '@electric-sql/pglite/live', 'value', null],
      ['main.ts', './engine/a.ts', 'value', null],
      ['storage/a.ts', './b', 'value', 'imports ./b without its extension'],
    ] as const)('%s importing %s as %s: %s', (path, from, kind, expected) => {
      expect(importObjection(path, from, kind)).toBe(expected);
    });
  });
}
