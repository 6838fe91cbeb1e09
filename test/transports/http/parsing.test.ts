// Goal: queries, JSON, paths and forms of any bytes have an answer, and a well-formed one loses nothing.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JSON_DEPTH_MAX, JSON_TOKENS_MAX } from '../../../protocol/json.ts';
import { readJson, readQuery } from '../../../transports/http/exchange.ts';
import { createFormReader } from '../../../transports/http/multipart.ts';
import { createRouter } from '../../../transports/http/router.ts';
import { OPERATIONS } from '../../../transports/rest/operations.generated.ts';

/** With the nearest doubles, as JSON.parse has it. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? Number(each) : each)));

describe('a query', () => {
  test('is read, whatever its text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const query = readQuery(text);
        expect(Object.getPrototypeOf(query)).toBeNull();
        for (const value of Object.values(query).flat()) expect(value).toBe(Buffer.from(value).toString());
      }),
    );
  });

  test('gives back every pair that was put in', () => {
    const pairs = fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.string()), { maxLength: 50 });
    fc.assert(
      fc.property(pairs, (list) => {
        const query = readQuery(new URLSearchParams(list).toString());
        const expected = new Map<string, string[]>();
        for (const [key, value] of list) expected.set(key, [...(expected.get(key) ?? []), value]);
        for (const [key, values] of expected) expect([query[key]].flat()).toEqual(values);
        expect(Object.keys(query)).toHaveLength(expected.size);
      }),
    );
  });
});

describe('JSON', () => {
  const bytesOf = (text: string) => Buffer.from(text);

  test('is read as it was meant, whichever program wrote it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
        const text = JSON.stringify(value);
        const read = readJson(bytesOf(text));
        expect({ ...read, value: read.ok && plain(read.value) }).toEqual({
          ok: true,
          value: JSON.parse(text),
        });
      }),
    );
  });

  test('is a value of well-formed strings, or 50109, whatever its bytes', () => {
    const texts = fc.oneof(
      fc.uint8Array(),
      fc
        .string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', 'u', 'd', '8', '0', ',', ':', '1') })
        .map(bytesOf),
      fc
        .array(fc.constantFrom('\\ud800', '\\udc00', '\\\\', '\\"', 'a', '\\uD83D\\uDE00'))
        .map((all) => bytesOf(`"${all.join('')}"`)),
    );
    fc.assert(
      fc.property(texts, (bytes) => {
        const read = readJson(bytes);
        if (!read.ok) expect(read.refusal.code).toBe(50109);
        else if (typeof read.value === 'string') expect(read.value).toBe(Buffer.from(read.value).toString());
      }),
      { numRuns: 500 },
    );
  });

  test('nests at most 64 deep and has at most 20,000 values, else is refused with 50109 and the bound', () => {
    const deep = (depth: number) => bytesOf('['.repeat(depth) + ']'.repeat(depth));
    const refusedWith = (bytes: Uint8Array) => {
      const read = readJson(bytes);
      return read.ok ? null : `${read.refusal.status} ${read.refusal.code} ${read.refusal.message}`;
    };
    expect(refusedWith(deep(JSON_DEPTH_MAX))).toBeNull();
    expect(refusedWith(deep(JSON_DEPTH_MAX + 1))).toBe(
      '400 50109 The JSON nests more than 64 deep: send it flatter.',
    );
    expect(refusedWith(bytesOf(`[${'0,'.repeat(JSON_TOKENS_MAX)}0]`))).toBe(
      '400 50109 The JSON has more than 20000 values: send fewer at a time.',
    );
    expect(refusedWith(bytesOf(`[${'0,'.repeat(JSON_TOKENS_MAX - 1)}0]`))).toBeNull();
    expect(refusedWith(bytesOf(JSON.stringify('[,'.repeat(JSON_TOKENS_MAX))))).toBeNull();
  });
});

describe('a path', () => {
  const routes = OPERATIONS.map((line) => {
    const [operationId = '', method = '', path = ''] = line.split(' ');
    return { operationId, method, path };
  });
  const find = createRouter(routes);

  test.each(routes)('$method $path leads to $operationId', ({ operationId, method, path }) => {
    const match = find(method, path.replace(/:\w+/g, '123').replace('@', '%40'));
    expect(match).toMatchObject({ kind: 'found', operationId });
  });

  test('hands its parameters over decoded', () => {
    const path = '/channels/1/messages/2/reactions/%F0%9F%94%A5/@me';
    expect(find('PUT', path)).toMatchObject({
      params: { channel_id: '1', message_id: '2', emoji_name: '🔥' },
    });
  });

  test('names the methods that it is known for when asked with another', () => {
    expect(find('POST', '/gateway')).toEqual({ kind: 'otherMethods', methods: ['GET'] });
  });

  test('takes the parameter where the literal does not have the method', () => {
    expect(find('GET', '/guilds/1/members/@me')).toMatchObject({ operationId: 'get_guild_member' });
  });

  test('is found or not, without a fault, whatever its text', () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom('users', '@me', '%', '%ff', '..', '', 'guilds', '1'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom('GET', 'PUT', ''), (pieces, method) => {
        expect(['found', 'unknown', 'otherMethods']).toContain(find(method, `/${pieces.join('/')}`).kind);
      }),
    );
  });

  test('may not belong to two operations: that mistake is found at the start', () => {
    const twice = ['a', 'b'].map((operationId) => ({
      operationId,
      method: 'GET',
      path: `/x/:${operationId}`,
    }));
    expect(() => createRouter(twice)).toThrow(/two operations/);
  });
});

describe('a form', () => {
  const BOUNDARY = 'xYzZy';
  const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
  const cut = (bytes: Uint8Array, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
  const readAll = async (chunks: readonly Uint8Array[], type = TYPE) => {
    const reader = createFormReader(type, 1_000, 4_000);
    for (const chunk of chunks) reader.write(chunk);
    return reader.end();
  };
  const partOf = (head: string, body: Uint8Array | string) =>
    Buffer.concat([
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]);
  const END = Buffer.from(`--${BOUNDARY}--\r\n`);

  test('gives every file back, wherever the network cut it', async () => {
    const files = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(
        files,
        fc.jsonValue({ maxDepth: 3 }),
        fc.integer({ min: 1, max: 64 }),
        async (list, payload, size) => {
          const parts = list.map((bytes, n) => partOf(`name="files[${n}]"; filename="f${n}"`, bytes));
          const text = JSON.stringify(payload);
          const form = Buffer.concat([partOf('name="payload_json"', text), ...parts, END]);
          const read = await readAll(cut(form, size));
          // What the text says: JSON has no negative zero.
          expect(read.ok && plain(read.body)).toEqual(JSON.parse(text));
          const got = read.ok ? read.files.map(({ bytes }) => Buffer.from(bytes).toString('hex')) : [];
          expect(got).toEqual(list.map((bytes) => Buffer.from(bytes).toString('hex')));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('has an answer, whatever its bytes and its type', async () => {
    const noise = fc.array(
      fc.oneof(
        fc.uint8Array(),
        fc
          .constantFrom(
            `--${BOUNDARY}`,
            '\r\n',
            '--',
            'Content-Disposition: form-data; name="a"',
            '; filename="x"',
            '\r\n\r\n',
          )
          .map((text) => Buffer.from(text)),
      ),
      { maxLength: 20 },
    );
    const types = fc.oneof(
      fc.constant(TYPE),
      fc.string().map((tail) => `multipart/form-data;${tail}`),
    );
    await fc.assert(
      fc.asyncProperty(noise, types, async (chunks, type) => {
        const read = await readAll(chunks, type);
        expect(read.ok || read.refusal.status >= 400).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a file too large', partOf('name="files[0]"; filename="x"', 'x'.repeat(1_001)), 40005],
    [
      'two files of one name',
      Buffer.concat([partOf('name="a"; filename="x"', 'x'), partOf('name="a"; filename="x"', 'x')]),
      50035,
    ],
    ['payload_json that is none', partOf('name="payload_json"', '{'), 50109],
  ])('%s is refused', async (_name, bytes, code) => {
    expect(await readAll([bytes, END])).toMatchObject({ ok: false, refusal: { code } });
  });

  test('with headers beyond their bound keeps none of that part', async () => {
    const headers = Buffer.from(`--${BOUNDARY}\r\n${'A: b\r\n'.repeat(10_000)}\r\n`);
    expect(await readAll([headers, END])).toEqual({ ok: true, body: {}, files: [] });
  });

  test('without payload_json is its fields', async () => {
    expect(await readAll([partOf('name="name"', 'ü'), END])).toEqual({
      ok: true,
      body: { name: 'ü' },
      files: [],
    });
  });
});
