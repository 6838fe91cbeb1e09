// Goal: a mutation changes one expression of a program that still parses, and never what only the compiler reads.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesUnder, parse, read } from '../../support/source.ts';
import { mutationsOf } from './mutations.ts';

const changes = (source: string): string[] =>
  mutationsOf('a.ts', source).map(({ from, to }) => `${from} → ${to}`);

describe('mutations', () => {
  it.each([
    [
      'off-by-one bounds',
      'f(a < b, c >= d);',
      ['f(a < b, c >= d) → undefined', 'a < b → (a) <= (b)', 'c >= d → (c) > (d)'],
    ],
    ['negated comparisons', 'const x = a === b;', ['a === b → (a) !== (b)']],
    ['negated conditions', 'if (a) b = c ? d : e;', ['a → !(a)', 'c → !(c)']],
    ['dropped negations', 'if (!a) b = c;', ['!a → a']],
    ['dropped calls', 'await f(a);', ['await f(a) → undefined']],
    ['dropped fallbacks', 'const x = a ?? b;', ['a ?? b → a']],
    ['constants', 'const x = [7, true];', ['7 → 7 + 1', 'true → false']],
    ['expressions with a type assertion', 'const x = (a === b) as C;', ['a === b → (a) !== (b)']],
  ])('include %s', (_what, source, expected) => {
    expect(changes(source)).toEqual(expected);
  });

  it.each([
    ['types', 'type A = 1 | true; interface B { a: 2 } const x = y as 3;'],
    ['keys', 'const x = { 1: y };'],
    ['calls of a parent class', 'class A extends B { constructor() { super(y); } }'],
  ])('never change %s', (_what, source) => {
    expect(changes(source)).toEqual([]);
  });

  it('keep every source of the actors parseable', () => {
    const files = filesUnder('actors', /\.ts$/);
    fc.assert(
      fc.property(fc.constantFrom(...files), fc.nat(), (file, nth) => {
        const source = read(file);
        const all = mutationsOf(file, source);
        if (all.length === 0) return;
        const { at, from, to } = all[nth % all.length] as (typeof all)[number];
        expect(source.startsWith(from, at)).toBe(true);
        const changed = `${source.slice(0, at)}(0 ? (${to}) : (${from}))${source.slice(at + from.length)}`;
        expect(() => parse(file, changed)).not.toThrow();
      }),
    );
  });
});
