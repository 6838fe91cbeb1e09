// Goal: the rules of the project hold in every file.
import { describe, expect, test } from 'vitest';
import { filesUnder, type Node, parse, read, type Source, visit } from './support/source.ts';
import { aggregateRules } from './tidy/aggregates.ts';
import { castRules } from './tidy/casts.ts';
import { classRules } from './tidy/classes.ts';
import { composeRules } from './tidy/compose.ts';
import { cycleRules } from './tidy/cycles.ts';
import { deadRules } from './tidy/deadexports.ts';
import { importRules, roomOf } from './tidy/imports.ts';
import { lifetimeRules } from './tidy/lifetimes.ts';
import { moduleStateRules } from './tidy/modulestate.ts';
import { pollingRules } from './tidy/polling.ts';
import { restResourceRules } from './tidy/restresources.ts';
import { sourceRules } from './tidy/sources.ts';
import { standaloneRules } from './tidy/standalone.ts';
import { titleRules } from './tidy/titles.ts';

const LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;

const sources = filesUnder('.', /\.tsx?$/).map((path) => parse(path));
const own = sources.filter(({ path }) => !path.startsWith('test/'));
const tests = sources.filter(({ path }) => path.endsWith('.test.ts'));
const pure = sources.filter(({ path }) => /^(engine|protocol)\//.test(path));

const at = (source: Source, node: { start: number }): string => `${source.path}:${source.lineAt(node.start)}`;

/** The objections of `find`, over all nodes of the given files. */
function objections(
  files: readonly Source[],
  find: (node: Node, parents: readonly Node[], source: Source) => string | null,
): string[] {
  const found: string[] = [];
  for (const source of files) {
    visit(source.program, (node, parents) => {
      const objection = find(node, parents, source);
      if (objection !== null) found.push(`${at(source, node)} ${objection}`);
    });
  }
  return found;
}

importRules(sources);
cycleRules(sources);
deadRules(sources);
castRules(own);
classRules(own);
lifetimeRules(own);
pollingRules(own);
composeRules(own);
standaloneRules(own);
restResourceRules(own);
titleRules(tests);
sourceRules(sources);

/** Globals that bring time, chance or the outside world into a rule. */
const IMPURE = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'performance',
  'process',
  'crypto',
  'fetch',
  'console',
  'Promise',
]);

function impurity(node: Node, parents: readonly Node[]): string | null {
  if (node.type === 'AwaitExpression' || node.async === true || node.await === true) return 'waits';
  if (node.type === 'NewExpression' && (node.arguments as Node[]).length === 0) {
    if ((node.callee as Node).name === 'Date') return 'reads the clock';
  }
  if (node.type === 'MemberExpression') {
    const name = `${(node.object as Node).name}.${(node.property as Node).name}`;
    if (name === 'Date.now' || name === 'Math.random') return `uses ${name}`;
  }
  if (node.type !== 'Identifier' || !IMPURE.has(node.name as string)) return null;
  const [parent] = parents;
  const isName =
    (parent?.type === 'MemberExpression' && parent.property === node && parent.computed === false) ||
    (parent?.key === node && parent.computed !== true) ||
    parent?.type.startsWith('TS');
  return isName ? null : `uses ${node.name}`;
}

describe('the pure rooms', () => {
  test('have no clock, chance, timer, I/O or await', () => {
    expect(objections(pure, impurity)).toEqual([]);
  });

  test.each([
    ['const t = Date.now();', 1],
    ['const t = new Date();', 1],
    ['const t = new Date(5).toISOString();', 0],
    ['async function f() { await g(); }', 2],
    ['setTimeout(f, 1);', 1],
    ['const x = { process: 1 }; x.process;', 0],
    ['Math.random(); Math.max(1, 2);', 1],
  ])('%s has %i impurities', (text, count) => {
    expect(objections([parse('engine/sample.ts', text)], impurity)).toHaveLength(count);
  });
});

aggregateRules(pure);
moduleStateRules(pure);

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

function overlong(node: Node, parents: readonly Node[], source: Source): string | null {
  if (!FUNCTIONS.includes(node.type)) return null;
  const lines = source.lineAt(node.end) - source.lineAt(node.start) + 1;
  if (lines <= FUNCTION_LINES_MAX) return null;
  const callee = parents[0]?.type === 'CallExpression' ? parents[0].callee : null;
  const isChapter = callee !== null && /^describe\b/.test(source.text.slice((callee as Node).start));
  return isChapter ? null : `a function of ${lines} lines`;
}

const TYPES = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration'];
const VAGUE = /^(utils?|helpers?|common|managers?|services?|misc)$/i;
/** Vague names that stand, each for a reason. */
const VAGUE_ALLOWED = new Set([
  'transports/rest/services.ts', // What handlers may use; the name is part of every resource file.
  'transports/rest/services.ts Services',
]);

/** The room `services` is named in the plan; the files in it are judged like all others. */
const isVague = (path: string): boolean => {
  const parts = path.replace(/^(test\/)?services\//, '').split(/[/.]/);
  return parts.some((part) => VAGUE.test(part)) && !VAGUE_ALLOWED.has(path);
};

function vagueName(node: Node, _: readonly Node[], source: Source): string | null {
  if (!TYPES.includes(node.type)) return null;
  const name = (node.id as Node | null)?.name as string | undefined;
  if (name === undefined || VAGUE_ALLOWED.has(`${source.path} ${name}`)) return null;
  const vague = /(Utils?|Helpers?|Manager|Services?)$/.test(name) || /^I[A-Z][a-z]/.test(name);
  return vague ? `the type ${name} says too little` : null;
}

/** Names of variables, functions and parameters; what is destructured keeps the wire's name, a column SQL's. */
function snakeCase(node: Node, parents: readonly Node[], source: Source): string | null {
  if (roomOf(source.path) === 'storage') return null;
  if (node.type !== 'Identifier' || !/[a-z]_[a-z]/.test(node.name as string)) return null;
  const [parent] = parents;
  const declares =
    (parent?.type === 'VariableDeclarator' && parent.id === node) ||
    (FUNCTIONS.includes(parent?.type ?? '') &&
      (parent!.id === node || (parent!.params as Node[]).includes(node)));
  return declares ? `${node.name} is not camelCase` : null;
}

describe('files', () => {
  test(`have at most ${LINES_MAX} lines`, () => {
    const long = sources.filter(
      ({ lines, path }) => lines.length > LINES_MAX + 1 && !path.includes('.generated.'),
    );
    expect(long.map(({ path, lines }) => `${path} has ${lines.length - 1} lines`)).toEqual([]);
  });

  test(`have functions of at most ${FUNCTION_LINES_MAX} lines`, () => {
    expect(objections(sources, overlong)).toEqual([]);
  });

  test('use neither any nor a comment that silences the compiler', () => {
    const found = objections(sources, (node) => (node.type === 'TSAnyKeyword' ? 'any' : null));
    for (const source of sources) {
      for (const comment of source.comments) {
        if (/@ts-(ignore|nocheck|expect-error)/.test(comment.value))
          found.push(`${at(source, comment)} silenced`);
      }
    }
    expect(found).toEqual([]);
  });

  test('are named for what they are, as types are', () => {
    const files = sources.map(({ path }) => path).filter(isVague);
    expect([...files, ...objections(own, vagueName)]).toEqual([]);
  });

  test('leave error codes to the one table of them', () => {
    const stray = own.flatMap(({ path, text }) =>
      path !== 'protocol/errors.ts' && /\bcode: \d[\d_]{4,}/.test(text) ? [path] : [],
    );
    expect(stray).toEqual([]);
  });

  test('are lowercase, and name variables in camelCase', () => {
    const files = sources.filter(({ path }) => path !== path.toLowerCase()).map(({ path }) => path);
    expect([...files, ...objections(own, snakeCase)]).toEqual([]);
  });
});

/** Where what is begun must end: everything that runs inside a server or a client. */
const LIVING = /^(actors|services|compose|transports|storage|media|cli|sdk|web)\/|^[\w.]+\.ts$/;
const TIMERS = new Set(['setTimeout', 'setInterval']);
/** Methods that begin a timer, and of whom: `wheel.after` is none of them, as its waits are the wheel's to end. */
const TIMER_METHODS = new Map([
  ['setTimer', /./],
  ['setTimeout', /./],
  ['setInterval', /./],
  ['add', /[wW]heel$/],
  ['after', /[tT]imers$/],
  ['every', /[tT]imers$/],
]);

/** `a.b.#wheel` is called `wheel`. */
function nameOf(node: Node): string {
  const named = node.type === 'MemberExpression' ? (node.property as Node) : node;
  return String(named.name ?? '');
}

function beginsTimer(node: Node): boolean {
  if (node.type !== 'CallExpression') return false;
  const callee = node.callee as Node;
  if (callee.type === 'Identifier') return TIMERS.has(callee.name as string);
  if (callee.type !== 'MemberExpression') return false;
  return TIMER_METHODS.get(nameOf(callee))?.test(nameOf(callee.object as Node)) ?? false;
}

/** A timer's starter keeps the handle that ends it. */
function droppedTimer(node: Node, parents: readonly Node[], source: Source): string | null {
  if (!LIVING.test(source.path) || !beginsTimer(node)) return null;
  // `setTimeout(…).unref()` answers the same handle.
  const [method, call] = parents;
  const isUnref = method?.type === 'MemberExpression' && nameOf(method) === 'unref' && call !== undefined;
  const at = isUnref ? 2 : 0;
  const of = isUnref ? call : node;
  const parent = parents[at];
  const isDropped =
    parent?.type === 'ExpressionStatement' ||
    (parent?.type === 'UnaryExpression' && parent.operator === 'void') ||
    // A promise drops the result of its executor.
    (parent?.type === 'ArrowFunctionExpression' &&
      parent.body === of &&
      parents[at + 1]?.type === 'NewExpression');
  return isDropped ? 'a timer that nobody can end: keep its handle' : null;
}

/** A read that does nothing with a handle: `timer !== null`, `if (timer)`. */
const ASKS = /^(Binary|Unary|If)/;

/** Files whose timer ends with the wheel, as they do; the handle only says that a wait is pending. */
const PENDING_ALLOWED = new Set(['actors/cluster/routing/statesync.ts', 'actors/session/admission.ts']);

/** A handle that is kept is also cancelled, returned or passed on somewhere in the file. */
function forgottenTimer(node: Node, parents: readonly Node[], source: Source): string | null {
  if (!LIVING.test(source.path) || !beginsTimer(node)) return null;
  const holder = parents.find(({ type }) => !/^(Member|Call|Chain|TSNonNull)/.test(type));
  const held = (holder?.type === 'AssignmentExpression' ? holder.left : holder?.id) as Node | undefined;
  const name = held && /^(VariableDeclarator|AssignmentExpression)$/.test(holder!.type) ? nameOf(held) : '';
  if (name === '') return null;
  let isUsed = false;
  visit(source.program, (read, [parent, outer]) => {
    const isMember = parent?.type === 'MemberExpression' && parent.property === read;
    const around = isMember ? outer : parent;
    const isAssigned = around?.type === 'AssignmentExpression' && around.left === (isMember ? parent : read);
    const isWritten = around?.id === read || isAssigned;
    const isHandle = /Identifier$/.test(read.type) && read.name === name && around?.key !== read;
    isUsed ||= isHandle && !isWritten && !ASKS.test(around!.type);
  });
  return isUsed ? null : `nobody cancels ${name}`;
}

describe('lifetimes', () => {
  test('cancel every timer that they keep', () => {
    const found = own.filter((source) => objections([source], forgottenTimer).length > 0);
    expect(found.map(({ path }) => path)).toEqual([...PENDING_ALLOWED]);
  });

  test.each([
    ['const timer = clock.setTimer(f, 1); if (timer) g();', 1],
    ['class A { #t = null; f() { if (this.#t === null) this.#t = setTimeout(f, 1).unref(); } }', 1],
    ['let t = null; t ??= wheel.add(f, 1);', 1],
    ['class A { #t = null; f() { this.#t = clock.setTimer(f, 1); this.#t?.cancel(); } }', 0],
    ['const t = setTimeout(f, 1); clearTimeout(t);', 0],
    ['const t = wheel.add(f, 1); return t;', 0],
    ['const t = wheel.add(f, 1); g({ t });', 0],
  ])('%s keeps %i timers that nobody cancels', (text, count) => {
    expect(objections([parse('actors/sample.ts', `() => { ${text} };`)], forgottenTimer)).toHaveLength(count);
  });

  test('have the handle of every timer, so that its owner can end it', () => {
    expect(objections(own, droppedTimer)).toEqual([]);
  });

  test.each([
    ['setTimeout(f, 1);', 1],
    ['setInterval(f, 1).unref();', 1],
    ['void clock.setTimer(f, 1);', 1],
    ['this.#ports.wheel.add(f, 1);', 1],
    ['this.#timers.every(1, f);', 1],
    ['await new Promise((resolve) => setTimeout(resolve, 1));', 1],
    ['await new Promise((resolve) => wheel.add(resolve, 1));', 1],
    ['const timer = setTimeout(f, 1);', 0],
    ['this.#timer ??= setTimeout(f, 1).unref();', 0],
    ['const lasting = () => wheel.add(f, 1);', 0],
    ['function g() { return clock.setTimer(f, 1); }', 0],
    ['wheel.after(f, 1); set.add(f);', 0],
  ])('%s drops %i timers', (text, count) => {
    expect(objections([parse('actors/sample.ts', text)], droppedTimer)).toHaveLength(count);
  });
});

/** Tests that may wait on the wall clock: they talk to real sockets and processes. */
const MAY_WAIT = /^test\/(e2e|suites|transports|bench|cli|support)\//;

function unfinished(node: Node): string | null {
  if (node.type !== 'MemberExpression') return null;
  const name = (node.property as Node).name;
  const of = (node.object as Node).name;
  const isTest = of === 'test' || of === 'it' || of === 'describe';
  return isTest && ['only', 'skip', 'todo', 'fails'].includes(name as string) ? `${of}.${name}` : null;
}

function waits(node: Node, _: readonly Node[], source: Source): string | null {
  if (MAY_WAIT.test(source.path) || node.type !== 'CallExpression') return null;
  const name = (node.callee as Node).name;
  return name === 'setTimeout' || name === 'setInterval' ? `${name}: use the virtual clock` : null;
}

/** A passing test prints nothing; the reason for leaving out a test is printed under an `if`. */
function chatter(node: Node, parents: readonly Node[]): string | null {
  if (node.type !== 'MemberExpression') return null;
  const [of, name] = [node.object as Node, (node.property as Node).name];
  const isStream = of.type === 'MemberExpression' && /^std(out|err)$/.test(nameOf(of)) && name === 'write';
  if (of.name !== 'console' && !(isStream && (of.object as Node).name === 'process')) return null;
  const isOnFailure = parents.some(
    ({ type, callee }) =>
      type === 'IfStatement' || (type === 'CallExpression' && nameOf(callee as Node) === 'onTestFailed'),
  );
  return isOnFailure ? null : 'prints although the test passes';
}

describe('tests', () => {
  test('begin with their goal', () => {
    expect(tests.filter(({ text }) => !/^(\/\/|\/\*\*?)\s*\S/.test(text)).map(({ path }) => path)).toEqual(
      [],
    );
  });

  test('print nothing but failures, and why one is left out', () => {
    expect(objections(tests, chatter)).toEqual([]);
  });

  test.each([
    ['console.log(1);', 1],
    ['run({ log: (line) => console.log(line) });', 1],
    ['run({ log: console.info });', 1],
    ['process.stdout.write("a");', 1],
    ['if (lacking) console.info(lacking);', 0],
    ['onTestFailed(() => console.log(1));', 0],
    ['child.stdout.write("a"); lines.push(1);', 0],
  ])('%s prints %i times', (text, count) => {
    expect(objections([parse('test/sample.test.ts', text)], chatter)).toHaveLength(count);
  });

  test('are complete: none is skipped, focused or left to be written', () => {
    expect(objections(tests, unfinished)).toEqual([]);
  });

  test('wait on no wall clock outside those of sockets and processes', () => {
    expect(objections(tests, waits)).toEqual([]);
  });
});

/** Paths of one machine, in any text that is kept. */
const MACHINE_PATHS = /(?<![\w.])\/(root|home|Users)\/[\w.]/;
const TEXTS = /\.(tsx?|mjs|js|css|html|md|ya?ml|json)$|^\.ci\/|^(LICENSE|NOTICE)$/;
/** The platform's name where it is a package, a host, or a word that the wire carries. */
const PACKAGE_NAMES =
  /python3-discord|import discord|@?discord(js)?[\w.-]*[-./][\w./-]+|discordgo|discordeno|discordx|@discordjs|X-Discord-[\w-]+|DISCORD_BOT_ISSUED_ACCESS_TOKEN/g;

describe('texts', () => {
  const texts = filesUnder('.', TEXTS).filter((path) => path !== 'package-lock.json');

  test('name no path of a machine', () => {
    expect(texts.filter((path) => MACHINE_PATHS.test(read(path)))).toEqual([]);
  });

  test('name the platform only where a package does', () => {
    const named = texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) =>
          /discord/i.test(line.replaceAll(PACKAGE_NAMES, '')) ? [`${path}:${index + 1}`] : [],
        ),
    );
    // Published clients are tried by their names; an integration's type is the name; a table names its source.
    const exempt =
      /^protocol\/integrations\.ts:|^NOTICE:|^scripts\/published\.mjs:|^test\/conformance\/published\.json:|^test\/(tidy\.test\.ts:|compat\/|docs\/compatibility\.test\.ts:)/;
    expect(named.filter((place) => !exempt.test(place))).toEqual([]);
  });
});
