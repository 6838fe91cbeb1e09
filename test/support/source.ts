import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parseSync } from 'vite';
import { ROOT } from './root.ts';

export { ROOT };

const IGNORED = new Set(['node_modules', 'dist', 'coverage', 'data', '.git', 'results']);

/** Files under the root by path from it, with `/`; without what is built, installed or measured. */
export function filesUnder(folder = '.', matching: RegExp = /./): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = relative(ROOT, join(ROOT, folder, entry.name))
        .split(sep)
        .join('/');
      if (entry.isDirectory()) return IGNORED.has(entry.name) ? [] : filesUnder(path, matching);
      return entry.isFile() && matching.test(path) ? [path] : [];
    })
    .toSorted();
}

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** A node of the syntax tree (ESTree with TypeScript's nodes). */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly program: Node;
  readonly comments: readonly { readonly value: string; readonly start: number }[];
  /** Line of an offset, from 1. */
  lineAt(offset: number): number;
}

/** @throws Error when the file has a syntax error. */
export function parse(path: string, text = read(path)): Source {
  const { program, comments, errors } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return {
    path,
    text,
    lines: text.split('\n'),
    program: program as unknown as Node,
    comments,
    lineAt: lineCounter(text),
  };
}

function lineCounter(text: string): (offset: number) => number {
  let starts: number[] | null = null;
  return (offset) => {
    starts ??= [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

/** Calls `see` with every node below `node`, itself first, and its parents from the nearest outwards. */
export function visit(
  node: Node,
  see: (node: Node, parents: readonly Node[]) => void,
  parents: readonly Node[] = [],
): void {
  see(node, parents);
  let around: readonly Node[] | null = null;
  for (const key in node) {
    const value = node[key];
    if (typeof value !== 'object' || value === null) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue;
      around ??= [node, ...parents];
      visit(child, see, around);
    }
  }
}

interface Import {
  readonly from: string;
  readonly kind: 'type' | 'value';
  readonly line: number;
}

/** Static and dynamic imports, re-exports and `import('…')` types of a file. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  visit(source.program, (node) => {
    const from = node.source;
    if (!isNode(from) || typeof from.value !== 'string') return;
    found.push({ from: from.value, kind: importKind(node), line: source.lineAt(node.start) });
  });
  return found;
}

function importKind(node: Node): Import['kind'] {
  if (node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type') return 'type';
  return 'value';
}
