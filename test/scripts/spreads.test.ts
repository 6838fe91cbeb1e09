// Goal: the rewriting of object literals in the bundle changes how fast they are built, and nothing else.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutLeadingSpreads } from '../../scripts/spreads.mjs';

/** Evaluates a literal with objects whose getters note when they are read. */
function evaluated(literal: string): { readonly entries: unknown; readonly reads: readonly string[] } {
  const reads: string[] = [];
  const noting = (name: string, value: unknown) => {
    reads.push(name);
    return value;
  };
  const make = new Function('noting', 'a', 'b', `return ${literal};`);
  const watched = (name: string, value: object) => ({
    get x() {
      return noting(`${name}.x`, value);
    },
    [`of ${name}`]: 1,
  });
  const made: object = make(noting, watched('a', [1]), watched('b', {}));
  return { entries: Object.entries(made), reads };
}

describe('an object literal that is rewritten', () => {
  /** Each once in a literal: V8 loses the first place of a repeated name in a literal that begins with a spread. */
  const NAMES = ['x', 'y', 'z', 'w'];
  const { literal } = fc.letrec<{ literal: string; member: (name: string) => string }>((tie) => ({
    member: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('...a', '...b', '...null', '...undefined', "...'no'").map((spread) => () => spread),
      fc.constant((name: string) => `${name}: noting('${name}', 1)`),
      fc.constant((name: string) => `['${name}']: 2`),
      tie('literal').map((inner) => () => `...${inner}`),
      tie('literal').map((inner) => (name: string) => `${name}: ${inner}`),
      tie('literal').map((inner) => () => `...(noting('t', ${inner}))`),
    ),
    literal: fc
      .array(tie('member'), { maxLength: NAMES.length })
      .map((members) => `({ ${members.map((member, at) => member(NAMES[at] ?? '')).join(', ')} })`),
  }));

  test('has the same fields in the same order and evaluates the same expressions in the same order', () => {
    fc.assert(
      fc.property(literal, (code) => {
        expect(evaluated(withoutLeadingSpreads(code))).toEqual(evaluated(code));
      }),
    );
  });

  test('begins with a spread of null, once', () => {
    const once = withoutLeadingSpreads('const made = { ...a, b: 1 }; f({ ...{ ...c, ...d }, e });');
    expect(once).toBe('const made = { ...null, ...a, b: 1 }; f({ ...null, ...{ ...null, ...c, ...d }, e });');
    expect(withoutLeadingSpreads(once)).toBe(once);
  });

  test('stays as it is when it begins with a field, is a mere copy or is a pattern', () => {
    for (const code of ['({ a, ...b })', '({ ...a })', 'const { a, ...b } = c;', 'f(...a, b)', '[...a, b]'])
      expect(withoutLeadingSpreads(code)).toBe(code);
  });
});
