// Goal: JSON of clients is read as JSON.parse reads it, but integers of 64 bits keep their digits, strings are
// well-formed, and depth and number of values have a bound.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  JSON_DEPTH_MAX,
  JSON_TOKENS_MAX,
  MalformedJson,
  OversizedJson,
  parseJson,
  withoutBigints,
} from '../../protocol/json.ts';

const read = (text: string) => parseJson(Buffer.from(text));
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, '\ufffd');
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const LONGEST = (1n << 64n) - 1n;

/** The text of a value in which integers are bigints, with the whitespace given after each token. */
function textOf(value: unknown, blank: string): string {
  if (typeof value === 'bigint') return `${value}${blank}`;
  if (Array.isArray(value))
    return `[${blank}${value.map((each) => textOf(each, blank)).join(`,${blank}`)}]${blank}`;
  if (typeof value !== 'object' || value === null) return `${JSON.stringify(value)}${blank}`;
  const members = Object.entries(value).map(
    ([key, each]) => `${JSON.stringify(key)}${blank}:${blank}${textOf(each, blank)}`,
  );
  return `{${blank}${members.join(`,${blank}`)}}${blank}`;
}

/** The value as the reader returns it: small integers are numbers. */
function meant(value: unknown): unknown {
  if (typeof value === 'bigint') return value >= -SAFE && value <= SAFE ? Number(value) : value;
  if (Array.isArray(value)) return value.map(meant);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, meant(each)] as const));
}

const integer = fc.oneof(
  fc.bigInt({ min: -LONGEST, max: LONGEST }),
  fc.bigInt({ min: SAFE - 3n, max: SAFE + 3n }),
  fc.constantFrom(LONGEST, -LONGEST, 1n << 63n, 10n ** 15n, 10n ** 16n, 10n ** 19n, 175928847299117063n),
);
const key = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('__proto__', 'constructor', '7', '175928847299117063', 'id'),
);
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    integer,
    fc.constantFrom(null, true, false, '', '175928847299117063', '\\ud800', 'a"b\\'),
    fc.string({ unit: 'binary' }).map(wellFormed),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Number.isInteger(number)),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

describe('the JSON of a client', () => {
  test('keeps every digit of 64-bit integers anywhere, and is otherwise what JSON.parse makes of it', () => {
    fc.assert(
      fc.property(anyValue, fc.constantFrom('', ' ', '\n\t', ' \r '), (value, blank) => {
        const text = textOf(value, blank);
        expect(read(text)).toEqual(meant(value));
        expect(JSON.stringify(withoutBigints(read(text)))).toBe(
          JSON.stringify(meant(value), (_, each) => (typeof each === 'bigint' ? String(each) : each)),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test('is refused exactly when JSON.parse refuses it', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '"a"', '"a":', '-', '+', '0', '.', 'e', 'E5', 'null'],
      ...[
        '12345678901234567890',
        '9007199254740993',
        '\\u',
        '\\ud83d\\ude00',
        '\\"',
        '\\\\',
        '00',
        '\u0001',
        'é',
      ],
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const wrapped = fc.oneof(
      text,
      text.map((inner) => `[${inner}]`),
      text.map((inner) => `"${inner}"`),
      text.map((inner) => `{"a":${inner}}`),
    );
    fc.assert(
      fc.property(wrapped, (given) => {
        let expected: unknown;
        try {
          expected = JSON.parse(given, (_, each) => (typeof each === 'string' ? wellFormed(each) : each));
        } catch {
          expect(() => read(given)).toThrow(MalformedJson);
          return;
        }
        const rounded = JSON.stringify(read(given), (_, each) =>
          typeof each === 'bigint' ? Number(each) : each,
        );
        expect(JSON.parse(rounded)).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['a leading zero', '012345678901234567890'],
    ['a plus', '+12345678901234567890'],
    ['an integer as a key', '{12345678901234567890:1}'],
    ['an integer as a key, before a blank', '{ 12345678901234567890 \n : 1}'],
    ['two integers in a row', '12345678901234567890 12345678901234567890'],
    ['letters after an integer', '12345678901234567890x'],
    ['half of an escape', '"\\ud8zz"'],
    ['nothing', ''],
    ['a quote without its other', '"\\'],
  ])('is malformed with %s', (_, text) => {
    expect(() => read(text)).toThrow(MalformedJson);
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  });

  test('has floats where it has a fraction, an exponent or more than 64 bits', () => {
    const text = '[1.5,1e18,12345678901234567.0,18446744073709551616,-18446744073709551616,1e400]';
    expect(read(text)).toEqual(JSON.parse(text));
  });

  test('is well-formed: a surrogate without its other half is U+FFFD, in keys too', () => {
    const half = fc.constantFrom(
      '\\ud800',
      '\\uDBFF',
      '\\udc00',
      '\\uDFFF',
      '\\ud83d\\ude00',
      '\\\\ud800',
      'x',
      '\\u0041',
    );
    fc.assert(
      fc.property(fc.array(half), (pieces) => {
        const text = `{"${pieces.join('')}":["${pieces.join('')}",9007199254740993]}`;
        const whole = wellFormed(JSON.parse(`"${pieces.join('')}"`));
        expect(read(text)).toEqual({ [whole]: [whole, 9007199254740993n] });
      }),
    );
  });

  test('finds the end of strings of any length', () => {
    const runs = fc.array(
      fc.constantFrom('a'.repeat(63), 'b'.repeat(200), '\\n', '\\"', '\\\\', 'é'.repeat(70)),
    );
    fc.assert(
      fc.property(runs, (pieces) => {
        const text = `["${pieces.join('')}","${pieces.join('')}",[9007199254740993]]`;
        const string = JSON.parse(`"${pieces.join('')}"`);
        expect(read(text)).toEqual([string, string, [9007199254740993n]]);
      }),
    );
  });

  test('has no number of more than 1,024 characters', () => {
    for (const [digits, text] of [
      [1024, (n: number) => `[${'1'.repeat(n)},0]`],
      [1024, (n: number) => `[0.${'1'.repeat(n - 2)}]`],
      [1024, (n: number) => '1'.repeat(n)],
    ] as const) {
      expect(read(text(digits))).toEqual(JSON.parse(text(digits)));
      expect(() => read(text(digits + 1))).toThrow(OversizedJson);
    }
  });

  test('leaves the bytes as they are', () => {
    const bytes = Buffer.from('["\\ud800",9007199254740993]');
    const before = Buffer.from(bytes);
    parseJson(bytes);
    expect(bytes).toEqual(before);
  });

  test('has at most 20,000 values and 64 levels', () => {
    const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const long = (count: number) => `[${Array(count).fill('9007199254740993').join(',')}]`;
    expect(JSON_TOKENS_MAX).toBe(20_000);
    expect(read(long(JSON_TOKENS_MAX))).toHaveLength(JSON_TOKENS_MAX);
    expect(new Set(read(long(JSON_TOKENS_MAX)) as unknown[])).toEqual(new Set([9007199254740993n]));
    expect(() => read(long(JSON_TOKENS_MAX + 1))).toThrow(OversizedJson);
    expect(read(deep(JSON_DEPTH_MAX))).toHaveLength(1);
    expect(() => read(deep(JSON_DEPTH_MAX + 1))).toThrow(OversizedJson);
    expect(read(JSON.stringify('[,'.repeat(JSON_TOKENS_MAX)))).toHaveLength(2 * JSON_TOKENS_MAX);
  });
});
