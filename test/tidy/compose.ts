import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';
import { budgetObjections, type Counts } from './budget.ts';

/** Where everything is joined. Each file is a list of "make this, give it that". */
const ROOM = 'compose/';

/**
 * Decisions that are left there. A timer, a refusal, a query, a commit or a loop belongs to the room of what it decides:
 * actors, services, storage or transports; what settings mean together belongs to config/choices.ts. A condition may only
 * ask whether a part or a setting is there, to choose which part to make; what it takes to compute a number, or to ask for
 * one setting or another, belongs to config/choices.ts too, and a number that no operator sets to config/fixed.ts. The numbers only shrink; the goal is a dozen files and nothing else.
 */
const DECISIONS: Counts = {
  files: 13,
  // The security trail reports whole milliseconds.
  globals: 1,
  // The directory numbers a shard's ids once the shard has joined.
  state: 1,
};

/** A budget is exact: a decision that has moved out does not come back. The room may have fewer files. */
const SLACK = 3;

const TIMERS = new Set(['setTimeout', 'setInterval', 'setTimer', 'after', 'every', 'pause', 'sleep']);
const REFUSALS = new Set(['refusal', 'refused', 'invalidField']);
const COMMITS = new Set(['commit', 'commitAsOwner', 'commitAndNotify', 'append']);
const STATE = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef']);
const STORES = /^(storage|stores?|driver|database|sql)$/i;
/** Members of a store that open, watch or end it; everything else reads or writes rows. */
const CONNECTS = new Set(['close', 'flush', 'unready', 'onFilesGone', 'followIds']);
/** Loops by a method, over what others live in. */
const ITERATES = new Set(['forEach', 'map', 'flatMap', 'filter', 'some', 'every', 'find', 'reduce']);
const LIVING =
  /([sS]ession|[mM]ember|[sS]hell|[aA]ctor|[pP]layer|[gG]uild|[cC]all|[uU]ser)s$|[lL]obbies$|[rR]egistries$|^live$/;
/** Methods that compare a value with others: `['a', 'b'].includes(config.c)`. */
const COMPARES = new Set([
  'includes',
  'indexOf',
  'some',
  'every',
  'has',
  'startsWith',
  'endsWith',
  'test',
  'match',
]);
const FUNCTIONS = /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/;

const nameOf = (node: Node): string => {
  const named = node.type === 'MemberExpression' ? (node.property as Node) : node;
  return String(named.name ?? '');
};

/** Names in the arguments of `Object.values(registries)`; other calls have results of their own. */
const argumentsOf = (call: Node): string[] =>
  /^(values|entries|keys|from)$/.test(nameOf(call.callee as Node))
    ? (call.arguments as Node[]).flatMap(chainOf)
    : [];

/** The names of a member expression, from the last: `b` and `a` of `a.b`. Calls on the way are looked through. */
function chainOf(node: Node): string[] {
  if (node.type === 'MemberExpression') return [nameOf(node), ...chainOf(node.object as Node)];
  if (node.type === 'ChainExpression' || node.type === 'TSNonNullExpression')
    return chainOf(node.expression as Node);
  if (node.type === 'CallExpression') return [...chainOf(node.callee as Node), ...argumentsOf(node)];
  if (node.type === 'ArrayExpression') return (node.elements as Node[]).flatMap(chainOf);
  if (node.type === 'SpreadElement') return chainOf(node.argument as Node);
  return [nameOf(node)];
}

/** A wheel's `add` begins a timer; a set's does not. */
const beginsTimer = (callee: Node): boolean =>
  TIMERS.has(nameOf(callee)) ||
  (callee.type === 'MemberExpression' &&
    nameOf(callee) === 'add' &&
    /wheel$/i.test(nameOf(callee.object as Node)));

const isLoop = ({ type }: Node): boolean => /^(For|While|DoWhile)/.test(type);

/** Names that a pattern binds. */
function boundBy(pattern: Node): string[] {
  if (pattern.type === 'Identifier') return [nameOf(pattern)];
  if (pattern.type !== 'ObjectPattern') return [];
  return (pattern.properties as Node[]).flatMap((property) =>
    property.type === 'Property' ? boundBy(property.value as Node) : [],
  );
}

/** Whether a pattern's annotation names a type: `{ settings }: Pick<Storage, 'settings'>`. */
function takes(type: string, pattern: Node): boolean {
  const annotation = pattern.typeAnnotation as Node | null | undefined;
  let found = false;
  if (annotation)
    visit(annotation, (node) => {
      found ||= node.type === 'TSTypeReference' && nameOf(node.typeName as Node) === type;
    });
  return found;
}

/** Names of the file that are stores: taken from the storage by a pattern, a parameter or an assignment. */
function storesIn(program: Node): ReadonlySet<string> {
  const names = new Set<string>();
  visit(program, (node) => {
    if (node.type === 'VariableDeclarator' && node.init) {
      const isFrom = /^(MemberExpression|Identifier)$/.test((node.init as Node).type);
      if (isFrom && chainOf(node.init as Node).some((name) => STORES.test(name)))
        for (const name of boundBy(node.id as Node)) names.add(name);
    }
    if (node.type === 'ObjectPattern' && takes('Storage', node))
      for (const name of boundBy(node)) names.add(name);
    if (node.type === 'Property' && (node.value as Node).type === 'ObjectPattern')
      if (STORES.test(nameOf(node.key as Node)))
        for (const name of boundBy(node.value as Node)) names.add(name);
  });
  return names;
}

/** Names of the file that are settings: taken from the configuration by a pattern or a parameter, or the configuration itself. */
function settingsIn(program: Node): ReadonlySet<string> {
  const names = new Set(['config']);
  visit(program, (node) => {
    const isFrom = node.type === 'VariableDeclarator' && node.init && nameOf(node.init as Node) === 'config';
    if (isFrom) for (const name of boundBy(node.id as Node)) names.add(name);
    if (node.type === 'ObjectPattern' && takes('Config', node))
      for (const name of boundBy(node)) names.add(name);
  });
  return names;
}

/** Whether a value is a setting, below the casts and negations around it. */
function isSetting(node: Node, settings: ReadonlySet<string>): boolean {
  if (node.type === 'UnaryExpression') return isSetting(node.argument as Node, settings);
  if (node.type === 'ParenthesizedExpression') return isSetting(node.expression as Node, settings);
  return (
    /^(Identifier|Member|Chain|TSNonNull)/.test(node.type) && chainOf(node).some((name) => settings.has(name))
  );
}

/** The nearest node around that is not a pair of parentheses. */
const outerOf = (parents: readonly Node[]): Node | undefined =>
  parents.find(({ type }) => type !== 'ParenthesizedExpression');

/** What settings mean together, decided by an operator: `a || b`, `a && b` and arithmetic. */
function combines(
  { type, operator, left, right }: Node,
  parent: Node | undefined,
  names: ReadonlySet<string>,
) {
  const operands = [left as Node, right as Node];
  if (type === 'LogicalExpression') {
    if (operator === '||') return 'conditions';
    // `...(config.a && { a })` gives a part only where a setting is there.
    const isChoice = operator === '&&' && parent?.type !== 'SpreadElement';
    return isChoice && operands.some((each) => isSetting(each, names)) ? 'conditions' : null;
  }
  if (type !== 'BinaryExpression' || !/^(\+|-|\*|\/|%|\*\*)$/.test(String(operator))) return null;
  const isNumber = ({ type, value }: Node) => type === 'Literal' && typeof value === 'number';
  return operands.some((each) => isNumber(each) || isSetting(each, names)) ? 'arithmetic' : null;
}

/** Whether a call reads or writes rows. */
function queries(callee: Node, stores: ReadonlySet<string>): boolean {
  if (callee.type !== 'MemberExpression' || CONNECTS.has(nameOf(callee))) return false;
  return chainOf(callee.object as Node).some((name) => STORES.test(name) || stores.has(name));
}

/** The name of a function, by its declaration or by the constant that holds it; null for none. */
function functionName(node: Node, parent: Node | undefined): string | null {
  if (node.type === 'FunctionDeclaration') return nameOf(node.id as Node);
  return parent?.type === 'VariableDeclarator' ? nameOf(parent.id as Node) : null;
}

/** Whether an identifier names a function around it, which calls itself or passes itself to what calls it later. */
const rearms = (node: Node, parents: readonly Node[]): boolean =>
  parents.some(
    (around, at) =>
      FUNCTIONS.test(around.type) &&
      at > 0 &&
      parents[at - 1] === around.body &&
      functionName(around, parents[at + 1]) === nameOf(node),
  );

/** Whether a node uses the value of its name: not a key, a type or a declaration. */
function isUse(node: Node, parent: Node | undefined): boolean {
  if (node.type !== 'Identifier' || parent === undefined) return false;
  if (parent.type === 'CallExpression') return true;
  return parent.type === 'NewExpression' && (parent.arguments as Node[]).includes(node);
}

function decisionOfCall(callee: Node, stores: ReadonlySet<string>): string | null {
  const name = nameOf(callee);
  if (callee.type === 'MemberExpression' && ITERATES.has(name)) {
    const over = chainOf(callee.object as Node);
    if (over.some((each) => LIVING.test(each))) return 'loops';
  }
  if (
    callee.type === 'MemberExpression' &&
    COMPARES.has(name) &&
    !/[tT]imers$/.test(nameOf(callee.object as Node))
  )
    return 'comparisons';
  if (beginsTimer(callee)) return 'timers';
  if (COMMITS.has(name)) return 'commits';
  if (callee.type === 'MemberExpression' && name === 'catch') return 'tries';
  if (REFUSALS.has(name)) return 'refusals';
  return queries(callee, stores) ? 'queries' : null;
}

/** Kinds of syntax nodes with which parts are made and passed on. Types are always allowed. */
const FORMS = new Set(
  `Program ImportDeclaration ImportSpecifier ImportNamespaceSpecifier ImportExpression ExportNamedDeclaration
  FunctionDeclaration FunctionExpression ArrowFunctionExpression BlockStatement ExpressionStatement ReturnStatement
  VariableDeclaration VariableDeclarator AssignmentPattern ObjectPattern ArrayPattern RestElement IfStatement
  Identifier PrivateIdentifier ThisExpression Literal TemplateLiteral TemplateElement Property ObjectExpression ArrayExpression SpreadElement
  MemberExpression ChainExpression ParenthesizedExpression CallExpression NewExpression AwaitExpression
  ConditionalExpression LogicalExpression BinaryExpression UnaryExpression AssignmentExpression`.split(/\s+/),
);
/** Kinds that other rules of this file count. */
const NAMED = /^(TS|For|While|DoWhile|Try|Catch|Throw|Switch|TaggedTemplate)/;
/** Functions of the language that copy or convert; `Math.max` and `Promise.reject` decide. */
const CONVERTS =
  /^(Object\.(entries|values|keys|fromEntries|assign|freeze)|Promise\.all|Buffer\.from|BigInt|Boolean|Number|String)$/;

/** A node that the forms of the room do not cover, by the decision that it makes; null for all others. */
function unlistedForm(node: Node, parents: readonly Node[]): string | null {
  const { type, callee, operator, left, init, key, value, property } = node as Record<
    string,
    Node | undefined
  > &
    Node;
  if (type === 'CallExpression' && callee) {
    const [name = '', ...rest] = chainOf(callee);
    const called = [...rest, name].join('.');
    // `forEach` does something with each element, where `map` makes a part of each.
    if (callee.type === 'MemberExpression' && /^(forEach|reduce)$/.test(name)) return 'loops';
    if ((rest.at(-1) ?? name) in globalThis && !CONVERTS.test(called) && !beginsTimer(callee))
      return 'globals';
  }
  if (type === 'UpdateExpression') return 'state';
  if (type === 'AssignmentExpression' && (String(operator) !== '=' || left?.type === 'MemberExpression'))
    return 'state';
  if (type === 'VariableDeclarator' && init?.type === 'ObjectExpression')
    return (init.properties as Node[]).length === 0 ? 'state' : null;
  // A function of config/choices.ts may choose the entry.
  if (
    type === 'MemberExpression' &&
    node.computed === true &&
    !/^(Literal|CallExpression)$/.test(property!.type)
  )
    return 'tables';
  if (
    type === 'Property' &&
    key &&
    (nameOf(key) === 'refusal' || (nameOf(key) === 'ok' && value?.value === false))
  )
    return 'refusals';
  if (type === 'ConditionalExpression' && outerOf(parents)?.type === type) return 'conditions';
  return FORMS.has(type) || NAMED.test(type) ? null : 'forms';
}

/** The decision that a node makes, or null. */
function decisionOf(node: Node, parents: readonly Node[], stores: ReadonlySet<string>): string | null {
  if (node.type === 'NewExpression') {
    const name = nameOf(node.callee as Node);
    if (STATE.has(name)) return 'state';
    return name === 'DispatchBody' ? 'dispatches' : null;
  }
  if (isLoop(node)) return 'loops';
  if (node.type === 'TryStatement') return 'tries';
  if (node.type === 'ThrowStatement') return 'throws';
  if (node.type === 'SwitchStatement' || compares(node)) return 'comparisons';
  if (node.type === 'Literal' && node.regex != null) return 'patterns';
  if (isBareNumber(node)) return 'numbers';
  if (node.type === 'TaggedTemplateExpression') return 'queries';
  if (isUse(node, parents[0]) && rearms(node, parents)) return 're-arming';
  return node.type === 'CallExpression' ? decisionOfCall(node.callee as Node, stores) : null;
}

/** A bound, a time or a rate written out. 0 and 1 are none: nothing, a first index, one of something. */
const isBareNumber = ({ type, value }: Node): boolean =>
  type === 'Literal' &&
  (typeof value === 'number' || typeof value === 'bigint') &&
  value !== 0 &&
  value !== 1;

const isNothing = (node: Node): boolean =>
  (node.type === 'Literal' && node.value === null && node.regex == null) || nameOf(node) === 'undefined';

/** Whether a node compares values. A comparison with null only asks whether a value is there. */
function compares({ type, operator, left, right }: Node): boolean {
  if (type !== 'BinaryExpression' || !/^([<>]=?|[!=]==?|in|instanceof)$/.test(String(operator))) return false;
  return !isNothing(left as Node) && !isNothing(right as Node);
}

interface Decision {
  readonly kind: string;
  readonly where: string;
}

function decisionsOf({ path, program, lineAt }: Source): Decision[] {
  const found: Decision[] = [];
  const [stores, settings] = [storesIn(program), settingsIn(program)];
  visit(program, (node, parents) => {
    const kind =
      decisionOf(node, parents, stores) ??
      combines(node, outerOf(parents), settings) ??
      unlistedForm(node, parents);
    if (kind !== null) found.push({ kind, where: `${path}:${lineAt(node.start)}` });
  });
  return found;
}

function decisionsIn(sources: readonly Source[]): Counts {
  const counts: Record<string, number> = { files: sources.length };
  for (const { kind } of sources.flatMap(decisionsOf)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** What the rules count. */
const SAMPLES: readonly (readonly [text: string, expected: Counts])[] = [
  ['wheel.add(f, 1); this.#wheel.after(f, 1); setTimeout(f, 1);', { timers: 3 }],
  ['clock.setTimer(f, 1); setInterval(f, 1); lifetime.pause(1);', { timers: 3 }],
  ['set.add(f); const after = 1; lists.add(after);', {}],
  ["refusal('X'); refused(a); invalidField(['a'], 'B', 'c');", { refusals: 3 }],
  ["new DispatchBody('A', {}, 1);", { dispatches: 1 }],
  // Queries: of the storage, of a store taken from it, of a parameter, and as text.
  ['storage.users.get(id); ports.storage.applications.list(); context.store?.due(1);', { queries: 3 }],
  ['const { users, ...rest } = context.storage; users.get(id); guilds.get(id);', { queries: 1 }],
  ['const store = storage.webhooks; store.of(id);', { queries: 1 }],
  ["const f = ({ settings }: Pick<Storage, 'settings'>) => settings.putIfAbsent('a', 'b');", { queries: 1 }],
  ['const f = ({ storage: { settings } }) => settings.putIfAbsent(1);', { queries: 1 }],
  ['sql`SELECT 1`;', { queries: 1 }],
  ['storage.close(); storage.writer.flush(); make({ store: storage.users });', {}],
  ["await commit(id, [{ type: 'relationsForgotten' }]);", { commits: 1 }],
  [
    'context.commitAsOwner(id, facts); ports.commitAndNotify(a, b); make({ commit, commitAsOwner });',
    { commits: 2 },
  ],
  // Loops over what others live in.
  ['for (const session of sessions.live) session.close(); while (a) b();', { loops: 2 }],
  ['registry.shells().forEach(play); [...lobby.members].map(f); sessions.live.filter(f);', { loops: 3 }],
  ['Object.values(registries).map((registry) => registry.close());', { loops: 1 }],
  ['for (const a of b) await a;', { loops: 1 }],
  ['SESSION_KINDS.map((kind) => metric(kind)); f({ onFault: (error) => onFault(error) });', {}],
  // Waits that arm themselves again.
  ['function poll() { clock.defer(poll); }', { 're-arming': 1 }],
  [
    'const again = () => void wait(1).then(again); const step = async () => { await step(); };',
    { 're-arming': 2 },
  ],
  ['const queue = make({ get: () => queue }); const open = () => opened(); open();', {}],
  ['const voices = new WeakMap(); const kept = new Map(); new Set();', { state: 3 }],
  ['const lives = new Lifetime(clock); new Registry({});', {}],
  ['try { open(); } catch { open(); }', { tries: 1 }],
  ['job.catch((error) => onFault(error));', { tries: 1 }],
  // Conditions ask only whether a part or a setting is there.
  ['const a = given ?? make(); if (b === null) c(); const d = config.voice ? e() : undefined;', {}],
  ["const a = config.journal === 'on' ? b() : c; if (port < 1) d(); switch (e) {}", { comparisons: 3 }],
  [
    "const a = ['b', 'c'].includes(config.d) ? 3 : 4; names.some((name) => name === e);",
    { comparisons: 3, numbers: 2 },
  ],
  ["f(config.url.startsWith('http:')); kinds.has(config.kind); list.every(Boolean);", { comparisons: 3 }],
  [
    'const a = { max: config.sockets_max * 2, all: config.a + config.b }; f(parts.length + 1);',
    { arithmetic: 3, numbers: 1 },
  ],
  ['const { a, b: c } = config; f(a - d, c / d); const g = ({ a }: Config) => a % d;', { arithmetic: 3 }],
  [
    'if (config.a || b) c(); const d = e || f; const g = config.h && given; i(!config.j && k);',
    { conditions: 4 },
  ],
  ['f({ ...(config.a && { b }), ...(config.c !== null && { d }) }); const e = proxy && open(proxy);', {}],
  // Numbers that no operator sets are in config/fixed.ts.
  ['const MAX = 64; f({ timeoutMs: 3_000, max: 256 << 10, n: -5, big: 7n });', { numbers: 6 }],
  [
    'f({ port: 0, lagMs: () => 0, first: list[0], once: 1 }); g(CLOSE_GRACE_MS, 300 as never);',
    { numbers: 1 },
  ],
  ["const a = b + ':' + c; f(b.max + c.max, config.d ?? e);", {}],
  // All kinds that FORMS does not list.
  [
    '({ on: f, off: g })[config.journal](); const a = config.b ? c : config.d ? e : f;',
    { tables: 1, conditions: 1 },
  ],
  ['Math.max(config.a, b); Promise.reject(new Error()); queueMicrotask(f); JSON.parse(a);', { globals: 4 }],
  ['const seen: Record<string, number> = {}; n++; seen.a = 1; m += 1;', { state: 4 }],
  ['peers.forEach((p) => { if (!p.authorization) p.end(); });', { loops: 1 }],
  ["f({ ok: false, refusal }); const g = () => ({ ok: true, code: 'A' });", { refusals: 2 }],
  ['class A {} a, b; label: f();', { forms: 4 }],
  [
    'Object.entries(a).map(f); Promise.all([b]); made[kindOf(config)](); const { c, ...d } = e; open = null; list[0]?.end();',
    {},
  ],
  ["if (!a) throw new Error('b'); const c = d.replace(/^http/, 'ws');", { throws: 1, patterns: 1 }],
];

/** Nothing is decided where everything is joined; `sources` are without tests. */
export function composeRules(sources: readonly Source[]): void {
  describe('the room that joins everything', () => {
    const room = sources.filter(({ path }) => path.startsWith(ROOM));

    test('decides no more than its budget', () => {
      const places = room.flatMap(decisionsOf).map(({ kind, where }) => `${where} ${kind}`);
      const advice = `decide it in actors, services, storage or transports, and only make it here (${places.join(', ')})`;
      expect(budgetObjections(decisionsIn(room), DECISIONS, advice, SLACK)).toEqual([]);
    });

    test.each(SAMPLES)('in %s are: %j', (text, expected) => {
      expect(decisionsIn([parse('compose/sample.ts', text)])).toEqual({ files: 1, ...expected });
    });
  });
}
