import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Rooms of the server and its commands; the client library, the pages and the benches run without its clock. */
const TIMED = /^(?!(sdk|web|bench|test|scripts|examples|deploy|docs|templates)\/)/;

/** Functions whose promise resolves when time has passed, whatever has happened meanwhile. */
const PAUSES = new Set([
  ...[
    'pause',
    'sleep',
    'delay',
    'tick',
    'turn',
    'setTimeout',
    'setImmediate',
    'setTimer',
    'nextTick',
    'defer',
  ],
]);
/** `wheel.add` begins a timer, `set.add` does not. */
const TIMED_METHOD = /^(add|after|every)$/;
const TIMER = /(wheel|timers|clock|scope)$/i;

/** Files that look again after a pause, each for a reason. */
const POLLS_ALLOWED = new Map([
  ['actors/cluster/delivery/presences.ts', 'It lets other work run between slices; nothing is waited for.'],
  ['actors/privatechannel/strandedcallers.ts', 'It asks another shard again after a fault.'],
  ['actors/runtime/wheel.ts', 'It is the wheel, which ticks while there are waits.'],
  ['actors/session/crashedjournals.ts', 'It lets other work run between slices; nothing is waited for.'],
  ['cli/calls.ts', 'It prints the state of another process again after each interval.'],
  ['cli/top.ts', 'It prints the state of another process again after each interval.'],
  ['cli/cluster.ts', 'Other processes report their state only when they are asked.'],
  ['cli/login.ts', 'A device asks for its token again and again: RFC 8628, section 3.4.'],
  ['services/lobbies/deadlines.ts', 'It paces batches of work; nothing is waited for.'],
  ['storage/database/driver.ts', 'Statements begin others in later turns, so it waits until none does.'],
  ['transports/cluster/server.ts', 'At its end, it looks a few times whether all requests are answered.'],
  ['transports/http/body.ts', 'It measures the pace of a body in each interval.'],
  ['transports/http/upgrade.ts', 'Its one timer is set for the next socket that is due.'],
]);

const FUNCTIONS = /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/;
const LOOPS = /^(For|While|DoWhile)/;

/** The name of a function, a method or a variable; `pause` of `wheel.pause`. */
const nameOf = (node: Node): string =>
  String((node.type === 'MemberExpression' ? (node.property as Node) : node).name ?? '');

function isPause({ type, callee, arguments: given }: Node): boolean {
  // `new Promise(setImmediate)` passes the function itself.
  if (type === 'NewExpression') return (given as Node[]).some(({ name }) => PAUSES.has(String(name)));
  if (type !== 'CallExpression') return false;
  const called = callee as Node;
  if (PAUSES.has(nameOf(called))) return true;
  const isTimed = called.type === 'MemberExpression' && TIMED_METHOD.test(nameOf(called));
  return isTimed && TIMER.test(nameOf(called.object as Node));
}

function pauses(awaited: Node): boolean {
  let found = false;
  visit(awaited, (node) => {
    found ||= isPause(node);
  });
  return found;
}

/**
 * Whether a pause lies in a loop of its own function. Two loops are no polling: one whose condition is the pause, which
 * does periodic work until its scope ends; and one that pauses after a fault, which tries again.
 */
function isInLoop(node: Node, parents: readonly Node[]): boolean {
  for (const [at, around] of parents.entries()) {
    const inner = at === 0 ? node : parents[at - 1];
    if (FUNCTIONS.test(around.type) || around.type === 'CatchClause') return false;
    if (LOOPS.test(around.type)) return inner !== around.test;
  }
  return false;
}

/** The name of a function by its declaration, or by the variable, field or method that holds it; '' for none. */
function functionName(node: Node, parent: Node | undefined): string {
  if (node.type === 'FunctionDeclaration') return nameOf(node.id as Node);
  const isHeld = /^(VariableDeclarator|PropertyDefinition|MethodDefinition)$/.test(parent?.type ?? '');
  return isHeld ? nameOf((parent?.id ?? parent?.key) as Node) : '';
}

const CONDITIONS = /^(If|Switch|Conditional|Logical)/;

const isStep = ({ type, body }: Node): boolean =>
  FUNCTIONS.test(type) &&
  (body as Node).type === 'BlockStatement' &&
  ((body as Node).body as Node[]).length > 1;

/**
 * Whether a function that pauses calls itself afterwards, or passes itself to the timer, but only under a condition. If it
 * always does so, or after a step of work that the timer runs, its work is periodic.
 */
function looksAgain(pause: Node, parents: readonly Node[]): boolean {
  if (!isPause(pause) || parents.some(({ type }) => type === 'CatchClause')) return false;
  const at = parents.findIndex(({ type }) => FUNCTIONS.test(type));
  const around = parents[at];
  const holder = parents[at + 1];
  if (around === undefined) return false;
  const isMember = /^(PropertyDefinition|MethodDefinition)$/.test(holder?.type ?? '');
  const own = functionName(around, holder);
  let isAgain = false;
  let isConditional = parents.slice(0, at).some(({ type }) => CONDITIONS.test(type));
  visit(around.body as Node, (node, outer) => {
    isConditional ||=
      node.type === 'ReturnStatement' &&
      node.start < pause.start &&
      !outer.some(({ type }) => FUNCTIONS.test(type));
    const isNamed = node.type === (isMember ? 'MemberExpression' : 'Identifier') && nameOf(node) === own;
    if (!isNamed || node.start <= pause.start || outer.some(isStep)) return;
    if (isMember && (node.object as Node).type !== 'ThisExpression') return;
    isAgain = true;
    isConditional ||= outer.some(({ type }) => CONDITIONS.test(type));
  });
  return isAgain && isConditional;
}

function pollsIn({ path, program, lineAt }: Source): string[] {
  const found: string[] = [];
  if (!TIMED.test(path)) return found;
  visit(program, (node, parents) => {
    const isLoop =
      node.type === 'AwaitExpression' && pauses(node.argument as Node) && isInLoop(node, parents);
    if (isLoop || looksAgain(node, parents))
      found.push(`${path}:${lineAt(node.start)} polls: wait for what changes it`);
  });
  return found;
}

/** Nothing looks again and again for what an event could report; `sources` are without tests. */
export function pollingRules(sources: readonly Source[]): void {
  describe('waits', () => {
    const polls = new Map(sources.map((source) => [source.path, pollsIn(source)]));

    test('end by an event, not by looking again after a pause', () => {
      expect([...polls].filter(([path]) => !POLLS_ALLOWED.has(path)).flatMap(([, lines]) => lines)).toEqual(
        [],
      );
    });

    test('have no exception that nothing needs any more', () => {
      expect([...POLLS_ALLOWED.keys()].filter((path) => (polls.get(path) ?? []).length === 0)).toEqual([]);
    });

    test.each([
      ['while (!ready()) await pause(5);', 1],
      ['do { await wheel.pause(5); } while (!ready());', 1],
      ['for (;;) { if (ready()) break; if (!(await scope.pause(5))) return; }', 1],
      ['for (; !ready(); await sleep(5));', 1],
      ['for (const each of all) { await sleep(5); send(each); }', 1],
      ['while (!ready()) await new Promise((done) => setTimeout(done, 5));', 1],
      ['while (!ready()) await new Promise(setImmediate);', 1],
      ['while (!ready()) await new Promise((done) => hold(wheel.add(done, 5)));', 1],
      ['for (;;) { if (ready()) break; await new Promise((done) => this.#wheel.after(done, 5)); }', 1],
      ['const wait = async () => { if (ready()) return; await pause(5); await wait(); };', 1],
      ['const wait = () => (ready() ? done() : pause(5).then(wait));', 1],
      ['function look() { if (ready()) return run(); wheel.after(look, 5); }', 1],
      ['const look = () => { if (!ready()) timer = wheel.add(() => look(), 5); };', 1],
      ['class A { #look() { if (!ready()) this.#clock.setTimer(() => this.#look(), 5); } }', 1],
      ['class A { readonly #look = () => ready() || this.#timers.after(this.#look, 5); }', 1],
      ['const clean = () => { sweep(); wheel.after(clean, 5); };', 0],
      ['const send = async () => { try { await post(); } catch { await pause(5); await send(); } };', 0],
      [
        'class A { #sweep() { if (on) return; this.#wheel.after(() => { run(); if (more()) this.#sweep(); }, 5); } }',
        0,
      ],
      ['const later = () => { if (timer === null) timer = wheel.add(run, 5); };', 0],
      ['while (!ready()) { seen.add(each); await changed; }', 0],
      ['while (await scope.pause(5)) work();', 0],
      ['while (more()) { try { await send(); } catch { if (!(await wheel.pause(5))) return; } }', 0],
      ['for (const each of all) each.onEnd(async () => { await pause(5); });', 0],
      ['while (!ready()) await changed;', 0],
      ['await pause(5); work();', 0],
    ])('count the polls of %s as %i', (text, count) => {
      expect(pollsIn(parse('services/sample.ts', `async () => { ${text} };`))).toHaveLength(count);
      expect(pollsIn(parse('sdk/sample.ts', `async () => { ${text} };`))).toEqual([]);
    });
  });
}
