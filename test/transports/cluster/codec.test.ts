// Goal: what shards send each other arrives as it was, is copied once, and bytes that no shard has written do no harm.
import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LinkFrame } from '../../../actors/placement/ports.ts';
import { LinkFault, type LinkFaultKind, NotServed } from '../../../protocol/faults.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { Secret } from '../../../protocol/secret.ts';
import { StorageFault } from '../../../storage/database/driver.ts';
import { createCodec } from '../../../transports/cluster/codec.ts';
import {
  CONTENT_BYTES_MAX,
  DecodeFault,
  HEAD_BYTES_MAX,
  headed,
  LINK_SERVICE,
  PACKET_BYTES_MAX,
  payloadOf,
} from '../../../transports/cluster/packets.ts';
import { DEPTH_MAX } from '../../../transports/cluster/payloadcheck.ts';

const codec = createCodec();

const carried = (value: unknown): unknown => codec.unpack(payloadOf(codec.pack(value)));

/** Zero has one sign on the way. */
const number = fc
  .oneof(fc.integer(), fc.maxSafeInteger(), fc.double())
  .map((value) => (value === 0 ? 0 : value));
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.constantFrom('\u0000', '__proto__'));
const bigint = fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n });
const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(number, text, bigint, bytes, fc.boolean(), fc.constantFrom(null, undefined)),
    fc.date({ noInvalidDate: false }),
    fc.array(fc.nat()).map((numbers) => Uint32Array.from(numbers)),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 8 }).map(Object.fromEntries),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 8 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 8 }).map((values) => new Set(values)),
  ),
}));

const count = fc.maxSafeInteger().map(Math.abs);
const frame: fc.Arbitrary<LinkFrame> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('dispatch' as const),
      t: text,
      json: fc.json().map((json) => Buffer.from(json)),
      ownerId: text,
      n: count,
      epoch: fc.integer({ min: 1, max: 2 ** 31 }),
      handles: fc.uint32Array({ maxLength: 40 }),
    },
    { requiredKeys: ['kind', 't', 'json', 'ownerId', 'n', 'handles'] },
  ),
  fc.record({
    kind: fc.constant('following' as const),
    handle: fc.nat(),
    ownerId: text,
    epoch: count,
    n: count,
  }),
  fc.record({
    kind: fc.constant('tell' as const),
    method: text,
    key: text,
    args: fc.array(value, { maxLength: 4 }),
    hops: fc.nat(9),
  }),
);

/** Runs it; true when it did what it should, or said in the one way there is that it cannot. */
function clean(run: () => unknown): boolean {
  try {
    run();
  } catch (fault) {
    return fault instanceof DecodeFault;
  }
  return true;
}

describe('values', () => {
  test('arrive as they were', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(carried(each)).toEqual(each);
      }),
      { numRuns: 300 },
    );
  });

  test('are decoded as instances of their registered class', () => {
    const arrived = carried({ token: new Secret('abc'), list: [new Secret('d')] }) as {
      token: Secret;
      list: Secret[];
    };
    expect(arrived.token).toBeInstanceOf(Secret);
    expect([arrived.token, ...arrived.list].map((secret) => secret.reveal())).toEqual(['abc', 'd']);
  });

  test.each([
    ['a function', () => undefined],
    ['a symbol', Symbol('s')],
    ['an object of an unknown class', new (class Unknown {})()],
    ['an error', new Error('no')],
    ['a promise', Promise.resolve()],
  ])('are refused when they are %s', (_, each) => {
    expect(() => codec.pack({ each })).toThrow(TypeError);
  });

  test('are refused when they hold themselves, and arrive when they are deep within the bound', () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(() => codec.pack(loop)).toThrow(TypeError);
    let deep: unknown = 1;
    for (let depth = 0; depth < DEPTH_MAX - 10; depth += 1) deep = [deep];
    expect(carried(deep)).toEqual(deep);
  });

  test('are refused beyond the largest packet', () => {
    expect(() => codec.pack(Buffer.alloc(PACKET_BYTES_MAX))).toThrow(RangeError);
    const large = Buffer.alloc(PACKET_BYTES_MAX - 16, 7);
    expect((carried(large) as Buffer).equals(large)).toBe(true);
  });

  test('never take a prototype from the bytes of a peer', () => {
    const arrived = carried(JSON.parse('{"__proto__": {"admin": true}}')) as object;
    expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
    expect(Object.keys(arrived)).toEqual(['__proto__']);
  });
});

describe('questions and answers', () => {
  const question = {
    token: Buffer.from('0123456789abcdef'),
    method: 'guilds.call',
    key: '1',
    deadlineMs: 5000,
    commandKey: 'run.1',
    trace: 'run.1',
    args: [{ type: 'createMessage', nonce: undefined }, new Map([['a', 1n]])],
  };

  test('arrive as they were', () => {
    expect(codec.unpackRequest(payloadOf(codec.packRequest(question)))).toEqual(question);
    const plain = { ...question, commandKey: null, args: [] };
    expect(codec.unpackRequest(payloadOf(codec.packRequest(plain)))).toEqual(plain);
    const answer = { ok: false, refusal: refusal('UNKNOWN_GUILD') };
    expect(codec.unpackAnswer(payloadOf(codec.packAnswer(answer)))).toEqual(answer);
  });

  const brought = (fault: unknown): unknown => {
    try {
      return codec.unpackAnswer(payloadOf(codec.packFault(fault)));
    } catch (error) {
      return error;
    }
  };

  test.each<LinkFaultKind>(['unreachable', 'notOwner', 'overloaded', 'lost', 'timeout', 'failed'])(
    'keep the kind %s of a fault',
    (kind) => {
      expect(brought(new LinkFault(kind, 'why'))).toMatchObject({ name: 'LinkFault', kind, message: 'why' });
      expect(brought(new LinkFault(kind, 'why'))).toBeInstanceOf(LinkFault);
    },
  );

  test('keep the retry delay and a possibly partial outcome of NotServed', () => {
    const plain = brought(new NotServed('later', 7));
    expect(plain).toBeInstanceOf(NotServed);
    expect(plain).toMatchObject({ message: 'later', retryAfterSec: 7 });
    expect((plain as NotServed).cause).toBeUndefined();
    const midway = brought(new NotServed('later', 7, { cause: new LinkFault('lost', 'x') })) as NotServed;
    expect(midway.cause).toBeInstanceOf(LinkFault);
  });

  test('keep the names of storage faults, and turn all other errors into failures', () => {
    expect(brought(new StorageFault('gone'))).toMatchObject({ name: 'StorageFault', message: 'gone' });
    const stale = Object.assign(new Error('old'), { name: 'StaleEpoch' });
    expect(brought(stale)).toMatchObject({ name: 'StaleEpoch' });
    expect(brought(new TypeError('bug'))).toMatchObject({
      name: 'LinkFault',
      kind: 'failed',
      message: 'bug',
    });
    expect(brought('a text')).toMatchObject({ kind: 'failed', message: 'a text' });
  });
});

describe('batches', () => {
  const batchOf = (sequence: number, frames: readonly LinkFrame[]): Buffer =>
    codec.packBatch(
      sequence,
      frames.map((each) => codec.encodeFrame(each)),
    );

  test('arrive with their frames as they were, in order', () => {
    fc.assert(
      fc.property(count, fc.array(frame, { maxLength: 12 }), (sequence, frames) => {
        const read = codec.unpackBatch(payloadOf(batchOf(sequence, frames)));
        expect(read).toEqual({ sequence, frames });
      }),
    );
  });

  test('have at most the computed size', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 12 }), (frames) => {
        const parcels = frames.map((each) => codec.encodeFrame(each));
        const reckoned = parcels.reduce((sum, parcel) => sum + parcel.bytes, 0);
        expect(codec.packBatch(1, parcels).length).toBeLessThanOrEqual(reckoned + HEAD_BYTES_MAX + 16);
      }),
    );
  });

  test('keep their arguments as they were when encoded', () => {
    const args = [{ count: 1 }];
    const parcel = codec.encodeFrame({ kind: 'tell', method: 'm', key: 'k', args });
    (args[0] as { count: number }).count = 2;
    for (let other = 0; other < 100; other += 1) codec.pack([other, 'x'.repeat(500)]);
    const [read] = codec.unpackBatch(payloadOf(codec.packBatch(1, [parcel]))).frames;
    expect(read).toMatchObject({ args: [{ count: 1 }] });
  });

  test('give the bytes of a dispatch without a further copy', () => {
    const json = Buffer.from('{"content":"hello"}');
    const handles = Uint32Array.of(1, 2 ** 32 - 1, 3);
    const payload = payloadOf(batchOf(1, [{ kind: 'dispatch', t: 'T', json, ownerId: '1', n: 2, handles }]));
    const [read] = codec.unpackBatch(payload).frames;
    expect(read).toMatchObject({ handles });
    if (read?.kind !== 'dispatch') throw new Error('A dispatch was sent.');
    expect(read.json.buffer).toBe(payload.buffer);
    // Little-endian, whatever the machine.
    expect(payload.includes(Buffer.from([1, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0]))).toBe(true);
  });
});

describe('requests on the stream, and their replies', () => {
  const asked = fc.record({
    method: text,
    key: text,
    deadlineMs: count,
    commandKey: fc.option(text),
    trace: text,
    args: fc.array(value, { maxLength: 4 }),
  });

  test('arrive among the frames of a batch as they were, within the computed size', () => {
    fc.assert(
      fc.property(count, count, fc.array(fc.oneof(frame, asked), { maxLength: 12 }), (streamId, id, all) => {
        const parcels = all.map((each) =>
          'kind' in each ? codec.encodeFrame(each) : codec.encodeQuestion(streamId, id, each),
        );
        const batch = codec.packBatch(7, parcels);
        expect(batch.length).toBeLessThanOrEqual(
          parcels.reduce((sum, { bytes }) => sum + bytes, HEAD_BYTES_MAX + 16),
        );
        const { frames } = codec.unpackBatch(payloadOf(batch));
        expect(frames).toEqual(
          all.map((each) => ('kind' in each ? each : { kind: 'question', streamId, id, ...each })),
        );
      }),
    );
  });

  test('bring back values and faults under their numbers', () => {
    fc.assert(
      fc.property(count, fc.array(fc.tuple(count, value), { maxLength: 12 }), (taken, answers) => {
        const replies = answers.map(([id, each]) => ({ id, answer: codec.encodeAnswer(each) }));
        const read = codec.unpackReplies(payloadOf(codec.packReplies(taken, replies)));
        expect(read.taken).toBe(taken);
        expect(read.replies.map(({ id, answer }) => [id, codec.unpackAnswer(answer)])).toEqual(answers);
      }),
    );
    const answer = codec.encodeFault(new LinkFault('notOwner', 'why'));
    const { replies } = codec.unpackReplies(payloadOf(codec.packReplies(1, [{ id: 2, answer }])));
    expect(() => codec.unpackAnswer(replies[0]!.answer)).toThrow(LinkFault);
  });

  test('are rejected by their sender when they are too large', () => {
    const large = Buffer.alloc(CONTENT_BYTES_MAX + 1);
    expect(() => codec.encodeAnswer(large)).toThrow(RangeError);
    const question = { method: 'm', key: 'k', deadlineMs: 1, commandKey: null, trace: 't', args: [large] };
    expect(() => codec.encodeQuestion(1, 1, question)).toThrow(RangeError);
  });
});

describe('bytes that no shard has written', () => {
  const readers: readonly ((payload: Buffer) => unknown)[] = [
    codec.unpack,
    codec.unpackRequest,
    codec.unpackAnswer,
    codec.unpackBatch,
    codec.unpackReplies,
  ];
  const allClean = (payload: Buffer): boolean =>
    readers.every((read) =>
      clean(() => {
        try {
          read(payload);
        } catch (fault) {
          // An answer may be a fault, which is what it says.
          if (!(fault instanceof LinkFault) && !(fault instanceof NotServed)) throw fault;
        }
      }),
    );

  test('do nothing but to be refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (array) => allClean(Buffer.from(array))),
      { numRuns: 2000 },
    );
  });

  test('do so where they differ by a byte or end early', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255), fc.nat());
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 4 }), change, (frames, [at, byte, end]) => {
        const parcels = frames.map((each) => codec.encodeFrame(each));
        const payload = Buffer.from(payloadOf(codec.packBatch(3, parcels)));
        const cut = payload.subarray(0, end % payload.length);
        payload[at % payload.length] = byte;
        return allClean(cut) && allClean(payload);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['a list with a long declared length', Buffer.from([0xdd, 0x01, 0xff, 0xff, 0xff])],
    ['nested lists with long declared lengths', Buffer.from([0xdc, 0x00, 0x03, 0xdc, 0xff, 0xff, 0x00])],
    ['a map with a long declared length', Buffer.from([0xdf, 0x7f, 0xff, 0xff, 0xff, 0x00])],
    ['a text with a long declared length', Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff])],
    ['lists in lists without end', Buffer.alloc(100_000, 0x91)],
    ['the definition of a record', Buffer.from([0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 0x01])],
    ['a regular expression', Buffer.from([0xd4, 0x78, 0x00, 0x92, 0xa1, 0x61, 0xa0])],
    ['a token that means nothing', Buffer.from([0xc1])],
    ['two values', Buffer.from([0x01, 0x02])],
    ['nothing', Buffer.alloc(0)],
  ])('are refused where they are %s', (_, payload) => {
    expect(() => codec.unpack(payload)).toThrow(DecodeFault);
  });

  test('name no class that is not known', () => {
    const stranger = createCodec([{ tag: 99, Class: Date, pack: () => 1, unpack: () => new Date() }]);
    const payload = payloadOf(stranger.pack(new Date()));
    expect(() => codec.unpack(payload)).toThrow(DecodeFault);
    const failing = createCodec([
      {
        tag: 99,
        Class: Date,
        pack: () => 1,
        unpack: () => {
          throw new RangeError('not one of ours');
        },
      },
    ]);
    expect(() => failing.unpack(payload)).toThrow(DecodeFault);
  });
});

describe('packets', () => {
  const definition = loadSync('protocol/cluster.proto');
  const service = definition['guildhall.cluster.Link'] as unknown as Record<
    string,
    {
      path: string;
      requestStream: boolean;
      responseStream: boolean;
      requestSerialize(packet: { payload: Buffer }): Buffer;
      responseDeserialize(bytes: Buffer): { payload: Buffer };
    }
  >;

  test('have the methods of cluster.proto', () => {
    expect(Object.keys(service)).toEqual(Object.keys(LINK_SERVICE));
    for (const [name, { path, requestStream, responseStream }] of Object.entries(LINK_SERVICE))
      expect(service[name]).toMatchObject({ path, requestStream, responseStream });
  });

  test('are framed as its message says', () => {
    const { Ask } = service;
    const sizes = fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 16_383, 16_384, 2_097_151, 2_097_152));
    fc.assert(
      fc.property(sizes, (size) => {
        const payload = Buffer.alloc(size, 5);
        const packet = headed(Buffer.concat([Buffer.alloc(HEAD_BYTES_MAX), payload]), HEAD_BYTES_MAX);
        const theirs = Ask!.requestSerialize({ payload });
        expect(payloadOf(theirs).equals(payload)).toBe(true);
        expect(payloadOf(packet).equals(payload)).toBe(true);
        if (size > 0) expect(packet.equals(theirs)).toBe(true);
        expect(Ask!.responseDeserialize(packet).payload.equals(payload)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('are refused when they are malformed', () => {
    fc.assert(fc.property(fc.uint8Array(), (array) => clean(() => payloadOf(Buffer.from(array)))));
    expect(() => payloadOf(Buffer.from([0x0a, 0x05, 1]))).toThrow(DecodeFault);
    expect(() => payloadOf(Buffer.from([0x12, 0x01, 1]))).toThrow(DecodeFault);
  });
});
