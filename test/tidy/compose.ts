import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';
import { budgetObjections, type Counts } from './budget.ts';

/** Where everything is joined. Each file is a list of "make this, give it that". */
const ROOM = 'compose/';

/**
 * Decisions that are left there. A timer, a refusal, a dispatch or a loop that waits belongs to the room of what it
 * decides: actors, services or transports. The numbers only shrink; the goal is a dozen files and nothing else.
 */
const DECISIONS: Counts = {
  files: 12,
};

/** Smaller than in other budgets: these numbers are small. */
const SLACK = 3;

const TIMERS = new Set(['setTimeout', 'setInterval', 'setTimer', 'after', 'every']);
const REFUSALS = new Set(['refusal', 'refused', 'invalidField']);

const nameOf = (node: Node): string => {
  const named = node.type === 'MemberExpression' ? (node.property as Node) : node;
  return String(named.name ?? '');
};

/** A wheel's `add` begins a timer; a set's does not. */
const beginsTimer = (callee: Node): boolean =>
  TIMERS.has(nameOf(callee)) ||
  (callee.type === 'MemberExpression' &&
    nameOf(callee) === 'add' &&
    /wheel$/i.test(nameOf(callee.object as Node)));

/** The decision that a node makes, or null. */
function decisionOf(node: Node, parents: readonly Node[]): string | null {
  if (node.type === 'NewExpression')
    return nameOf(node.callee as Node) === 'DispatchBody' ? 'dispatches' : null;
  if (node.type === 'CallExpression') {
    const callee = node.callee as Node;
    if (beginsTimer(callee)) return 'timers';
    return REFUSALS.has(nameOf(callee)) ? 'refusals' : null;
  }
  const isLoop = parents.some(({ type }) => /^(For|While|DoWhile)/.test(type));
  return node.type === 'AwaitExpression' && isLoop ? 'awaits in loops' : null;
}

function decisionsIn(sources: readonly Source[]): Counts {
  const counts: Record<string, number> = {};
  for (const { program } of sources) {
    counts.files = (counts.files ?? 0) + 1;
    visit(program, (node, parents) => {
      const decision = decisionOf(node, parents);
      if (decision !== null) counts[decision] = (counts[decision] ?? 0) + 1;
    });
  }
  return counts;
}

/** Nothing is decided where everything is joined; `sources` are without tests. */
export function composeRules(sources: readonly Source[]): void {
  describe('the room that joins everything', () => {
    test('decides no more than its budget', () => {
      const found = decisionsIn(sources.filter(({ path }) => path.startsWith(ROOM)));
      const advice = 'decide it in actors, services or transports, and only make it here';
      expect(budgetObjections(found, DECISIONS, advice, SLACK)).toEqual([]);
    });

    test.each([
      ['wheel.add(f, 1); this.#wheel.after(f, 1); setTimeout(f, 1);', { timers: 3 }],
      ['clock.setTimer(f, 1); setInterval(f, 1);', { timers: 2 }],
      ['set.add(f); const after = 1; lists.add(after);', {}],
      ["refusal('X'); refused(a); invalidField(['a'], 'B', 'c');", { refusals: 3 }],
      ["new DispatchBody('A', {}, 1); new Map();", { dispatches: 1 }],
      ['for (const a of b) await a; while (await c) d();', { 'awaits in loops': 2 }],
      ['await a; for (const b of c) b();', {}],
    ])('in %s are: %j', (text, expected) => {
      expect(decisionsIn([parse('compose/sample.ts', text)])).toEqual({ files: 1, ...expected });
    });
  });
}
