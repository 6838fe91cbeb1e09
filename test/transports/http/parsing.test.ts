// Goal: any bytes of a query, JSON, path or form are read or rejected without a throw, and well-formed input is read completely.
import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JSON_DEPTH_MAX, JSON_TOKENS_MAX } from '../../../protocol/json.ts';
import { addressOf, readJson, readQuery } from '../../../transports/http/exchange.ts';
import { createFormReader } from '../../../transports/http/multipart.ts';
import { createRouter } from '../../../transports/http/router.ts';
import { OPERATIONS } from '../../../transports/rest/operations.generated.ts';

/** Converts big integers to the nearest doubles, as JSON.parse does. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? Number(each) : each)));

describe('a query', () => {
  test('is read as well-formed strings for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const query = readQuery(text);
        expect(Object.getPrototypeOf(query)).toBeNull();
        for (const value of Object.values(query).flat()) expect(value).toBe(Buffer.from(value).toString());
      }),
    );
  });

  test('is read with every pair in order', () => {
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

describe('the address that a proxy writes', () => {
  const peer = { getRemoteAddressAsText: () => new TextEncoder().encode('127.0.0.1').buffer };

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['10.0.0.1,  192.0.2.1 ', '192.0.2.1'],
    ['192.0.2.1:4444', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4444', '2001:db8::1'],
    ['[192.0.2.1]:4444', '192.0.2.1'],
    ['192.0.2.1:', '127.0.0.1'],
    ['192.0.2:4444', '127.0.0.1'],
    ['unknown', '127.0.0.1'],
    ['', '127.0.0.1'],
  ])('is read from %j as %s', (written, address) => {
    expect(addressOf(peer, written)).toBe(address);
  });

  test('is valid for any text', () => {
    fc.assert(fc.property(fc.string(), (written) => isIP(addressOf(peer, written)) !== 0));
  });
});

describe('JSON', () => {
  const bytesOf = (text: string) => Buffer.from(text);

  test('is read as JSON.parse reads it', () => {
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

  test('is read with well-formed strings or rejected with 50109 for any bytes', () => {
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

  test('is rejected with 50109 and the bound above 64 levels or 20,000 values', () => {
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

  test('is matched with decoded parameters', () => {
    const path = '/channels/1/messages/2/reactions/%F0%9F%94%A5/@me';
    expect(find('PUT', path)).toMatchObject({
      params: { channel_id: '1', message_id: '2', emoji_name: '🔥' },
    });
  });

  test('is answered with its allowed methods for another method', () => {
    expect(find('POST', '/gateway')).toEqual({ kind: 'otherMethods', methods: ['GET'] });
  });

  test('matches a parameter when the literal segment does not have the method', () => {
    expect(find('GET', '/guilds/1/members/@me')).toMatchObject({ operationId: 'get_guild_member' });
  });

  test('is matched or rejected without a throw for any text', () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom('users', '@me', '%', '%ff', '..', '', 'guilds', '1'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom('GET', 'PUT', ''), (pieces, method) => {
        expect(['found', 'unknown', 'otherMethods']).toContain(find(method, `/${pieces.join('/')}`).kind);
      }),
    );
  });

  test('is rejected when the router is created if two operations share it', () => {
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

  test('is read with every file, however the network splits it', async () => {
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
          // Compared with the text, because JSON.stringify drops the sign of negative zero.
          expect(read.ok && plain(read.body)).toEqual(JSON.parse(text));
          const got = read.ok ? read.files.map(({ bytes }) => Buffer.from(bytes).toString('hex')) : [];
          expect(got).toEqual(list.map((bytes) => Buffer.from(bytes).toString('hex')));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('is read or rejected without a throw for any bytes and content type', async () => {
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
    ['a file that is too large', partOf('name="files[0]"; filename="x"', 'x'.repeat(1_001)), 40005],
    [
      'two files of one name',
      Buffer.concat([partOf('name="a"; filename="x"', 'x'), partOf('name="a"; filename="x"', 'x')]),
      50035,
    ],
    ['malformed payload_json', partOf('name="payload_json"', '{'), 50109],
  ])('is rejected with %s', async (_name, bytes, code) => {
    expect(await readAll([bytes, END])).toMatchObject({ ok: false, refusal: { code } });
  });

  test('drops a part whose headers exceed their bound', async () => {
    const headers = Buffer.from(`--${BOUNDARY}\r\n${'A: b\r\n'.repeat(10_000)}\r\n`);
    expect(await readAll([headers, END])).toEqual({ ok: true, body: {}, files: [] });
  });

  test('is read from its fields when it has no payload_json', async () => {
    expect(await readAll([partOf('name="name"', 'ü'), END])).toEqual({
      ok: true,
      body: { name: 'ü' },
      files: [],
    });
  });
});
