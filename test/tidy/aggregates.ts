import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** The aggregates, by the folder of their rules. */
const AGGREGATES = [
  'engine/call: call',
  'engine/guild: guild',
  'engine/lobby: lobby',
  'engine/privatechannel: private channel',
  'engine/user: user',
];

/** The property `name` of an object that is written out. */
function nameIn(given: Node | undefined): string {
  const properties = given?.type === 'ObjectExpression' ? (given.properties as Node[]) : [];
  const name = properties.find(({ key }) => (key as Node | undefined)?.name === 'name');
  return String((name?.value as Node | undefined)?.value ?? 'without a name');
}

/** The calls `aggregate<Shape>()({ name, … })` of a file, as folder and name. */
function aggregatesOf({ path, program }: Source): string[] {
  const found: string[] = [];
  visit(program, (node) => {
    const callee = node.type === 'CallExpression' ? (node.callee as Node) : null;
    if (callee?.type !== 'CallExpression' || (callee.callee as Node).name !== 'aggregate') return;
    const [given] = node.arguments as Node[];
    found.push(`${path.slice(0, path.lastIndexOf('/'))}: ${nameIn(given)}`);
  });
  return found;
}

/** Each aggregate is one value of the kernel, in the folder of its rules. */
export function aggregateRules(sources: readonly Source[]): void {
  describe('the aggregates', () => {
    test('are each one aggregate() value', () => {
      expect(sources.flatMap(aggregatesOf).toSorted()).toEqual(AGGREGATES);
    });

    test('are found by their name', () => {
      const text =
        "export const a = aggregate<Shape>()({ name: 'street', topics: [] }); other()({ name: 'b' });";
      expect(aggregatesOf(parse('engine/street/rules.ts', text))).toEqual(['engine/street: street']);
    });
  });
}
