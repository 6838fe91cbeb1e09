import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, type Source } from '../support/source.ts';
import { cycleThrough, type Graph, graphOf, knotsOf } from './graph.ts';

/** Second-level folders that import each other's types in a cycle. The list only shrinks. */
const TYPE_KNOTS = [
  ...[
    'engine/application',
    'engine/channel',
    'engine/fanout',
    'engine/guild',
    'engine/lobby',
    'engine/oauth',
  ],
  ...['engine/permissions', 'engine/user'],
];

/** It declares the public functions of the package and imports types only, so that rooms which implement them name its types. */
const CONTRACT = 'embedding.ts';

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'type' | 'value';
}

function edgesOf(sources: readonly Source[]): Edge[] {
  return sources.flatMap((source) =>
    importsOf(source)
      .filter(({ from }) => from.startsWith('.'))
      .map(({ from, kind }) => ({
        from: source.path,
        to: posix.join(posix.dirname(source.path), from),
        kind,
      })),
  );
}

/** `engine/guild` of `engine/guild/roles/rules.ts`. A file directly in its room, or in the root, is a folder of its own. */
const folderOf = (path: string): string => path.split('/').slice(0, 2).join('/');

function folderGraph(edges: readonly Edge[]): Graph {
  return graphOf(
    edges.flatMap(({ from, to }) => {
      const [a, b] = [folderOf(from), folderOf(to)];
      return a === b ? [] : [[a, b] as const];
    }),
  );
}

/** A line for each knot: the shortest cycle through its first node. */
const cyclesOf = (graph: Graph): string[] =>
  knotsOf(graph).map(([first = '']) => cycleThrough(graph, first).join(' → '));

/** No file and no second-level folder is part of an import cycle. */
export function cycleRules(sources: readonly Source[]): void {
  const edges = edgesOf(sources);

  describe('import cycles', () => {
    test('do not exist between files, neither of values nor of types', () => {
      const cycles = cyclesOf(graphOf(edges.map(({ from, to }) => [from, to] as const)));
      const found = cycles.map(
        (cycle) => `${cycle}: move the shared declaration into a file that both import`,
      );
      expect(found).toEqual([]);
    });

    test('do not exist between second-level folders by imports of values', () => {
      const cycles = cyclesOf(folderGraph(edges.filter(({ kind }) => kind === 'value')));
      expect(cycles.map((cycle) => `${cycle}: move what both folders use into one below them`)).toEqual([]);
    });

    test('between second-level folders by types are those of the list, which only shrinks', () => {
      const knotted = knotsOf(folderGraph(edges.filter(({ to }) => to !== CONTRACT))).flat();
      const joined = knotted.filter((folder) => !TYPE_KNOTS.includes(folder));
      const left = TYPE_KNOTS.filter((folder) => !knotted.includes(folder));
      const found = [
        ...joined.map((folder) => `${folder} joined a type cycle: move the type below both folders`),
        ...left.map((folder) => `${folder} left its type cycle: remove it from TYPE_KNOTS`),
      ];
      expect(found).toEqual([]);
    });

    test.each([
      ['a>b b>c', []],
      ['a>b b>a', ['a → b → a']],
      ['a>b b>c c>a c>d', ['a → b → c → a']],
      ['a>b b>a c>d d>c', ['a → b → a', 'c → d → c']],
      ['a>a', []],
    ])('in %s are found: %j', (edges, expected) => {
      const graph = graphOf(edges.split(' ').map((edge) => edge.split('>') as [string, string]));
      expect(cyclesOf(graph)).toEqual(expected);
    });

    test.each([
      ['services/a/x.ts > services/b/y.ts > services/a/z.ts', ['services/a → services/b → services/a']],
      [
        'services/a/x.ts > services/root.ts > services/b/y.ts > services/a/z.ts',
        ['services/a → services/root.ts → services/b → services/a'],
      ],
      ['engine/a/x.ts > main.ts > engine/a/y.ts', ['engine/a → main.ts → engine/a']],
      ['engine/a/x.ts > engine/a/deep/y.ts > engine/a/z.ts', []],
      ['engine/a/x.ts > engine/root.ts > engine/b/y.ts', []],
    ])('in the folders of %s are found: %j', (chain, expected) => {
      const files = chain.split(' > ');
      const edges = files
        .slice(1)
        .map((to, at) => ({ from: files[at] as string, to, kind: 'value' as const }));
      expect(cyclesOf(folderGraph(edges))).toEqual(expected);
    });
  });
}
