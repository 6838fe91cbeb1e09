import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

const FILLED_LATER = new Set(['Map', 'Set', 'WeakMap', 'WeakSet']);

/** The value below casts and `satisfies`. */
const bare = (node: Node): Node =>
  /^(TS\w+|Chain|Parenthesized)Expression$/.test(node.type) ? bare(node.expression as Node) : node;

/** Values that an object, an array or `Object.freeze` of them holds. */
function heldBy(node: Node): Node[] {
  if (node.type === 'ArrayExpression')
    return (node.elements as (Node | null)[]).filter((each) => each !== null);
  if (node.type === 'ObjectExpression')
    return (node.properties as Node[]).flatMap((each) =>
      each.type === 'Property' ? [each.value as Node] : [],
    );
  const isFrozen = node.type === 'CallExpression' && nameOf(node.callee as Node) === 'freeze';
  return isFrozen ? (node.arguments as Node[]) : [];
}

/** Whether an annotation lets no function fill the value, whomever it is passed to: the compiler sees to the rest. */
function isReadOnly(annotation: Node | null | undefined): boolean {
  const type = annotation?.typeAnnotation as Node | undefined;
  return type !== undefined && !FILLED_LATER.has(nameOf((type.typeName ?? type) as Node));
}

/** Why a module-level value can hold state, itself or in what it holds; null when it cannot. */
function stateIn(value: Node, annotation?: Node | null): string | null {
  const node = bare(value);
  if (node.type !== 'NewExpression') return heldStateIn(node);
  const name = (node.callee as Node).name as string;
  if (!FILLED_LATER.has(name)) return null;
  if ((node.arguments as Node[]).length === 0) return `an empty ${name} is there to be filled`;
  return isReadOnly(annotation)
    ? null
    : `a ${name} that its type lets a function fill: declare it Readonly${name}`;
}

const heldStateIn = (node: Node): string | null =>
  heldBy(bare(node))
    .map((held) => stateIn(held))
    .find((why) => why !== null) ?? null;

/** An object of a declared type may hold an empty map, which its type makes read-only; writing to it is found as well. */
const isTypedObject = (id: Node, init: Node): boolean =>
  id.typeAnnotation != null && bare(init).type !== 'NewExpression';

const ADVICE = "make it a field of the aggregate's state";

/** Why a node outlives the call that made it although no constant of the module holds it; null when it does not. */
function hiddenState(node: Node, parents: readonly Node[]): string | null {
  const isInFunction = parents.some(({ type }) => FUNCTIONS.test(type));
  if (node.type === 'PropertyDefinition' && node.static === true && !isInFunction) {
    if (node.readonly !== true) return 'a static field that changes';
    return node.value == null ? null : stateIn(node.value as Node, node.typeAnnotation as Node | null);
  }
  if (node.type !== 'CallExpression' || isInFunction) return null;
  const called = bare(node.callee as Node);
  if (!FUNCTIONS.test(called.type)) return null;
  let why: string | null = null;
  visit(called.body as Node, (inner, around) => {
    // What the function that is called at once declares lives as long as what it returns.
    if (inner.type !== 'VariableDeclaration' || around.some(({ type }) => FUNCTIONS.test(type))) return;
    if (inner.kind !== 'const') why ??= `a ${inner.kind} in a function that is called at once`;
    for (const { init } of inner.declarations as { init: Node | null }[]) if (init) why ??= stateIn(init);
  });
  return why;
}

/** Static fields, and closures of functions that are called at once, that hold state. */
function hiddenStates({ path, program, lineAt }: Source): string[] {
  const found: string[] = [];
  visit(program, (node, parents) => {
    const why = hiddenState(node, parents);
    if (why !== null) found.push(`${path}:${lineAt(node.start)}: ${why}; ${ADVICE}`);
  });
  return found;
}

/** Declarations of a module that change after it is loaded. */
function moduleState({ path, program, lineAt }: Source): string[] {
  return (program.body as Node[]).flatMap((statement) => {
    const declaration = (statement.declaration as Node | null | undefined) ?? statement;
    if (declaration.type !== 'VariableDeclaration') return [];
    const where = `${path}:${lineAt(declaration.start)}`;
    if (declaration.kind !== 'const') return [`${where}: a module-level ${declaration.kind}`];
    return (declaration.declarations as Node[]).flatMap((each) => {
      const init = each.init as Node | null;
      const { typeAnnotation } = each.id as Node;
      const isStateless = init === null || isTypedObject(each.id as Node, init);
      const why = isStateless ? null : stateIn(init, typeAnnotation as Node | null);
      return why ? [`${where}: ${why}; ${ADVICE}`] : [];
    });
  });
}

/** Methods that change an array, a map or a set. */
const CHANGES = new Set([
  ...['push', 'pop', 'shift', 'unshift', 'splice', 'sort', 'reverse', 'fill', 'copyWithin'],
  ...['set', 'add', 'delete', 'clear'],
]);

const FUNCTIONS = /^(Function|ArrowFunction)/;

/** The name of a member, also of `a['b']`; of an identifier, its own. */
function nameOf(node: Node): string {
  const named = node.type === 'MemberExpression' ? (node.property as Node) : node;
  return String(named.name ?? named.value ?? '');
}

/** The name at the start of `a.b.get(c)!.d`, which holds what the last member changes; null when there is none. */
function rootOf(node: Node): string | null {
  const of = bare(node);
  if (of.type === 'Identifier') return of.name as string;
  if (of.type === 'MemberExpression') return rootOf(of.object as Node);
  const callee = of.type === 'CallExpression' ? (of.callee as Node) : null;
  // Other methods return copies.
  return callee?.type === 'MemberExpression' && nameOf(callee) === 'get' ? rootOf(callee) : null;
}

/** The name of the constant in which a member is; null when it is not a member. */
const objectOf = (node: Node): string | null => {
  const member = bare(node);
  return member.type === 'MemberExpression' ? rootOf(member.object as Node) : null;
};

/** What a call changes: the object of a method, or the first argument of `Object.assign`. */
function changedByCall({ callee, arguments: given }: { callee: Node; arguments: Node[] }): string | null {
  if (callee.type !== 'MemberExpression') return null;
  const [first] = given;
  if (first && nameOf(callee) === 'assign' && nameOf(callee.object as Node) === 'Object')
    return rootOf(first);
  return CHANGES.has(nameOf(callee)) ? objectOf(callee) : null;
}

/** The name of the object that a node changes, or null. */
function changedBy(node: Node): string | null {
  switch (node.type) {
    case 'CallExpression':
      return changedByCall(node as unknown as { callee: Node; arguments: Node[] });
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

/** Names that a pattern binds. */
function boundBy(pattern: Node | null): string[] {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern.name as string];
    case 'ObjectPattern':
      return (pattern.properties as Node[]).flatMap(({ value, argument }) =>
        boundBy((value ?? argument) as Node),
      );
    case 'ArrayPattern':
      return (pattern.elements as (Node | null)[]).flatMap(boundBy);
    case 'AssignmentPattern':
      return boundBy(pattern.left as Node);
    case 'RestElement':
      return boundBy(pattern.argument as Node);
    default:
      return [];
  }
}

/** Whether a function has a variable or parameter of this name. */
function declares(scope: Node, name: string): boolean {
  let isDeclared = (scope.params as Node[]).flatMap(boundBy).includes(name);
  visit(scope, (node) => {
    isDeclared ||= node.type === 'VariableDeclarator' && boundBy(node.id as Node).includes(name);
  });
  return isDeclared;
}

/** Changes that functions make to constants of the module. */
function changedConstants({ path, program, lineAt }: Source): string[] {
  const names = new Set<string>();
  for (const statement of program.body as Node[]) {
    const declaration = (statement.declaration as Node | null | undefined) ?? statement;
    if (declaration.type !== 'VariableDeclaration') continue;
    for (const { id } of declaration.declarations as { id: Node }[])
      for (const name of boundBy(id)) names.add(name);
  }
  const found: string[] = [];
  visit(program, (node, parents) => {
    const name = changedBy(node);
    if (name === null || !names.has(name) || SCRATCH.has(`${path} ${name}`)) return;
    const scopes = parents.filter(({ type }) => FUNCTIONS.test(type));
    if (scopes.length === 0 || scopes.some((scope) => declares(scope, name))) return;
    found.push(`${path}:${lineAt(node.start)}: changes ${name}; ${ADVICE}`);
  });
  return found;
}

const RULES = [moduleState, hiddenStates, changedConstants];

/** Modules of the pure rooms hold no state; `sources` are theirs. */
export function moduleStateRules(sources: readonly Source[]): void {
  describe('modules of the pure rooms', () => {
    test('hold no state that changes', () => {
      expect(sources.flatMap((source) => RULES.flatMap((rule) => rule(source)))).toEqual([]);
    });

    test.each([
      ['let n = 0; export let m = 0;', 2],
      ['const seen = new WeakMap<object, string>(); export const all = new Map();', 2],
      ['const memo = { by: new Map() }; const kept = { a: [{ b: new Set<string>() }] };', 2],
      ['const NOTHING: Wants = { by: new Map() };', 0],
      ['const memo = Object.freeze({ by: new WeakMap() } as const);', 1],
      ["const known: ReadonlySet<string> = new Set(['a']);", 0],
      [
        "const by = new Map([['a', 1]]); const f = (m: Map<string, number>) => m.clear(); const g = () => f(by);",
        1,
      ],
      ["const known = new Set(['a']); const all: Map<string, number> = new Map([['a', 1]]);", 2],
      ["const table = { a: new Set(['a']), make: () => new Map(), none: [] };", 1],
      ["const table: Table = { a: new Set(['a']), make: () => new Map(), none: [] };", 0],
      ['const f = () => { let n = 0; const all = new Map(); return [n, all]; };', 0],
    ])('that say %s are refused %i times', (text, count) => {
      expect(moduleState(parse('engine/sample.ts', text))).toHaveLength(count);
    });

    test.each([
      ['class Memo { static readonly seen = new Map(); static n = 0; }', 2],
      ['export class Memo { static readonly by: ReadonlyMap<string, number> = new Map(); }', 1],
      [
        "class Memo { static readonly LIMIT = 5; static readonly #all: ReadonlySet<string> = new Set(['a']); }",
        0,
      ],
      ['class Memo { n = 0; readonly seen = new Map(); static of() { return new Memo(); } }', 0],
      ['const next = (() => { let n = 0; return () => ++n; })();', 1],
      ['export const next = (function () { let n = 0; return () => ++n; })();', 1],
      ['const seen = (() => { const all = new Map(); return (s: string) => all.set(s, 1); })();', 1],
      ['const table = { next: (() => { if (a) { var n = 0; } return () => ++n; })() };', 1],
      ['const table = (() => { const all = { a: 1 }; return () => all.a; })();', 0],
      ['const f = () => (() => { let n = 0; return ++n; })();', 0],
      ['const table = (() => list.map((one) => { let n = one; n += 1; return n; }))();', 0],
    ])('that hide state in %s are refused %i times', (text, count) => {
      expect(hiddenStates(parse('engine/sample.ts', text))).toHaveLength(count);
    });

    test.each([
      ['const seen: string[] = []; export const f = (s: string) => seen.push(s);', 1],
      ['const all = { n: 0 }; export function f() { all.n += 1; return all.n++; }', 2],
      ["const by = new Map([['a', 1]]); export const f = () => by.set('b', 2);", 1],
      ['const all: Record<string, number> = {}; export const f = () => delete all.n;', 1],
      ['const memo: Memo = { by: new Map() }; export const f = () => memo.by.clear();', 1],
      ["const memo = { by: new Map([['a', 1]]) }; export const f = () => memo.by.set('b', 2);", 1],
      [
        'const memo = { a: { list: [1] } }; export const f = () => { memo.a.list.push(2); memo.a.list[0] = 3; };',
        2,
      ],
      ["const memo = { a: { n: 0 } }; export const f = () => { memo['a'].n += 1; delete memo.a!.n; };", 2],
      ["const by = new Map([['a', [1]]]); export const f = () => by.get('a')?.push(2);", 1],
      ['const { all } = { all: [1] }; export const f = () => all.push(2);', 1],
      ['const memo = { n: 0 }; export const f = () => Object.assign(memo, { n: 1 });', 1],
      ['const all = { list: [2, 1] }; export const f = () => all.list.toSorted().concat(1).sort();', 0],
      ['const memo = { by: [1] }; export const f = ({ memo }: { memo: Memo }) => memo.by.push(2);', 0],
      ["const kinds = new Set(['a']); for (const one of ['b']) kinds.add(one);", 0],
      ['export const f = () => { const all: number[] = []; all.push(1); return all; };', 0],
      ['const all = [1]; export const f = () => { const all = [2]; all.push(1); return all; };', 0],
    ])('that change constants in %s are refused %i times', (text, count) => {
      expect(changedConstants(parse('engine/sample.ts', text))).toHaveLength(count);
    });
  });
}
