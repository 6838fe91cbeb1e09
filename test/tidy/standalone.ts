import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';
import { budgetObjections, type Counts } from './budget.ts';

/**
 * Places that ask whether the process is standalone. Everything else calls an interface that a standalone process and a
 * shard implement (`ClusterParts`, `Routing`, `Ownership`). The list only shrinks.
 */
const QUESTIONS: Counts = {
  // A shard sends LOBBY_CREATE to the user, by a follower; a standalone process sends it to the sessions it attaches.
  'services/lobbies/attachments.ts': 1,
  // A shard settles the lobbies that it takes over; a standalone process takes over none and settles all at its start.
  'services/lobbies/deadlines.ts': 1,
};

/** Components of a message are standalone in another sense. */
const OTHER_SENSE = /^engine\/channel\//;

/** How often a file reads a property `standalone`. */
function questionsIn({ program }: Source): number {
  let count = 0;
  visit(program, (node, parents) => {
    if (node.type === 'MemberExpression') count += (node.property as Node).name === 'standalone' ? 1 : 0;
    const isRead = node.type === 'Property' && parents[0]?.type === 'ObjectPattern';
    if (isRead) count += (node.key as Node).name === 'standalone' ? 1 : 0;
  });
  return count;
}

/** Standalone is an implementation, not a mode; `sources` are without tests. */
export function standaloneRules(sources: readonly Source[]): void {
  describe('questions whether the process is standalone', () => {
    test('are those of the list, which only shrinks', () => {
      const asking = sources.filter(({ path }) => !OTHER_SENSE.test(path));
      const counts = asking.map((source) => [source.path, questionsIn(source)] as const);
      const found = Object.fromEntries(counts.filter(([, count]) => count > 0));
      const advice = 'call an interface that both implement';
      expect(budgetObjections(found, QUESTIONS, advice)).toEqual([]);
    });

    test.each([
      ['if (ownership.standalone) run(routing?.standalone);', 2],
      ['const { standalone } = routing; const f = ({ standalone: alone }) => alone;', 2],
      ['const HERE = { standalone: true }; standalone();', 0],
    ])('in %s are %i', (text, count) => {
      expect(questionsIn(parse('services/sample.ts', text))).toBe(count);
    });
  });
}
