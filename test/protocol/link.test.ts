// Goal: what arrives from another shard is checked against the catalogue before a method runs, and the catalogue itself is sound.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestOf } from '../../actors/session/requests.ts';
import { requestInput } from '../../protocol/link.sessions.ts';
import { CATALOGUE, type Method } from '../../protocol/link.ts';
import {
  clientInput,
  clientObject,
  commandInput,
  commandValue,
  dispatchBody,
} from '../../protocol/link.values.ts';
import { malformedArgs, malformedReply } from '../../protocol/linkcheck.ts';
import {
  anything,
  bigint,
  bytes,
  decimal,
  fields,
  flag,
  given,
  id,
  integer,
  is,
  list,
  mapOf,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  partial,
  record,
  reply,
  type Schema,
  secret,
  setOf,
  some,
  text,
  tuple,
  union,
  variants,
} from '../../protocol/linkschema.ts';
import { refusal } from '../../protocol/refusal.ts';
import { Secret } from '../../protocol/secret.ts';
import { SESSION_REQUESTS } from '../../protocol/sessionrequests.ts';
import { filesUnder, read } from '../support/source.ts';

const methods = [...CATALOGUE];
function methodOf(name: string): Method {
  const method = CATALOGUE.get(name);
  if (!method) throw new Error(`The catalogue has no ${name}.`);
  return method;
}
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
      const isOptional = args.map((schema) => 'isOptional' in schema);
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

/** Schemas whose values shards do not check, and the one that does. */
const UNCHECKED = new Map([
  ['client input', 'the method, which parses it as it does for its own clients'],
  ['client object', 'the client that the caller answers'],
  ['dispatch body', 'the client that the dispatch is for'],
  ['command input', 'the owner, beyond its ids, as the input of a command that the aggregate has'],
  ['command value', 'the caller, by the row of the command'],
  ['session request', 'the owner, by `SESSION_REQUESTS`'],
]);

test('no row has a bare object, or a value of any type, in its arguments or its reply', () => {
  const bare = methods.filter(([, { args, reply: answer }]) =>
    [...args, answer].some(({ name }) => /\b(object|anything)\b(?<!\w+ object)/.test(name)),
  );
  expect(bare.map(([name]) => name)).toEqual([]);
  const unchecked = [clientInput, clientObject, dispatchBody, commandInput, commandValue, requestInput];
  expect(unchecked.map(({ name }) => name).sort()).toEqual([...UNCHECKED.keys()].sort());
});

/** The example with one of its parts, at any depth, replaced by a value of no schema's type. */
function* mutations(value: unknown): Generator<unknown> {
  yield () => undefined;
  if (Array.isArray(value))
    for (const [index, each] of value.entries())
      for (const other of mutations(each)) yield value.with(index, other);
  else if (value instanceof Set)
    for (const each of value) for (const other of mutations(each)) yield new Set([other]);
  else if (value instanceof Map)
    for (const [key, each] of value) for (const other of mutations(each)) yield new Map([[key, other]]);
  else if (isPlain(value))
    for (const [key, each] of Object.entries(value))
      for (const other of mutations(each)) yield { ...value, [key]: other };
}
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const opaque = [...UNCHECKED.keys()].join('|');
describe('every row', () => {
  const schemas = methods.flatMap(([name, { args, reply: answer }]) =>
    [...args, answer].map((schema) => [name, schema] as const),
  );
  test('rejects its example with any part replaced, unless parts are unchecked', () => {
    const exact = schemas.filter(([, schema]) => schema !== nothing && !new RegExp(opaque).test(schema.name));
    expect(exact.length).toBeGreaterThan(200);
    for (const [name, schema] of exact)
      for (const mutated of mutations(schema.example))
        expect([name, schema.name, mutated, schema.accepts(mutated)]).toEqual([
          name,
          schema.name,
          mutated,
          false,
        ]);
  });

  test('accepts its example with fields that a later version adds, and no random value that is no such object', () => {
    for (const [name, schema] of schemas)
      if (isPlain(schema.example))
        expect([name, schema.accepts({ ...schema.example, added: 1 })]).toEqual([name, true]);
  });
});

test.each(Object.entries(SESSION_REQUESTS))(
  'a session request %s is read by its own schema',
  (name, { input: schema }) => {
    expect(requestOf(name, schema.example)).toEqual({ name, input: schema.example });
    expect(() => requestOf(name, 7n)).toThrow('Malformed request of a session.');
    expect(() => requestOf('toString', schema.example)).toThrow('Malformed request of a session.');
  },
);

test('a command is rejected with an id that is none, in whichever field its aggregate has ids', () => {
  for (const field of ['channelId', 'emojiId', 'webhookId']) {
    expect(commandInput.accepts({ [field]: '1390000000000000001' })).toBe(true);
    expect(commandInput.accepts({ [field]: null })).toBe(true);
    expect(commandInput.accepts({ [field]: '__proto__' })).toBe(false);
  }
});

describe('a malformed call', () => {
  test('is reported with the path and the type of the argument, never with its content', () => {
    const said = malformedArgs('accounts.setPassword', methodOf('accounts.setPassword'), ['tuesday-moon', 7]);
    expect(said).toBe('Malformed call of accounts.setPassword: argument 1 must be user id, got string.');
    expect(malformedReply('users.plays', methodOf('users.plays'), 'secret')).toBe(
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
    [integer, (value) => Number.isSafeInteger(value)],
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
      record(integer),
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

  test('chooses a variant by its tag alone, and distinguishes absent fields from null ones', () => {
    const step = variants('kind', {
      done: { id: id('user') },
      failed: { why: optional(text), code: given(integer) },
    });
    expect(step.accepts({ kind: 'done', id: '7' })).toBe(true);
    expect(step.accepts({ kind: 'failed' })).toBe(true);
    expect(step.accepts({ kind: 'failed', code: null })).toBe(true);
    for (const value of [
      null,
      {},
      { id: '7' },
      { kind: 'toString' },
      { kind: 'done' },
      { kind: 'failed', why: null },
    ])
      expect(step.accepts(value)).toBe(false);
  });

  test('accepts sets, maps, unions and non-empty lists of their elements, and nothing else', () => {
    expect(setOf(integer).accepts(new Set([1, 2]))).toBe(true);
    expect(mapOf(text, flag).accepts(new Map([['a', true]]))).toBe(true);
    expect(union(text, is(7)).accepts(7)).toBe(true);
    expect(some(integer).accepts([1])).toBe(true);
    expect(partial({ a: integer }).accepts({})).toBe(true);
    for (const [schema, value] of [
      [setOf(integer), new Set([1, 'a'])],
      [setOf(integer), [1]],
      [mapOf(text, flag), new Map([['a', 1]])],
      [mapOf(text, flag), {}],
      [union(text, is(7)), 8],
      [some(integer), []],
      [partial({ a: integer }), { a: null }],
      [number, Number.NaN],
      [bigint, 1],
      [secret, 'secret'],
    ] as const)
      expect([schema.name, schema.accepts(value)]).toEqual([schema.name, false]);
    expect(number.accepts(Number.POSITIVE_INFINITY)).toBe(true);
    expect(secret.accepts(new Secret('a'))).toBe(true);
  });

  test('accepts as a reply a value or a refusal, and nothing between', () => {
    const schema = reply(flag);
    for (const value of [
      { ok: true, value: false },
      { ok: false, refusal: refusal('UNKNOWN_CHANNEL') },
    ])
      expect(schema.accepts(value)).toBe(true);
    for (const value of [
      null,
      {},
      { ok: true },
      { ok: true, value: 1 },
      { ok: false, refusal: null },
      { ok: false, refusal: { code: 10003 } },
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
