import { type Node, parse, visit } from '../../support/source.ts';

/** One expression of a source file, and its replacement. */
export interface Mutation {
  readonly file: string;
  /** Where `from` begins in the file. */
  readonly at: number;
  readonly from: string;
  readonly to: string;
  /** Counted from 1. */
  readonly line: number;
}

/** The operator that replaces each: a bound that is off by one, a condition that is negated, a sum that is a difference. */
const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '+',
  '&&': '||',
  '||': '&&',
};

type TextOf = (node: unknown) => string;

/** Every mutation of a TypeScript file, in the order of the text. Types, names and imports are left alone. */
export function mutationsOf(file: string, source: string): Mutation[] {
  const { program, lineAt } = parse(file, source);
  const found: Mutation[] = [];
  const textOf: TextOf = (node) => source.slice((node as Node).start, (node as Node).end);
  visit(program, (node, parents) => {
    if (parents.some(isOnlyCompiled)) return;
    const to = mutated(node, parents[0], textOf);
    if (to !== null) found.push({ file, at: node.start, from: textOf(node), to, line: lineAt(node.start) });
  });
  return found.sort((a, b) => a.at - b.at || b.from.length - a.from.length);
}

/** Types and imports, which the running program does not contain. `as`, `satisfies` and `!` hold an expression. */
const isOnlyCompiled = ({ type }: Node): boolean =>
  type === 'ImportDeclaration' || (type.startsWith('TS') && !HOLDING.has(type));
const HOLDING = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
  'TSParameterProperty',
]);

/** The replacement of an expression; null when it has none. */
function mutated(node: Node, parent: Node | undefined, textOf: TextOf): string | null {
  if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') return operated(node, textOf);
  if (node.type === 'UnaryExpression' && node.operator === '!') return textOf(node.argument);
  if (isCondition(node, parent)) return `!(${textOf(node)})`;
  if (isCallStatement(node, parent)) return 'undefined';
  if (node.type !== 'Literal' || parent?.key === node) return null;
  if (typeof node.value === 'number') return `${textOf(node)} + 1`;
  return typeof node.value === 'boolean' ? String(!node.value) : null;
}

function operated({ left, operator, right }: Node, textOf: TextOf): string | null {
  if (operator === '??') return textOf(left);
  const other = OPERATORS[String(operator)];
  // In parentheses, because the language refuses `??` beside `&&` and `||` without them.
  return other === undefined ? null : `(${textOf(left)}) ${other} (${textOf(right)})`;
}

const TESTING = new Set(['IfStatement', 'WhileStatement', 'ConditionalExpression']);

const isCondition = (node: Node, parent: Node | undefined): boolean =>
  parent !== undefined && TESTING.has(parent.type) && parent.test === node;

/** A call whose result is unused. */
function isCallStatement(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'ExpressionStatement') return false;
  const awaited =
    node.type === 'AwaitExpression' || (node.type === 'UnaryExpression' && node.operator === 'void');
  const inner = (awaited ? node.argument : node) as Node;
  return inner.type === 'CallExpression' && (inner.callee as Node).type !== 'Super';
}
