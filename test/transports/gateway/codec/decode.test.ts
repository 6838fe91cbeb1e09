// Goal: any bytes a client sends are either a payload or close code 4002, never an exception, never unbounded work.
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePayload } from '../../../../transports/gateway/codec/decode.ts';
import { decodeEtf, EtfError } from '../../../../transports/gateway/codec/etf.decode.ts';
import { writeEtf } from '../../../support/codec-client.ts';

const etf = (...bytes: number[]) => decodeEtf(Uint8Array.of(131, ...bytes));
const json = (text: string, binary = false) => decodePayload(Buffer.from(text), binary, 'json');
/** With the nearest doubles, as JSON has it. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? Number(each) : each)));

describe('ids as integers', () => {
  it('keep their digits in JSON and in ETF, wherever they are', () => {
    const id = fc.bigInt({ min: (1n << 53n) + 1n, max: (1n << 63n) - 1n });
    fc.assert(
      fc.property(id, id, (one, other) => {
        const d = { guild_id: one, user_ids: [one, other, 5], text: `${one}` };
        const text = `{"op":8,"d":{"guild_id":${one},"user_ids":[${one},${other},5],"text":"${one}"}}`;
        expect(json(text)?.d).toEqual(d);
        expect(json(zlib.deflateSync(text).toString('latin1'))).toBeNull();
        expect(decodePayload(zlib.deflateSync(text), true, 'json')?.d).toEqual(d);
        expect({ ...(decodePayload(writeEtf({ op: 8, d }), true, 'etf')?.d as object) }).toEqual(d);
      }),
    );
  });
});

describe('the ETF decoder', () => {
  it('reads any JSON value as a stock client writes it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(plain(decodeEtf(writeEtf(value)))).toEqual(plain(value));
      }),
    );
  });

  it('reads ids beyond a double with all their digits', () => {
    expect(etf(110, 8, 0, 255, 255, 255, 255, 255, 255, 255, 127)).toBe(9223372036854775807n);
    expect(etf(110, 1, 1, 5)).toBe(-5);
    expect(etf(110, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0)).toBe(1);
  });

  it('reads byte lists, old floats and every kind of atom', () => {
    expect(etf(107, 0, 2, 1, 2)).toEqual([1, 2]);
    expect(decodeEtf(Buffer.concat([Buffer.from([131, 99]), Buffer.from('1.5e+00'.padEnd(31, '\0'))]))).toBe(
      1.5,
    );
    expect([
      etf(100, 0, 3, 110, 105, 108),
      etf(118, 0, 4, 116, 114, 117, 101),
      etf(119, 3, 110, 105, 108),
    ]).toEqual([null, true, null]);
  });

  it.each([
    ['nothing', []],
    ['an atom as a key', [116, 0, 0, 0, 1, 115, 2, 111, 112, 97, 1]],
    ['an unknown atom', [115, 1, 120]],
    ['a count beyond the input', [108, 255, 255, 255, 255, 97]],
    ['a string that is cut short', [109, 0, 0, 0, 5, 65]],
    ['a string that is not UTF-8', [109, 0, 0, 0, 1, 0xff]],
    ['bytes after the term', [97, 1, 0]],
    ['an improper list', [108, 0, 0, 0, 1, 97, 1, 97, 2]],
    ['a compressed term', [80, 0, 0, 0, 1, 0x78, 0x9c]],
    ['a tuple', [104, 0]],
    ['an integer of nine bytes', [110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
    ['a float that is not finite', [70, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0]],
    ['a key that is cut off', [116, 0, 0, 0, 1]],
  ])('refuses %s', (_, bytes) => {
    expect(() => etf(...bytes)).toThrow(EtfError);
  });

  it('refuses deep nesting', () => {
    const nested = (depth: number) => Array.from({ length: depth }, () => [108, 0, 0, 0, 1]).flat();
    const close = (depth: number) => Array.from({ length: depth }, () => 106);
    expect(etf(...nested(30), 106, ...close(30))).toBeDefined();
    expect(() => etf(...nested(500), 106, ...close(500))).toThrow(/nested too deeply/);
  });

  it('gives keys no meaning to JavaScript', () => {
    const map = decodeEtf(writeEtf(JSON.parse('{"__proto__":{"polluted":true}}'))) as object;
    expect('polluted' in map).toBe(false);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('a payload', () => {
  it('is an object with a whole opcode', () => {
    expect(json('{"op":1,"d":5}')).toEqual({ op: 1, d: 5 });
    expect(json('{"op":1}')).toEqual({ op: 1, d: null });
    expect(decodePayload(writeEtf({ op: 1, d: 5 }), true, 'etf')).toEqual({ op: 1, d: 5 });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '1',
    '{"op":"1"}',
    '{"op":1.5}',
    '{"d":1}',
    `{"op":1,"d":"${'x'.repeat(4096)}"}`,
  ])('is not %j', (text) => {
    expect(json(text)).toBeNull();
  });

  it('may be deflated in a binary frame, within the same bound', () => {
    const deflated = (text: string) => decodePayload(zlib.deflateSync(text), true, 'json');
    expect(deflated('{"op":1,"d":2}')).toEqual({ op: 1, d: 2 });
    expect(deflated(`{"op":1,"d":"${'x'.repeat(100_000)}"}`)).toBeNull();
    expect(decodePayload(Uint8Array.of(0x78, 0x9c, 1, 2, 3), true, 'json')).toBeNull();
    expect(json('{"op":1,"d":2}', true)).toEqual({ op: 1, d: 2 });
  });

  it('is a binary frame in ETF', () => {
    expect(decodePayload(writeEtf({ op: 1 }), false, 'etf')).toBeNull();
  });

  it('is a payload or nothing, for any bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 60 }).map((rest) => Uint8Array.of(131, 116, ...rest)),
      fc.uint8Array({ maxLength: 60 }).map((rest) => Uint8Array.of(0x78, 0x9c, ...rest)),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .tuple(fc.jsonValue({ maxDepth: 3 }), fc.nat(200), fc.nat(255))
        .map(([value, at, byte]) => Uint8Array.from(writeEtf({ op: 8, d: value })).fill(byte, at, at + 1)),
    );
    fc.assert(
      fc.property(
        bytes,
        fc.boolean(),
        fc.constantFrom('json' as const, 'etf' as const),
        (given, binary, encoding) => {
          const payload = decodePayload(given, binary, encoding);
          expect(payload === null || Number.isInteger(payload.op)).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is not nested deeply', () => {
    const nested = (depth: number) => json(`{"op":3,"d":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(nested(30)?.op).toBe(3);
    expect(nested(2000)).toBeNull();
  });
});
