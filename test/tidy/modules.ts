import { posix } from 'node:path';
import { type Node, type Source, visit } from '../support/source.ts';

/** Stands for everything that a module exports. */
export const ALL = '*';

/** Imports and exports of one file. Paths are from the root. */
export interface Module {
  readonly path: string;
  readonly uses: readonly { readonly from: string; readonly names: readonly string[] }[];
  readonly exports: readonly Export[];
  /** Files of which it offers everything: `export * from`. */
  readonly stars: readonly string[];
  /** Files that it names in a string, as one names a worker or a page. */
  readonly named: readonly string[];
  /** Types that its rows of commands and facts name: the compiler writes them into the type of an aggregate. */
  readonly inRows: ReadonlySet<string>;
}

interface Export {
  readonly name: string;
  readonly isType: boolean;
  /** Where a re-export has it from. */
  readonly origin: { readonly path: string; readonly name: string } | null;
}

/** Path of a built file, and its source: `dist/a.js` and `dist/fuzz/a.js` of `a.ts`. */
const BUILT = /^(?:dist\/(?:fuzz\/)?)?(.*)\.(?:[mc]?js|tsx?)$/;

/** The source that a text in the file `by` names, from there or from the root; null when it names none. */
export function fileNamed(text: string, by: string, known: ReadonlySet<string>): string | null {
  for (const path of [posix.join(posix.dirname(by), text), posix.normalize(text)]) {
    const stem = BUILT.exec(path)?.[1];
    const found = [`${stem}.ts`, `${stem}.tsx`].find((each) => known.has(each));
    if (found !== undefined) return found;
  }
  return null;
}

export function moduleOf(source: Source, known: ReadonlySet<string>): Module {
  const { path } = source;
  const module = {
    path,
    uses: [] as { from: string; names: string[] }[],
    exports: [] as Export[],
    stars: [] as string[],
    named: [] as string[],
    inRows: new Set<string>(),
  };
  visit(source.program, (node, parents) => {
    if (isReference(node) && isInRows(parents)) module.inRows.add(nameOf(node.typeName));
    const from = originOf(node, path, known);
    if (node.type === 'ExportAllDeclaration') module.stars.push(...(from ? [from] : []));
    else if (isExport(node, parents)) module.exports.push(...exportsOf(node, from));
    else if (from) module.uses.push({ from, names: takenNames(node, parents) });
    else if (node.type === 'Literal' && typeof node.value === 'string' && parents[0]?.source !== node) {
      const file = fileNamed(node.value, path, known);
      if (file !== null && file !== path) module.named.push(file);
    }
  });
  return module;
}

/** At the top of its file; what a `declare module` has within is another one's. */
const isExport = ({ type }: Node, [parent]: readonly Node[]): boolean =>
  type.startsWith('Export') && parent?.type === 'Program';

const isReference = ({ type }: Node): boolean => type === 'TSTypeReference';
/** Below `type GuildCommands = …` or `type GuildFacts = …`. */
const isInRows = (parents: readonly Node[]): boolean =>
  parents.some(({ type, id }) => type === 'TSTypeAliasDeclaration' && /(Commands|Facts)$/.test(nameOf(id)));

const nameOf = (node: unknown): string => String((node as Node).name ?? (node as Node).value);

function originOf(node: Node, path: string, known: ReadonlySet<string>): string | null {
  const specifier = (node.source as Node | null | undefined)?.value;
  return typeof specifier === 'string' && specifier.startsWith('.')
    ? fileNamed(specifier, path, known)
    : null;
}

/** Names that an import takes; of a namespace, everything. */
function takenNames(node: Node, parents: readonly Node[]): string[] {
  if (node.type === 'TSImportType') return [ALL];
  if (node.type === 'ImportExpression') return awaitedNames(parents);
  return ((node.specifiers ?? []) as Node[]).map((specifier) => {
    if (specifier.type === 'ImportNamespaceSpecifier') return ALL;
    return specifier.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(specifier.imported);
  });
}

/** `const { a } = await import(…)` and `(await import(…)).a` say what they take; anything else may take everything. */
function awaitedNames([parent, around]: readonly Node[]): string[] {
  if (parent?.type !== 'AwaitExpression' || !around) return [ALL];
  const id = around.id as Node | undefined;
  if (around.type === 'VariableDeclarator' && id?.type === 'ObjectPattern')
    return (id.properties as Node[]).map(({ key }) => (key ? nameOf(key) : ALL));
  return around.type === 'MemberExpression' && around.computed === false ? [nameOf(around.property)] : [ALL];
}

function exportsOf(node: Node, from: string | null): Export[] {
  if (node.type === 'ExportDefaultDeclaration') return [{ name: 'default', isType: false, origin: null }];
  if (node.type !== 'ExportNamedDeclaration') return [];
  const declared = node.declaration as Node | null;
  if (declared) {
    const isType = /^TS(Interface|TypeAlias)Declaration$/.test(declared.type);
    return declaredNames(declared).map((name) => ({ name, isType, origin: null }));
  }
  return (node.specifiers as Node[]).map(({ exported, local, exportKind }) => ({
    name: nameOf(exported),
    isType: node.exportKind === 'type' || exportKind === 'type',
    origin: from === null ? null : { path: from, name: nameOf(local) },
  }));
}

function declaredNames(declaration: Node): string[] {
  if (declaration.type !== 'VariableDeclaration') return [nameOf(declaration.id)];
  return (declaration.declarations as Node[]).flatMap(({ id }) => boundNames(id as Node));
}

/** `a`, or `a` and `b` of `{ a, key: b }`. */
function boundNames(pattern: Node): string[] {
  if (pattern.type === 'Identifier') return [nameOf(pattern)];
  const found: string[] = [];
  visit(pattern, (node, [parent]) => {
    const isKey = parent?.type === 'Property' && parent.key === node && parent.shorthand === false;
    if (node.type === 'Identifier' && !isKey && !found.includes(nameOf(node))) found.push(nameOf(node));
  });
  return found;
}
