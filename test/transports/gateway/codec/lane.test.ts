// Goal: whatever mix of shared, private and control frames a connection gets, a stock client reads it right.
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DispatchBody } from '../../../../engine/fanout/body.ts';
import { encodeEtf } from '../../../../transports/gateway/codec/etf.encode.ts';
import {
  type Lane,
  laneFor,
  PAYLOAD_COMPRESSION_BYTES_MIN,
} from '../../../../transports/gateway/codec/lane.ts';
import { readEtf, StreamInflate } from '../../../support/codec-client.ts';

const lane = (encoding: string, compress = ''): Lane => {
  const found = laneFor(encoding, compress);
  if (!found) throw new Error('no such lane');
  return found;
};
const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
const viaJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null');

/** Texts that repeat parts of themselves, about as long as the windows of the compressor. */
const text = fc
  .tuple(fc.nat(9000), fc.integer({ min: 2, max: 5000 }))
  .map(([length, period]) =>
    Array.from({ length }, (_, at) => String.fromCharCode(97 + (((at % period) * 7919) % 26))).join(''),
  );

/** Dispatches that several frames share, and what is sent in which order. */
const bodies = fc.array(
  fc.tuple(
    fc.constantFrom('MESSAGE_CREATE', 'READY', 'X'),
    fc.oneof({ weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) }, { weight: 1, arbitrary: text }),
  ),
  { minLength: 1, maxLength: 8 },
);
const step = fc.oneof(
  fc.record({
    kind: fc.constant('dispatch' as const),
    body: fc.nat(7),
    skip: fc.constantFrom(1, 1, 1, 9, 1000),
  }),
  fc.record({ kind: fc.constant('control' as const), op: fc.constantFrom(1, 7, 9, 11), d: fc.boolean() }),
);
const script = fc.tuple(bodies, fc.array(step, { maxLength: 60 }));
type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;

/** Plays a script on `connections` at once, as sockets of one server share bodies; yields frame and what it means. */
function* play(on: Lane, [made, steps]: Script) {
  const shared = made.map(([t, d]) => new DispatchBody(t, d, 0));
  yield {
    frame: Buffer.concat([on.header, on.control(10, { a: 1 })]),
    means: { op: 10, d: { a: 1 }, s: null, t: null },
  };
  let seq = 0;
  for (const each of steps) {
    if (each.kind === 'control') {
      yield { frame: on.control(each.op, each.d), means: { op: each.op, d: each.d, s: null, t: null } };
      continue;
    }
    seq += each.skip;
    const body = shared[each.body % shared.length] as DispatchBody;
    // Another recipient's number was stamped into the same bytes a moment ago.
    on.dispatch(body, 2_000_000_000 - seq);
    yield { frame: on.dispatch(body, seq), means: { t: body.t, op: 0, d: viaJson(body.d), s: seq } };
  }
}

describe('frames', () => {
  it('are right in JSON for every recipient', () => {
    fc.assert(
      fc.property(script, (given) => {
        for (const { frame, means } of play(lane('json'), given)) expect(parse(frame)).toEqual(means);
      }),
    );
  });

  it('are right in ETF for every recipient', () => {
    fc.assert(
      fc.property(script, (given) => {
        for (const { frame, means } of play(lane('etf'), given))
          expect(viaJson(readEtf(frame))).toEqual(viaJson(means));
      }),
    );
  });

  it.each(['json', 'etf'])('pass one stock inflate stream with zlib-stream in %s', async (encoding) => {
    const read = encoding === 'json' ? parse : (bytes: Uint8Array) => viaJson(readEtf(bytes));
    await fc.assert(
      fc.asyncProperty(script, async (given) => {
        const inflate = new StreamInflate();
        for (const { frame, means } of play(lane(encoding, 'zlib-stream'), given))
          expect(read(await inflate.message(frame))).toEqual(viaJson(means));
      }),
      { numRuns: 60 },
    );
  });

  const zstd = (zlib as unknown as { createZstdDecompress?: () => zlib.Inflate }).createZstdDecompress;
  it.each(['json', 'etf'])(
    'pass a stock zstd stream in %s exactly where the runtime has zstd',
    async (encoding) => {
      expect(laneFor(encoding, 'zstd-stream') === null).toBe(zstd === undefined);
      if (!zstd) return;
      const read = encoding === 'json' ? parse : (bytes: Uint8Array) => viaJson(readEtf(bytes));
      await fc.assert(
        fc.asyncProperty(script, async (given) => {
          const stream = zstd();
          let parts: Buffer[] = [];
          stream.on('data', (part: Buffer) => parts.push(part));
          for (const { frame, means } of play(lane(encoding, 'zstd-stream'), given)) {
            parts = [];
            await new Promise<void>((resolve) => stream.write(frame, () => resolve()));
            expect(read(Buffer.concat(parts))).toEqual(viaJson(means));
          }
        }),
        { numRuns: 60 },
      );
    },
  );

  it('carry any number of characters of three bytes through a compressed stream', async () => {
    for (const length of [1_000, 21_700, 21_845, 30_000, 32_768, 65_536]) {
      const on = lane('json', 'zlib-stream');
      const inflate = new StreamInflate();
      const body = new DispatchBody('MESSAGE_CREATE', { content: '\u20ac'.repeat(length) }, 0);
      const frame = Buffer.concat([on.header, on.dispatch(body, 7)]);
      expect(parse(await inflate.message(frame))).toEqual({ t: 'MESSAGE_CREATE', op: 0, d: body.d, s: 7 });
    }
  });

  it('are encoded once per lane and stamped in place', () => {
    const body = new DispatchBody('X', { a: 'b' }, 0);
    for (const each of [lane('json'), lane('etf'), lane('json', 'zlib-stream')]) {
      const first = each.dispatch(body, 1);
      expect(each.dispatch(body, 2_147_483_647)).toBe(first);
    }
    expect(parse(lane('json').dispatch(body, 2_147_483_647))).toMatchObject({ s: 2_147_483_647 });
    expect(readEtf(lane('etf').dispatch(body, 2_147_483_647))).toMatchObject({ s: 2_147_483_647 });
    expect(parse(lane('json').dispatch(body, 7))).toMatchObject({ s: 7 });
  });

  it('are standalone zlib with payload compression when large, and plain when not', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        (length, seq) => {
          const compressed = lane('json').withPayloadCompression();
          const body = new DispatchBody('GUILD_CREATE', { name: 'é'.repeat(length / 2) }, 0);
          compressed.dispatch(body, 1);
          const frame = compressed.dispatch(body, seq);
          const plain = compressed.isBinary(frame) ? zlib.inflateSync(frame) : Buffer.from(frame);
          expect(compressed.isBinary(frame)).toBe(plain.length >= PAYLOAD_COMPRESSION_BYTES_MIN);
          expect(parse(plain)).toEqual({ t: 'GUILD_CREATE', op: 0, d: body.d, s: seq });
        },
      ),
    );
  });

  it('are never compressed twice', () => {
    const stream = lane('json', 'zlib-stream');
    expect(stream.withPayloadCompression()).toBe(stream);
    expect(lane('etf').withPayloadCompression()).toBe(lane('etf'));
  });

  it.each([
    ['json', 'gzip'],
    ['xml', ''],
    ['__proto__', ''],
    ['', ''],
  ])('are not spoken in %s/%s', (encoding, compress) => {
    expect(laneFor(encoding, compress)).toBeNull();
  });
});

describe('the ETF encoder', () => {
  it('writes what JSON would, for any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(viaJson(readEtf(encodeEtf(value)))).toEqual(viaJson(value));
      }),
    );
  });

  it('writes any finite number exactly', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
        (value) => {
          expect(readEtf(encodeEtf(value))).toBe(Object.is(value, -0) ? 0 : value);
        },
      ),
    );
  });

  it('writes identifiers as atoms and other keys as binaries', () => {
    expect([...encodeEtf({ id: null })]).toEqual([
      131, 116, 0, 0, 0, 1, 115, 2, 105, 100, 115, 3, 110, 105, 108,
    ]);
    expect([...encodeEtf({ '1': [] })]).toEqual([131, 116, 0, 0, 0, 1, 109, 0, 0, 0, 1, 49, 106]);
  });

  it('refuses what JSON could not carry, and works on', () => {
    expect(() => encodeEtf({ a: [1n] })).toThrow(TypeError);
    expect(readEtf(encodeEtf({ a: 1, b: undefined }))).toEqual({ a: 1 });
  });
});
