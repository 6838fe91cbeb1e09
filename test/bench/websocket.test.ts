// Goal: frames come out as they went in, however the network cuts them, and nothing a server sends breaks the client.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientFrame, type FrameEvents, FrameParser } from '../../bench/wire/websocket.ts';

interface Seen {
  readonly kind: 'message' | 'control' | 'broken';
  readonly text: string | null;
  readonly bytes: number;
}

function watch(collecting = true): { parser: FrameParser; seen: Seen[] } {
  const seen: Seen[] = [];
  const events: FrameEvents = {
    message: (payload, bytes) =>
      seen.push({ kind: 'message', text: payload?.toString('latin1') ?? null, bytes }),
    control: (opcode, payload) =>
      seen.push({ kind: 'control', text: `${opcode} ${payload.toString('latin1')}`, bytes: 0 }),
    broken: (text) => seen.push({ kind: 'broken', text, bytes: 0 }),
  };
  const parser = new FrameParser(events);
  parser.collecting = collecting;
  return { parser, seen };
}

function serverFrame(opcode: number, payload: Buffer, fin = true): Buffer {
  const { length } = payload;
  const header =
    length < 126
      ? Buffer.from([0, length])
      : length < 65_536
        ? Buffer.from([0, 126, length >> 8, length & 255])
        : Buffer.concat([
            Buffer.from([0, 127, 0, 0, 0, 0]),
            Buffer.from(Uint32Array.of(length).buffer).reverse(),
          ]);
  header[0] = (fin ? 0x80 : 0) | opcode;
  return Buffer.concat([header, payload]);
}

/** Feeds the bytes in pieces, from one buffer that is overwritten each time as a shared read buffer is. */
function feed(parser: FrameParser, bytes: Buffer, cuts: readonly number[]): void {
  const shared = Buffer.alloc(bytes.length);
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    const end = Math.min(bytes.length, at + Math.max(1, cut));
    if (end <= at) continue;
    const size = bytes.copy(shared, 0, at, end);
    parser.push(shared.subarray(0, size));
    shared.fill(0xaa);
    at = end;
  }
}

const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 140 }),
  fc.uint8Array({ minLength: 200, maxLength: 400 }),
  fc.constant(new Uint8Array(70_000).fill(7)),
);
/** A message in up to three frames, with a ping between them. */
const messages = fc.array(
  fc.record({ parts: fc.array(payloads, { minLength: 1, maxLength: 3 }), ping: fc.boolean() }),
  {
    maxLength: 6,
  },
);

function wireOf(list: readonly { parts: Uint8Array[]; ping: boolean }[]): Buffer {
  const frames = list.flatMap(({ parts, ping }) =>
    parts.flatMap((part, index) => [
      serverFrame(index === 0 ? 2 : 0, Buffer.from(part), index === parts.length - 1),
      ...(ping && index === 0 ? [serverFrame(9, Buffer.from('hi'))] : []),
    ]),
  );
  return Buffer.concat(frames);
}

describe('the frame parser', () => {
  test.each([true, false])('finds every message in any pieces (collecting: %s)', (collecting) => {
    const cuts = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 50 });
    fc.assert(
      fc.property(messages, cuts, (list, sizes) => {
        const { parser, seen } = watch(collecting);
        feed(parser, wireOf(list), sizes);
        const found = seen.filter(({ kind }) => kind === 'message');
        const whole = list.map(({ parts }) => Buffer.concat(parts));
        expect(found.map(({ bytes }) => bytes)).toEqual(whole.map(({ length }) => length));
        expect(found.map(({ text }) => text)).toEqual(
          whole.map((each) => (collecting ? each.toString('latin1') : null)),
        );
        const pings = seen.filter(({ kind }) => kind === 'control');
        expect(pings.map(({ text }) => text)).toEqual(list.flatMap(({ ping }) => (ping ? ['9 hi'] : [])));
        expect(seen.some(({ kind }) => kind === 'broken')).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  test('never throws, and says at most once that a stream is broken', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { maxLength: 20 }), (chunks) => {
        const { parser, seen } = watch();
        for (const chunk of chunks) parser.push(Buffer.from(chunk));
        expect(seen.filter(({ kind }) => kind === 'broken').length).toBeLessThanOrEqual(1);
        if (seen.some(({ kind }) => kind === 'broken')) expect(seen.at(-1)?.kind).toBe('broken');
      }),
    );
  });

  test.each([
    ['a masked frame', [0x82, 0x81, 1, 2, 3, 4, 5], /masked/],
    ['a reserved bit', [0xc2, 0], /reserved/],
    ['an unknown opcode', [0x83, 0], /opcode/],
    ['an unknown control opcode', [0x8b, 0], /opcode/],
    ['a long ping', [0x89, 126, 0, 200], /control/],
    ['a ping in pieces', [0x09, 0], /control/],
    ['a message within a message', [0x02, 0, 0x82, 0], /no end/],
    ['the end of no message', [0x80, 0], /no beginning/],
    ['a length beyond all bounds', [0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255], /too long/],
  ])('refuses %s', (_, bytes, reason) => {
    const { parser, seen } = watch();
    parser.push(Buffer.from(bytes));
    expect(seen).toHaveLength(1);
    expect(seen[0]?.kind).toBe('broken');
    expect(seen[0]?.text).toMatch(reason);
  });
});

describe('a client frame', () => {
  test('is masked and says its length, for any payload', () => {
    fc.assert(
      fc.property(payloads, fc.uint8Array({ minLength: 4, maxLength: 4 }), (payload, mask) => {
        const frame = clientFrame(1, payload, mask);
        const short = (frame[1] as number) & 0x7f;
        const [length, at] =
          short < 126
            ? [short, 2]
            : short === 126
              ? [frame.readUInt16BE(2), 4]
              : [Number(frame.readBigUInt64BE(2)), 10];
        expect([frame[0], (frame[1] as number) >> 7, length]).toEqual([0x81, 1, payload.length]);
        const plain = frame.subarray(at + 4).map((byte, index) => byte ^ (mask[index & 3] as number));
        expect(Buffer.compare(plain, payload)).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});
