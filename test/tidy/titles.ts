import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';

/** Words that go on with a sentence which the title does not hold: `that is small`, `of a bot`, `and an owner`. */
const CONTINUATION = /^(that|those|who|whom|whose|whoever|which|of|and|or|but|nor|than)\b/i;
/** A predicate without what it denies: `is none`. */
const NO_PREDICATE = /^(is|are|has|have) none\b|\b(is|are) none$/;
/** Placeholders of `test.each`, whose values may be any number of words. */
const PLACEHOLDER = /%[sdifjoOp]|\$\{|\$\w/;

/**
 * Whether a test's title says something by itself, as a line of a CI log shows it: a claim that begins with its subject,
 * or with its verb when the subject is the `describe`.
 */
function readsAlone(title: string): boolean {
  const text = title.trim();
  if (CONTINUATION.test(text) || NO_PREDICATE.test(text)) return false;
  return /\s/.test(text) || PLACEHOLDER.test(text);
}

/** `test`, also in `test.each(…)`, `it.runIf(…)` and their like. */
function calleeName(callee: Node): string {
  if (callee.type === 'MemberExpression') return calleeName(callee.object as Node);
  if (callee.type === 'CallExpression' || callee.type === 'TaggedTemplateExpression')
    return calleeName((callee.callee ?? callee.tag) as Node);
  return String(callee.name ?? '');
}

/** The titles that are written where the test is; those that are computed say nothing here. */
function titlesOf({ program, text, lineAt }: Source): { title: string; line: number }[] {
  const found: { title: string; line: number }[] = [];
  visit(program, (node) => {
    if (node.type !== 'CallExpression') return;
    const [given] = node.arguments as Node[];
    if (!given || !['test', 'it'].includes(calleeName(node.callee as Node))) return;
    const isText =
      given.type === 'TemplateLiteral' || (given.type === 'Literal' && typeof given.value === 'string');
    if (!isText) return;
    const title = given.type === 'Literal' ? String(given.value) : text.slice(given.start + 1, given.end - 1);
    found.push({ title, line: lineAt(given.start) });
  });
  return found;
}

/** Titles of tests read alone; `tests` are the files of tests. */
export function titleRules(tests: readonly Source[]): void {
  describe('test titles', () => {
    test('read alone', () => {
      const fragments = tests.flatMap((source) =>
        titlesOf(source)
          .filter(({ title }) => !readsAlone(title))
          .map(({ title, line }) => `${source.path}:${line} ${title}: begin with the subject or the verb`),
      );
      expect(fragments).toEqual([]);
    });

    test.each([
      ['keeps one MLS group with 50 members', true],
      ['rejects a wrong client secret even for public clients', true],
      ['a guild without channels has none', true],
      ['is refused with 403', true],
      ['%s is refused', true],
      ['\u0024{state} keeps \u0024{count} frames', true],
      ['%s', true],
      ['counts', false],
      ['that is small', false],
      ['That is small', false],
      ['those of a bot are refused', false],
      ['who is banned stays out', false],
      ['whom nobody knows is refused', false],
      ['whose token ended is closed', false],
      ['of a bot', false],
      ['of %s is refused', false],
      ['and an owner', false],
      ['or nothing at all', false],
      ['is none', false],
      ['is none of the owner', false],
      ['%j is none', false],
      ['thatched roofs are thatched', true],
      ['offers of a guild expire', true],
      ['android clients reconnect', true],
    ])('%j reads alone: %s', (title, expected) => {
      expect(readsAlone(title)).toBe(expected);
    });

    test('are found behind each form of a test, and nowhere else', () => {
      const text = `test('a 1'); it.each([1])('b %i', f); test.runIf(x)(\`c \${1}\`); describe('d'); run('e');
        test.each\`x\`('f 1'); /test/.test('g'); test(title, f);`;
      const titles = titlesOf(parse('test/a.test.ts', text)).map(({ title }) => title);
      expect(titles).toEqual(['a 1', 'b %i', 'c \u0024{1}', 'f 1']);
    });
  });
}
