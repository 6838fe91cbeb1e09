// Goal: what arrives from another shard is checked against the catalogue before a method runs, and the catalogue itself is sound.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CATALOGUE, LINK, malformedArgs, malformedReply } from '../../protocol/link.ts';
import {
  anything,
  bytes,
  decimal,
  fields,
  flag,
  id,
  list,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  record,
  reply,
  type Schema,
  text,
  tuple,
  whole,
} from '../../protocol/linkschema.ts';
import { filesUnder, read } from '../support/source.ts';

const methods = [...CATALOGUE];
const JSON_VALUE = fc.jsonValue({ maxDepth: 3 });

describe('the catalogue', () => {
  test.each(methods)('accepts the example arguments and the example reply of %s', (name, method) => {
    const args = method.args.map(({ example }) => example);
    expect(malformedArgs(name, method, args)).toBeNull();
    expect(malformedReply(name, method, method.reply.example)).toBeNull();
    // Arguments that a newer shard has added are ignored.
    expect(malformedArgs(name, method, [...args, 'more'])).toBeNull();
  });

  test('names no method that no shard serves', () => {
    const sources = ['actors', 'services', 'compose'].flatMap((room) => filesUnder(room, /\.ts$/)).map(read);
    const unserved = methods.filter(([name]) => !sources.some((source) => source.includes(`'${name}'`)));
    expect(unserved.map(([name]) => name)).toEqual([]);
  });

  test('has optional arguments only behind those that every version sends', () => {
    for (const [name, { args }] of methods) {
      const isOptional = args.map((schema) => schema.accepts(undefined) && schema !== anything);
      expect([
        name,
        isOptional.lastIndexOf(false) < isOptional.indexOf(true) || !isOptional.includes(true),
      ]).toEqual([name, true]);
    }
  });

  test('sends no command again that is neither repeatable nor keyed', () => {
    for (const [name, { by, kind, repeat }] of methods)
      if (kind === 'tell' || by === 'shard') expect([name, repeat]).toEqual([name, 'once']);
  });
});

describe('a malformed call', () => {
  test('is reported with the path and the type of the argument, never with its content', () => {
    const said = malformedArgs('accounts.setPassword', LINK['accounts.setPassword'], ['tuesday-moon', 7]);
    expect(said).toBe('Malformed call of accounts.setPassword: argument 1 must be user id, got string.');
    expect(malformedReply('users.plays', LINK['users.plays'], 'secret')).toBe(
      'Malformed reply of users.plays: expected flag, got string.',
    );
  });

  test('is rejected without its arguments', () => {
    for (const [name, method] of methods) {
      const required = method.args.filter((schema) => !schema.accepts(undefined));
      if (required.length > 0) expect(malformedArgs(name, method, [])).toContain(`Malformed call of ${name}`);
    }
  });
});

describe('a schema', () => {
  const schemas: readonly (readonly [Schema<unknown>, accepts: (value: unknown) => boolean])[] = [
    [text, (value) => typeof value === 'string'],
    [flag, (value) => typeof value === 'boolean'],
    [whole, (value) => Number.isSafeInteger(value)],
    [decimal, (value) => Number.isFinite(value)],
    [nothing, (value) => value === null],
    [anything, () => true],
    [object, (value) => value !== null && typeof value === 'object'],
    [nullable(flag), (value) => value === null || typeof value === 'boolean'],
    [optional(flag), (value) => typeof value === 'boolean'],
    [oneOf('a', 'b'), (value) => value === 'a' || value === 'b'],
    [list(text), (value) => Array.isArray(value) && value.every((each) => typeof each === 'string')],
    [
      tuple(text, flag),
      (value) => Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'boolean',
    ],
    [id('user'), (value) => typeof value === 'string' && /^(0|[1-9]\d{0,18})$/.test(value)],
    [bytes, () => false],
    [fields({ a: flag }), (value) => typeof (value as { a?: unknown } | null)?.a === 'boolean'],
    [
      record(whole),
      (value) =>
        typeof value === 'object' && value !== null && Object.values(value).every(Number.isSafeInteger),
    ],
  ];
  test.each(schemas)('%# accepts exactly the values of its type', (schema, accepts) => {
    fc.assert(
      fc.property(fc.oneof(JSON_VALUE, fc.constantFrom('a', 'b', '0', '1390000000000000001')), (value) => {
        expect(schema.accepts(value)).toBe(accepts(value));
      }),
    );
    expect(schema.accepts(schema.example)).toBe(true);
  });

  test('accepts as a reply a value or a refusal, and nothing between', () => {
    const schema = reply(flag);
    for (const value of [
      { ok: true, value: false },
      { ok: false, refusal: { code: 10003 } },
    ])
      expect(schema.accepts(value)).toBe(true);
    for (const value of [
      null,
      {},
      { ok: true },
      { ok: true, value: 1 },
      { ok: false, refusal: null },
      { ok: 1 },
    ])
      expect(schema.accepts(value)).toBe(false);
  });

  test('refuses as an id what does not fit a signed 64-bit integer', () => {
    expect(id('user').accepts('9223372036854775807')).toBe(true);
    expect(id('user').accepts('9223372036854775808')).toBe(false);
    expect(id('user').accepts(7)).toBe(false);
  });
});
