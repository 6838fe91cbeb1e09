import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Rooms of the server and its commands; the client library, the pages and the benches run without its clock. */
const TIMED = /^(?!(sdk|web|bench|test|scripts|examples|deploy|docs|templates)\/)/;

/** Functions whose promise resolves when time has passed, whatever has happened meanwhile. */
const PAUSES = new Set([
  ...['pause', 'sleep', 'delay', 'tick', 'turn', 'setTimeout', 'setImmediate', 'setTimer', 'nextTick'],
]);

/** Files that look again after a pause, each for a reason. */
const POLLS_ALLOWED = new Map([
  ['cli/calls.ts', 'It prints the state of another process again after each interval.'],
  ['cli/top.ts', 'It prints the state of another process again after each interval.'],
  ['cli/cluster.ts', 'Other processes report their state only when they are asked.'],
  ['cli/login.ts', 'A device asks for its token again and again: RFC 8628, section 3.4.'],
  ['services/lobbies/deadlines.ts', 'It paces batches of work; nothing is waited for.'],
  ['storage/database/driver.ts', 'Statements begin others in later turns, so it waits until none does.'],
]);

const FUNCTIONS = /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/;
const LOOPS = /^(For|While|DoWhile)/;

/** `pause` of `wheel.pause(…)` and of `pause(…)`. */
function calleeName({ callee }: Node): string {
  const called = callee as Node;
  const named = called.type === 'MemberExpression' ? (called.property as Node) : called;
  return String(named.name ?? '');
}

function pauses(awaited: Node): boolean {
  let found = false;
  visit(awaited, (node) => {
    // `new Promise(setImmediate)` passes the function itself.
    const isPassed =
      node.type === 'NewExpression' &&
      (node.arguments as Node[]).some(({ name }) => PAUSES.has(String(name)));
    found ||= isPassed || (node.type === 'CallExpression' && PAUSES.has(calleeName(node)));
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

function pollsIn({ path, program, lineAt }: Source): string[] {
  const found: string[] = [];
  if (!TIMED.test(path)) return found;
  visit(program, (node, parents) => {
    if (node.type !== 'AwaitExpression' || !pauses(node.argument as Node)) return;
    if (isInLoop(node, parents)) found.push(`${path}:${lineAt(node.start)} polls: wait for what changes it`);
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
