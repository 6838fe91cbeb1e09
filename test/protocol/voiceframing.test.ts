// Goal: binary frames of the voice gateway say the same to both sides, and any bytes at all are read or refused.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BINARY_VOICE_OPS } from '../../protocol/voice.ts';
import {
  decodeClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  encodeServerFrame,
} from '../../protocol/voiceframing.ts';

const op = fc.constantFrom(...BINARY_VOICE_OPS);
const seq = fc.integer({ min: 0, max: 0xffff });
const payload = fc.uint8Array({ maxLength: 300 });

describe('a frame from the server', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(seq, op, payload, (seq, op, payload) => {
        expect(decodeServerFrame(encodeServerFrame({ seq, op, payload }))).toEqual({ seq, op, payload });
      }),
    );
  });

  test('has its number in network order, before the opcode', () => {
    const frame = encodeServerFrame({ seq: 0x0102, op: 25, payload: Uint8Array.of(9) });
    expect([...frame]).toEqual([1, 2, 25, 9]);
    expect([...encodeServerFrame({ seq: 0x1_0003, op: 30, payload: new Uint8Array() })]).toEqual([0, 3, 30]);
  });

  test('is the same bytes when read and written again; other bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const frame = decodeServerFrame(bytes);
        if (frame) expect(encodeServerFrame(frame)).toEqual(bytes);
        else expect(bytes.length < 3 || !BINARY_VOICE_OPS.has(bytes[2]!)).toBe(true);
      }),
    );
  });
});

describe('a frame from a client', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(op, payload, (op, payload) => {
        expect(decodeClientFrame(encodeClientFrame({ op, payload }))).toEqual({ op, payload });
      }),
    );
  });

  test('is the same bytes when read and written again; other bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const frame = decodeClientFrame(bytes);
        if (frame) expect(encodeClientFrame(frame)).toEqual(bytes);
        else expect(bytes.length === 0 || !BINARY_VOICE_OPS.has(bytes[0]!)).toBe(true);
      }),
    );
  });
});
