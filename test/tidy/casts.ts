import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';
import { budgetObjections, budgetTests, type Counts, countBy } from './budget.ts';

/** Casts (`as X`) in each room, and results of `JSON.parse` that are taken for a type. Both are unchecked claims; the numbers only shrink. */
const CASTS: Counts = {
  actors: 62,
  bench: 67,
  cli: 26,
  config: 3,
  engine: 91,
  examples: 2,
  media: 19,
  protocol: 25,
  root: 1,
  sdk: 26,
  services: 17,
  storage: 13,
  transports: 68,
  web: 1,
};
/** Casts among them that make an id of a certain kind out of a string. */
const ID_CASTS: Counts = {
  actors: 14,
  bench: 1,
  cli: 1,
  engine: 12,
  protocol: 2,
  services: 5,
  storage: 2,
  transports: 4,
};
/** Non-null assertions (`x!`). */
const NON_NULLS: Counts = {
  bench: 4,
  cli: 9,
  config: 4,
  engine: 16,
  examples: 2,
  media: 56,
  protocol: 2,
  sdk: 22,
  services: 2,
  storage: 1,
  transports: 4,
  web: 4,
};

/** Texts that `isAnyId` or `idOf<…>` makes an id of the kind that the place wants: casts by another name. */
const ANY_IDS: Counts = {
  engine: 1,
  transports: 3,
};

/** Functions that claim a type of what they are given (`x is T`). The wire's own guards in `protocol/` are free. */
const PREDICATES: Counts = {
  actors: 12,
  bench: 1,
  cli: 2,
  config: 2,
  engine: 20,
  media: 1,
  sdk: 12,
  services: 2,
  transports: 10,
  web: 9,
};

type Kind = 'cast' | 'id' | 'anyId' | 'nonNull' | 'predicate';

interface Assertion {
  readonly kind: Kind;
  readonly room: string;
}

const isNamed = (node: Node, names: ReadonlySet<string>): boolean =>
  node.type === 'TSTypeReference' && names.has((node.typeName as Node).name as string);

const CONST = new Set(['const']);

function isAnyIdCall({ callee, typeArguments }: Node): boolean {
  const { name } = callee as Node;
  return name === 'isAnyId' || (name === 'idOf' && typeArguments != null);
}

/** The nearest node around that does more than choose or wait for a value. */
const takerOf = (parents: readonly Node[]): number =>
  parents.findIndex(({ type }) => !/^(Conditional|Logical|Parenthesized|Await)Expression$/.test(type));

const FUNCTIONS = /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/;

/** The type for which the result of `JSON.parse(…)` is taken unchecked; null when it stays unknown, or a cast names the type. */
function uncheckedType(node: Node, parents: readonly Node[]): Node | null {
  const { object, property } = node.callee as Node as { object?: Node; property?: Node } & Node;
  if (object?.name !== 'JSON' || property?.name !== 'parse') return null;
  const at = takerOf(parents);
  const taker = parents[at];
  let annotation: Node | null | undefined;
  if (taker?.type === 'VariableDeclarator') annotation = (taker.id as Node).typeAnnotation as Node | null;
  else if (taker?.type === 'ReturnStatement' || taker?.type === 'ArrowFunctionExpression')
    annotation = parents.slice(at).find(({ type }) => FUNCTIONS.test(type))?.returnType as Node | null;
  else return null;
  const type = annotation?.typeAnnotation as Node | undefined;
  if (type === undefined) return taker;
  let isUnknown = false;
  visit(type, (part) => {
    isUnknown ||= part.type === 'TSUnknownKeyword';
  });
  return isUnknown ? null : type;
}

function assertionsOf(sources: readonly Source[], ids: ReadonlySet<string>): Assertion[] {
  const found: Assertion[] = [];
  for (const { path, program } of sources) {
    const room = path.includes('/') ? (path.split('/')[0] as string) : 'root';
    const claim = (type: Node): void => {
      found.push({ kind: 'cast', room });
      let isId = false;
      visit(type, (part) => {
        isId ||= isNamed(part, ids);
      });
      if (isId) found.push({ kind: 'id', room });
    };
    visit(program, (node, parents) => {
      const parsed = node.type === 'CallExpression' ? uncheckedType(node, parents) : null;
      if (parsed !== null) claim(parsed);
      if (node.type === 'TSTypePredicate' && node.typeAnnotation != null && room !== 'protocol')
        found.push({ kind: 'predicate', room });
      if (node.type === 'CallExpression' && isAnyIdCall(node)) found.push({ kind: 'anyId', room });
      if (node.type === 'TSNonNullExpression') found.push({ kind: 'nonNull', room });
      if (node.type !== 'TSAsExpression' && node.type !== 'TSTypeAssertion') return;
      const type = node.typeAnnotation as Node;
      if (!isNamed(type, CONST)) claim(type);
    });
  }
  return found;
}

/** Names of the types that `protocol/ids.ts` brands: `export type UserId = Id<'user'>`. */
function brandsOf({ program }: Source): Set<string> {
  const names = new Set<string>();
  visit(program, (node) => {
    if (node.type !== 'TSTypeAliasDeclaration') return;
    if (isNamed(node.typeAnnotation as Node, new Set(['Id']))) names.add((node.id as Node).name as string);
  });
  return names;
}

/** Casts and non-null assertions keep their budgets; `sources` are without tests. */
export function castRules(sources: readonly Source[]): void {
  describe('assertions about types', () => {
    const brands = brandsOf(sources.find(({ path }) => path === 'protocol/ids.ts') as Source);
    const found = assertionsOf(sources, brands);
    const roomsOf = (kind: Kind): Counts =>
      countBy(
        found.filter((each) => each.kind === kind),
        ({ room }) => room,
      );

    test.each([
      ['cast', CASTS, 'parse the value or narrow its type; `satisfies` checks where `as` claims'],
      ['id', ID_CASTS, 'take the id from where it was parsed, with its brand'],
      ['anyId', ANY_IDS, 'parse the text with the guard of its kind, such as `isGuildId`'],
      ['predicate', PREDICATES, 'let a schema or a guard of `protocol/` prove the type'],
      ['nonNull', NON_NULLS, 'handle the missing value, or assert it with a message'],
    ] as const)('of the kind %s stay within the budget of each room', (kind, budgets, advice) => {
      expect(budgetObjections(roomsOf(kind), budgets, advice)).toEqual([]);
    });

    test.each([
      ['a as B; a as unknown as B;', 'cast cast cast'],
      ['a as const; import { x as y } from "./z.ts";', ''],
      ['a as UserId; a as [UserId, Other]; a as Map<UserId, 1>;', 'cast id cast id cast id'],
      ['a!; a!.b![0];', 'nonNull nonNull nonNull'],
      ['isAnyId(a); idOf<UserId>(b); idOf(c);', 'anyId anyId'],
      ["const f = (t: unknown): t is UserId => typeof t !== 'number';", 'predicate'],
      ['function f(t: unknown): asserts t is string {} function g(t: unknown): asserts t {}', 'predicate'],
      ['const id: UserId = JSON.parse(s); const a = b ? JSON.parse(s) : null;', 'cast id cast'],
      [
        'const f = (s: string): Other => JSON.parse(s); function g(): Other { return JSON.parse(s); }',
        'cast cast',
      ],
      ['const a: unknown = JSON.parse(s); const f = (s: string): unknown => JSON.parse(s);', ''],
      [
        'const a = JSON.parse(s) as Other; async () => { const b: UserId[] = await JSON.parse(s); };',
        'cast cast id',
      ],
      ['a !== b; let a!: string; !a;', ''],
    ])('in %s are: %s', (text, kinds) => {
      const all = assertionsOf([parse('engine/sample.ts', text)], new Set(['UserId']));
      expect(all.map(({ kind }) => kind).join(' ')).toBe(kinds);
    });

    test('know every branded id', () => {
      expect([...brands]).toEqual(expect.arrayContaining(['GuildId', 'UserId', 'MessageId']));
      expect(brands).not.toContain('AnyId');
    });
  });

  describe('budgets', budgetTests);
}
