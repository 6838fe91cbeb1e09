// Goal: a request is read as its schema says or gets a 50035 that names every wrong place, for any JSON at all.
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../protocol/json.ts';
import type { ErrorTree } from '../../../protocol/refusal.ts';
import {
  Any,
  Arr,
  Bool,
  Choice,
  Dict,
  ImageData,
  Int,
  Nullable,
  Num,
  Obj,
  OneOf,
  Optional,
  PermissionBits,
  Snowflake,
  Str,
  Timestamp,
  Url,
} from '../../../protocol/schemas/request.ts';
import { explain } from '../../../transports/rest/explain.ts';
import { asSchemaNode } from '../../../transports/rest/schemanode.ts';
import { compileValidator } from '../../../transports/rest/validate.ts';
import { misshapen } from '../../support/builtcomponents.ts';

const Everything = Obj({
  id: Snowflake(),
  name: Str(1, 4),
  topic: Optional(Nullable(Str(0, 5))),
  count: Optional(Int(1, 9)),
  ratio: Optional(Num(0, 1)),
  on: Optional(Bool()),
  kind: Optional(Choice(0, 2, 'x')),
  when: Optional(Nullable(Timestamp())),
  image: Optional(ImageData()),
  allow: Optional(PermissionBits()),
  rows: Optional(Arr(Obj({ id: Snowflake(), deny: Optional(Nullable(PermissionBits())) }), 3, 1)),
  nonce: Optional(OneOf(Int(0, 99), Str(0, 3))),
  names: Optional(Dict(Str(0, 2), 2)),
  part: Optional(
    OneOf(Obj({ type: Choice(1), label: Str(1, 3) }), Obj({ type: Choice(2), items: Arr(Str(1, 3), 2, 1) })),
  ),
  any: Optional(Any()),
  url: Optional(Nullable(Url(30))),
});
const read = compileValidator(Everything);
const good = { id: '1', name: 'n' };

function errorsOf(body: object): ErrorTree | undefined {
  const result = read({ ...good, ...body });
  return result.ok ? undefined : result.refusal.errors;
}
const leafOf = (tree: ErrorTree | undefined, ...path: string[]) =>
  path.reduce<ErrorTree | undefined>((at, key) => at?.[key] as ErrorTree | undefined, tree)?._errors?.[0];

test.each([
  ['2027-02-28T10:00:00Z', true],
  ['2028-02-29', true],
  ['2027-02-29T10:00:00Z', false],
  ['2027-02-30T10:00:00Z', false],
  ['2027-04-31T10:00:00+02:00', false],
  ['2027-12-31 23:59', true],
  ['2027-13-01', false],
  ['2027-01-00', false],
])('the day of the timestamp %s exists in the calendar: %s', (when, isOne) => {
  expect(leafOf(errorsOf({ when }), 'when')?.code).toBe(isOne ? undefined : 'DATE_TIME_TYPE_PARSE');
});

describe('a map', () => {
  test.each(['\n', 'a\nb', '\u2028', '\r', ''])('validates the value of the key %j like any other', (key) => {
    expect(leafOf(errorsOf({ names: { [key]: null } }), 'names', key)?.code).toBe('BASE_TYPE_REQUIRED');
    expect(leafOf(errorsOf({ names: { [key]: 'abc' } }), 'names', key)?.code).toBe('BASE_TYPE_MAX_LENGTH');
    expect(errorsOf({ names: { [key]: 'ab' } })).toBeUndefined();
  });
});

describe('a valid request', () => {
  test('contains no NUL and no lone surrogate, which the database cannot store', () => {
    expect(read({ ...good, name: 'a\u0000b', topic: '\ud800\ud83d\ude00', rows: undefined })).toEqual({
      ok: true,
      value: { id: '1', name: 'ab', topic: '\ufffd\u{1f600}' },
    });
    expect(errorsOf({ name: '\u0000' })).toBeDefined();
  });

  test('drops unknown keys at every level', () => {
    expect(read({ ...good, x: 1, rows: [{ id: '2', y: 1 }] })).toEqual({
      ok: true,
      value: { ...good, rows: [{ id: '2' }] },
    });
  });

  test('may contain ids and permissions as numbers, and numbers as text', () => {
    expect(read({ id: 12, name: 5, allow: 8, count: '3', rows: [{ id: 4, deny: 16 }] })).toEqual({
      ok: true,
      value: { id: '12', name: '5', allow: '8', count: 3, rows: [{ id: '4', deny: '16' }] },
    });
  });

  test('may contain ids and permissions as 64-bit integers, which keep every digit', () => {
    const [id, most, all] = [175928847299117063n, 9223372036854775807n, 18446744073709551615n];
    expect(read({ id, name: 'n', allow: all, rows: [{ id: most, deny: id }], any: [{ id }, -id] })).toEqual({
      ok: true,
      value: {
        ...{ id: '175928847299117063', name: 'n', allow: '18446744073709551615' },
        rows: [{ id: '9223372036854775807', deny: '175928847299117063' }],
        any: [{ id: '175928847299117063' }, '-175928847299117063'],
      },
    });
  });

  test('accepts a 64-bit integer for a string, like any number', () => {
    const texts = compileValidator(Obj({ text: Str(0, 30), nonce: OneOf(Int(0, 99), Str(0, 25)) }));
    const integer = 175928847299117063n;
    const digits = '175928847299117063';
    expect(texts({ text: integer, nonce: integer })).toEqual({
      ok: true,
      value: { text: digits, nonce: digits },
    });
  });

  test.each([
    ['9007199254740991', '9007199254740991'],
    ['18446744073709551615', '18446744073709551615'],
    ['18446744073709551616', null],
    ['123456789012345678901', null],
    ['1e300', null],
    ['0.5', '0.5'],
  ])('parses the JSON number %s as the text %s, with every digit', (number, expected) => {
    const texts = compileValidator(Obj({ text: Str(0, 2_000) }));
    const result = texts(parseJson(Buffer.from(`{"text":${number}}`)));
    expect(result.ok ? (result.value as { text: string }).text : null).toBe(expected);
  });

  test('keeps a URL as a URI', () => {
    expect(read({ ...good, url: ' https://example.org/ü' })).toMatchObject({
      value: { url: 'https://example.org/%C3%BC' },
    });
    expect(read({ ...good, url: null })).toMatchObject({ value: { url: null } });
  });

  test('keeps the type of a value that several schemas accept', () => {
    expect(read({ ...good, nonce: '7' })).toMatchObject({ value: { nonce: '7' } });
    expect(read({ ...good, nonce: 7 })).toMatchObject({ value: { nonce: 7 } });
  });

  test('counts lengths in code points', () => {
    expect(read({ ...good, name: '😀😀😀😀' }).ok).toBe(true);
    expect(read({ ...good, name: '😀😀😀😀😀' }).ok).toBe(false);
  });
});

describe('the errors of a wrong request', () => {
  test.each([
    [{ name: undefined }, ['name'], 'BASE_TYPE_REQUIRED', 'This field is required'],
    [{ name: null }, ['name'], 'BASE_TYPE_REQUIRED', 'This field is required'],
    [{ name: '' }, ['name'], 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 4 in length.'],
    [{ name: [] }, ['name'], 'STRING_TYPE_CONVERT', 'Could not interpret "list" as string.'],
    [
      { topic: 2 ** 67 },
      ['topic'],
      'STRING_TYPE_CONVERT',
      'Could not interpret "147573952589676410000" as string.',
    ],
    [{ topic: 1e300 }, ['topic'], 'STRING_TYPE_CONVERT', 'Could not interpret "1e+300" as string.'],
    [{ nonce: -(2 ** 67) }, ['nonce'], 'NUMBER_TYPE_MIN', 'int value should be greater than or equal to 0.'],
    [{ url: 'https://a b.test' }, ['url'], 'URL_TYPE_INVALID_URL', 'Not a well formed URL.'],
    [{ url: '' }, ['url'], 'URL_TYPE_INVALID_URL', 'Not a well formed URL.'],
    [{ url: 'https://user:pass@a.test' }, ['url'], 'URL_TYPE_INVALID_URL', 'Not a well formed URL.'],
    [
      { url: 'file:///etc/passwd' },
      ['url'],
      'URL_TYPE_INVALID_SCHEME',
      "Scheme \"file\" must be one of ('http', 'https').",
    ],
    [
      { url: `https://a.test/${'ü'.repeat(5)}` },
      ['url'],
      'BASE_TYPE_MAX_LENGTH',
      'Must be 30 or fewer in length.',
    ],
    [{ url: 5 }, ['url'], 'STRING_TYPE_CONVERT', 'Could not interpret "5" as string.'],
    [{ topic: '123456' }, ['topic'], 'BASE_TYPE_MAX_LENGTH', 'Must be 5 or fewer in length.'],
    [{ id: 'x' }, ['id'], 'NUMBER_TYPE_COERCE', 'Value "x" is not snowflake.'],
    [{ id: 2 ** 60 }, ['id'], 'NUMBER_TYPE_COERCE', 'Value "1152921504606847000" is not snowflake.'],
    [{ id: 1.5 }, ['id'], 'NUMBER_TYPE_COERCE', 'Value "1.5" is not snowflake.'],
    [{ id: -1 }, ['id'], 'NUMBER_TYPE_COERCE', 'Value "-1" is not snowflake.'],
    [{ id: [1] }, ['id'], 'NUMBER_TYPE_COERCE', 'Value "list" is not snowflake.'],
    [{ count: 0 }, ['count'], 'NUMBER_TYPE_MIN', 'int value should be greater than or equal to 1.'],
    [{ count: 10 }, ['count'], 'NUMBER_TYPE_MAX', 'int value should be less than or equal to 9.'],
    [{ count: 'a' }, ['count'], 'NUMBER_TYPE_COERCE', 'Value "a" is not int.'],
    [{ count: 1.5 }, ['count'], 'NUMBER_TYPE_COERCE', 'Value "1.5" is not int.'],
    [{ on: 'true' }, ['on'], 'BOOLEAN_TYPE_CONVERT', 'Must be either true or false.'],
    [{ kind: 1 }, ['kind'], 'BASE_TYPE_CHOICES', 'Value must be one of {0, 2, x}.'],
    [{ when: 'soon' }, ['when'], 'DATE_TIME_TYPE_PARSE', 'Could not parse soon. Should be ISO8601.'],
    [{ image: 'data:text/html;base64,aa' }, ['image'], 'IMAGE_INVALID', 'Invalid image data'],
    [{ allow: '-1' }, ['allow'], 'NUMBER_TYPE_COERCE', 'Value "-1" is not int.'],
    [{ rows: [] }, ['rows'], 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 3 in length.'],
    [{ rows: {} }, ['rows'], 'LIST_TYPE_CONVERT', 'Only iterables may be used in a ListType'],
    [
      { rows: [{ id: '1' }, { id: 'y' }] },
      ['rows', '1', 'id'],
      'NUMBER_TYPE_COERCE',
      'Value "y" is not snowflake.',
    ],
    [{ rows: [5] }, ['rows', '0'], 'MODEL_TYPE_CONVERT', 'Only dictionaries may be used in a ModelType'],
    [{ names: { a: '123' } }, ['names', 'a'], 'BASE_TYPE_MAX_LENGTH', 'Must be 2 or fewer in length.'],
    [{ part: { type: 2, items: [''] } }, ['part', 'items', '0'], 'BASE_TYPE_BAD_LENGTH', expect.any(String)],
    [{ part: { type: 1, items: [] } }, ['part', 'label'], 'BASE_TYPE_REQUIRED', 'This field is required'],
  ])('explain %j', (body, path, code, message) => {
    expect(leafOf(errorsOf(body), ...path)).toEqual({ code, message });
  });

  test.each([
    [{ id: -175928847299117063n }, ['id'], 'Value "-175928847299117063" is not snowflake.'],
    [{ id: 9223372036854775808n }, ['id'], 'Value "9223372036854775808" is not snowflake.'],
    [
      { rows: [{ id: '1' }, { id: -(1n << 60n) }] },
      ['rows', '1', 'id'],
      expect.stringContaining('snowflake'),
    ],
    [{ allow: -9007199254740993n }, ['allow'], expect.any(String)],
    [{ count: 9007199254740993n }, ['count'], 'Value "9007199254740993" is not int.'],
    [{ on: 9007199254740993n }, ['on'], 'Must be either true or false.'],
    [{ kind: 9007199254740993n }, ['kind'], 'Value must be one of {0, 2, x}.'],
    [{ topic: 9007199254740993n }, ['topic'], 'Must be 5 or fewer in length.'],
    [{ rows: 9007199254740993n }, ['rows'], 'Only iterables may be used in a ListType'],
    [{ when: 9007199254740993n }, ['when'], expect.any(String)],
    [{ image: 9007199254740993n }, ['image'], expect.any(String)],
    [{ ratio: 9007199254740993n }, ['ratio'], 'float value should be less than or equal to 1.'],
  ])('explain a 64-bit integer that no schema accepts (%#)', (body, path, message) => {
    expect(leafOf(errorsOf(body), ...path)?.message).toEqual(message);
  });

  test('list every wrong field at once', () => {
    expect(Object.keys(errorsOf({ id: 'x', name: '', count: 0 }) ?? {})).toEqual(['id', 'name', 'count']);
  });

  test('name the type when the body is no object', () => {
    for (const body of [5, 'x', [], true])
      expect(read(body)).toMatchObject({
        ok: false,
        refusal: { code: 50035, errors: { _errors: [{ code: 'MODEL_TYPE_CONVERT' }] } },
      });
  });
});

/** JSON near the schema, 64-bit integers among it: its keys with any values, and values that fit more or less. */
const near = fc.oneof(
  fc.jsonValue(),
  fc.bigInt({ min: -(1n << 64n), max: 1n << 64n }).filter((value) => !Number.isSafeInteger(Number(value))),
  fc.constantFrom<unknown>(
    '1',
    12,
    '',
    null,
    'abc',
    true,
    1.5,
    -1,
    [],
    {},
    '2024-01-01',
    'data:image/png;base64,AA',
  ),
  fc.array(fc.record({ id: fc.oneof(fc.nat(), fc.string()), deny: fc.jsonValue() }), { maxLength: 5 }),
  fc.record(
    { type: fc.constantFrom(1, 2, 3), label: fc.jsonValue(), items: fc.jsonValue() },
    { requiredKeys: ['type'] },
  ),
);
const bodies = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(fc.constantFrom(...Object.keys(Everything.properties), '__proto__', '_errors'), near),
  fc
    .dictionary(fc.constantFrom(...Object.keys(Everything.properties)), near)
    .map((body) => ({ ...good, ...body })),
);

test('every accepted body fits its schema, and every rejected one has an explanation', () => {
  const checker = Compile(Everything);
  fc.assert(
    fc.property(bodies, fc.boolean(), (body, text) => {
      const result = compileValidator(Everything, text)(body);
      if (result.ok) expect(checker.Check(result.value)).toBe(true);
      else {
        expect(result.refusal.code).toBe(50035);
        expect(JSON.stringify(result.refusal.errors)).not.toContain('BASE_TYPE_INVALID');
        expect(misshapen(result.refusal.errors)).toEqual([]);
      }
    }),
    { numRuns: 500 },
  );
});

test('the explanation and the compiled checker agree on every value', () => {
  const checker = Compile(Everything);
  const node = asSchemaNode(Everything);
  fc.assert(
    fc.property(bodies, (body) => {
      expect(explain(node, body) === undefined).toBe(checker.Check(body));
    }),
    { numRuns: 1_000 },
  );
});

test('an accepted body is accepted again unchanged', () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const result = read(body);
      if (result.ok) expect(read(result.value)).toEqual(result);
    }),
  );
});

test('a schema with an unsupported keyword throws when the server starts', () => {
  expect(() => compileValidator(Obj({ a: { ...Str(0, 1), pattern: 'x' } }))).toThrow(/"pattern" at #\/a/);
});
