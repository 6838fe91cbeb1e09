// Goal: every row is JSON text that a jsonb column takes, and nothing but what it cannot hold is changed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rowText } from '../../../storage/database/driver.ts';

test('NUL and lone surrogates become U+FFFD, in values and in keys, at any depth', () => {
  const row = { a: ['x\0y', { '\uD800': '\uDC00\uD83D\uDE00' }], b: null, c: 1 };
  expect(JSON.parse(rowText(row))).toEqual({
    a: ['x\uFFFDy', { '\uFFFD': '\uFFFD\u{1F600}' }],
    b: null,
    c: 1,
  });
});

test('text that only looks like an escape is kept', () => {
  const row = { a: String.raw`\u0000 \ud800 \\u0000` };
  expect(JSON.parse(rowText(row))).toEqual(row);
});

test('a JSON value is changed only where it cannot be stored', () => {
  const unit = fc.oneof(
    fc.constantFrom('\0', '\uD83D', '\uDE00', '\\', 'u0000'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  const text = fc.string({ unit });
  const row = fc.object({ key: text, values: [text, fc.integer(), fc.boolean(), fc.constant(null)] });
  fc.assert(
    fc.property(row, (value) => {
      const strings: string[] = [];
      const visit = (key: string, inner: unknown): unknown => {
        strings.push(key, ...(typeof inner === 'string' ? [inner] : []));
        return inner;
      };
      JSON.parse(JSON.stringify(value), visit);
      const unstorable = strings.some((each) => /[\0\p{Surrogate}]/u.test(each));
      strings.length = 0;
      const stored = rowText(value);
      JSON.parse(stored, visit);
      expect(strings.filter((each) => /[\0\p{Surrogate}]/u.test(each))).toEqual([]);
      expect(stored === JSON.stringify(value)).toBe(!unstorable);
    }),
  );
});
