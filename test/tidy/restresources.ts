import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Where REST operations are declared: they translate a request into commands and a reply into a body. */
const ROOM = 'transports/rest/resources/';

/** The number of files in a request is a matter of its form. */
const FORM_LIMITS = new Set(['MAXIMUM_ATTACHMENTS']);

const nameOf = (node: Node): string =>
  String((node.type === 'MemberExpression' ? (node.property as Node) : node).name ?? '');

/** `read.guilds.members` and `services.read.guilds.members` read a store. */
function readsStore(callee: Node): boolean {
  for (let node = callee; node.type === 'MemberExpression'; node = node.object as Node)
    if (nameOf(node.object as Node) === 'read') return true;
  return false;
}

const isNull = ({ type, value, name }: Node): boolean =>
  (type === 'Literal' && value === null) || name === 'undefined';

/** `caller.applicationId === params.application_id`, or `!==`. A comparison with null is none. */
function comparesApplications({ type, operator, left, right }: Node): boolean {
  const sides = [left, right] as Node[];
  return (
    type === 'BinaryExpression' &&
    /^[!=]==$/.test(String(operator)) &&
    sides.some((side) => nameOf(side) === 'applicationId') &&
    !sides.some(isNull)
  );
}

/** `teams.may(application, userId, action)` decides for a person, `blobs.delete(key)` which files are kept. */
const DECIDING_CALLS: ReadonlyMap<string, string> = new Map([
  ['teams.may', 'decides who may use an application'],
  ['blobs.delete', 'decides which files are kept'],
]);

/** The decision of a node that belongs to services or engine; null for none. */
function decisionOf(node: Node, parents: readonly Node[]): string | null {
  if (comparesApplications(node)) return 'decides who may use an application';
  if (node.type !== 'CallExpression') return null;
  const callee = node.callee as Node;
  const [given] = node.arguments as Node[];
  if (nameOf(callee) === 'refusal' && given?.type === 'Literal') {
    const code = String(given.value);
    return code.startsWith('MAXIMUM_') && !FORM_LIMITS.has(code) ? `decides the limit ${code}` : null;
  }
  if (callee.type === 'MemberExpression') {
    const decides = DECIDING_CALLS.get(`${nameOf(callee.object as Node)}.${nameOf(callee)}`);
    if (decides) return decides;
  }
  const isLoop = parents.some(({ type }) => /^(For|While|DoWhile)/.test(type));
  const asksOwner = callee.type === 'MemberExpression' && nameOf(callee) === 'call';
  return isLoop && (asksOwner || readsStore(callee)) ? 'sweeps in a loop' : null;
}

function decisionsIn({ program, path, lineAt }: Source): string[] {
  const found: string[] = [];
  visit(program, (node, parents) => {
    const decision = decisionOf(node, parents);
    if (decision !== null) found.push(`${path}:${lineAt(node.start)} ${decision}: let a service decide it`);
  });
  return found;
}

/** Operations of REST translate; `sources` are without tests. */
export function restResourceRules(sources: readonly Source[]): void {
  describe('the resources of REST', () => {
    test('decide no limit, no access to applications and no fate of files, and sweep no store', () => {
      const own = sources.filter(({ path }) => path.startsWith(ROOM));
      expect(own.flatMap(decisionsIn)).toEqual([]);
    });

    test.each([
      ["refusal('MAXIMUM_GUILDS');", 1],
      ["refusal('MAXIMUM_ATTACHMENTS'); refusal('UNKNOWN_GUILD');", 0],
      ['for (const id of ids) await guilds.call(id, type, {}, authority);', 1],
      ['for (;;) { await read.guilds.members(); await services.read.users.get(ids); }', 2],
      ['await guilds.call(id, type, {}, authority); for (const id of ids) await saveImage(id);', 0],
      ['if (caller.applicationId !== params.application_id) refuse();', 1],
      ['if (id === applicationId || (await services.teams.may(application, userId, "view"))) refuse();', 2],
      ['if (caller.applicationId === null) await services.blobs.delete(key);', 1],
    ])('in %s are %i decisions', (text, count) => {
      expect(decisionsIn(parse(`${ROOM}sample.ts`, text))).toHaveLength(count);
    });
  });
}
