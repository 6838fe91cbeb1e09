import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

const FILLED_LATER = new Set(['Map', 'Set', 'WeakMap', 'WeakSet']);

/** Why a module-level declaration can hold state; null when it cannot. */
function stateIn(declarator: Node): string | null {
  const init = declarator.init as Node | null;
  if (init?.type !== 'NewExpression') return null;
  const name = (init.callee as Node).name as string;
  const isEmpty = (init.arguments as Node[]).length === 0;
  return FILLED_LATER.has(name) && isEmpty ? `an empty ${name} is there to be filled` : null;
}

/** Declarations of a module that change after it is loaded. */
function moduleState({ path, program, lineAt }: Source): string[] {
  return (program.body as Node[]).flatMap((statement) => {
    const declaration = (statement.declaration as Node | null | undefined) ?? statement;
    if (declaration.type !== 'VariableDeclaration') return [];
    const where = `${path}:${lineAt(declaration.start)}`;
    if (declaration.kind !== 'const') return [`${where}: a module-level ${declaration.kind}`];
    return (declaration.declarations as Node[]).flatMap((each) => {
      const why = stateIn(each);
      return why ? [`${where}: ${why}; make it a field of the aggregate's state`] : [];
    });
  });
}

/** Methods that change an array, a map or a set. */
const CHANGES = new Set([
  ...['push', 'pop', 'shift', 'unshift', 'splice', 'sort', 'reverse', 'fill', 'copyWithin'],
  ...['set', 'add', 'delete', 'clear'],
]);

const FUNCTIONS = /^(Function|ArrowFunction)/;

/** The name of the object whose member this is; null when it is not a plain name. */
const objectOf = (node: Node): string | null => {
  const object = node.type === 'MemberExpression' ? (node.object as Node) : null;
  return object?.type === 'Identifier' ? (object.name as string) : null;
};

/** The name of the object that a node changes, or null. */
function changedBy(node: Node): string | null {
  switch (node.type) {
    case 'CallExpression': {
      const callee = node.callee as Node;
      const method = callee.type === 'MemberExpression' ? ((callee.property as Node).name as string) : '';
      return CHANGES.has(method) ? objectOf(callee) : null;
    }
    case 'AssignmentExpression':
      return objectOf(node.left as Node);
    case 'UpdateExpression':
      return objectOf(node.argument as Node);
    case 'UnaryExpression':
      return node.operator === 'delete' ? objectOf(node.argument as Node) : null;
    default:
      return null;
  }
}

/** Constants that one function fills and reads again before it returns: no call depends on an earlier one. */
const SCRATCH = new Set(['protocol/json.ts words']);

/** Whether a function has a variable or parameter of this name. */
function declares(scope: Node, name: string): boolean {
  let isDeclared = (scope.params as Node[]).some((param) => param.name === name);
  visit(scope, (node) => {
    isDeclared ||= node.type === 'VariableDeclarator' && (node.id as Node).name === name;
  });
  return isDeclared;
}

/** Changes that functions make to constants of the module. */
function changedConstants({ path, program, lineAt }: Source): string[] {
  const names = new Set<string>();
  for (const statement of program.body as Node[]) {
    const declaration = (statement.declaration as Node | null | undefined) ?? statement;
    if (declaration.type !== 'VariableDeclaration') continue;
    for (const { id } of declaration.declarations as { id: Node }[]) names.add(id.name as string);
  }
  const found: string[] = [];
  visit(program, (node, parents) => {
    const name = changedBy(node);
    if (name === null || !names.has(name) || SCRATCH.has(`${path} ${name}`)) return;
    const scopes = parents.filter(({ type }) => FUNCTIONS.test(type));
    if (scopes.length === 0 || scopes.some((scope) => declares(scope, name))) return;
    found.push(`${path}:${lineAt(node.start)}: changes ${name}; make it a field of the aggregate's state`);
  });
  return found;
}

/** Modules of the pure rooms hold no state; `sources` are theirs. */
export function moduleStateRules(sources: readonly Source[]): void {
  describe('modules of the pure rooms', () => {
    test('hold no state that changes', () => {
      expect(sources.flatMap((source) => [...moduleState(source), ...changedConstants(source)])).toEqual([]);
    });

    test.each([
      ['let n = 0;', 1],
      ['export let n = 0;', 1],
      ['const seen = new WeakMap<object, string>();', 1],
      ['export const all = new Map();', 1],
      ["const known: ReadonlySet<string> = new Set(['a']);", 0],
      ['const f = () => { let n = 0; const all = new Map(); return [n, all]; };', 0],
    ])('that say %s are refused %i times', (text, count) => {
      expect(moduleState(parse('engine/sample.ts', text))).toHaveLength(count);
    });

    test.each([
      ['const seen: string[] = []; export const f = (s: string) => seen.push(s);', 1],
      ['const all = { n: 0 }; export function f() { all.n += 1; return all.n++; }', 2],
      ["const by = new Map([['a', 1]]); export const f = () => by.set('b', 2);", 1],
      ['const all: Record<string, number> = {}; export const f = () => delete all.n;', 1],
      ["const kinds = new Set(['a']); for (const one of ['b']) kinds.add(one);", 0],
      ['export const f = () => { const all: number[] = []; all.push(1); return all; };', 0],
      ['const all = [1]; export const f = () => { const all = [2]; all.push(1); return all; };', 0],
    ])('that change constants in %s are refused %i times', (text, count) => {
      expect(changedConstants(parse('engine/sample.ts', text))).toHaveLength(count);
    });
  });
}
