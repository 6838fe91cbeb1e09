// Goal: RTP packets are read as RFC 3550 defines them, and anything else is rejected without a throw.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clearHeaderBytes, RtpPacket, readRtp, writeRtpHeader } from '../../../media/rtp/packet.ts';

const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const octets = (max: number) => fc.uint8Array({ maxLength: max }).map((value) => Buffer.from(value));

/** Builds a packet from its parts, by the RFC. */
function build(parts: {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  csrcs: readonly number[];
  extension: readonly number[] | null;
  payload: Buffer;
  padding: number;
}): Buffer {
  const header = Buffer.alloc(12);
  const { marker, payloadType, csrcs, extension, payload, padding } = parts;
  header[0] = 0x80 | csrcs.length | (extension ? 0x10 : 0) | (padding > 0 ? 0x20 : 0);
  header[1] = payloadType | (marker ? 0x80 : 0);
  header.writeUInt16BE(parts.sequence, 2);
  header.writeUInt32BE(parts.timestamp, 4);
  header.writeUInt32BE(parts.ssrc, 8);
  const words = (values: readonly number[]) => {
    const bytes = Buffer.alloc(values.length * 4);
    for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
    return bytes;
  };
  const preamble = Buffer.of(0xbe, 0xde, 0, extension?.length ?? 0);
  return Buffer.concat([
    header,
    words(csrcs),
    ...(extension ? [preamble, words(extension)] : []),
    payload,
    Buffer.alloc(padding, padding),
  ]);
}

const parts = fc.record({
  marker: fc.boolean(),
  payloadType: fc.integer({ min: 0, max: 127 }),
  sequence: u16,
  timestamp: u32,
  ssrc: u32,
  csrcs: fc.array(u32, { maxLength: 15 }),
  extension: fc.option(fc.array(u32, { maxLength: 20 })),
  payload: octets(300),
  padding: fc.integer({ min: 0, max: 255 }),
});

describe('reading RTP', () => {
  test('finds every part of a packet', () => {
    fc.assert(
      fc.property(parts, (made) => {
        const bytes = build(made);
        const headerBytes = clearHeaderBytes(bytes, bytes.length);
        expect(headerBytes).toBe(12 + 4 * made.csrcs.length + (made.extension ? 4 : 0));
        const packet = new RtpPacket();
        expect(readRtp(packet, bytes, headerBytes, bytes, headerBytes, bytes.length)).toBe(true);
        const { marker, payloadType, sequence, timestamp, ssrc } = made;
        expect(packet).toMatchObject({ marker, payloadType, sequence, timestamp, ssrc });
        expect(bytes.subarray(packet.payloadStart, packet.payloadEnd)).toEqual(made.payload);
      }),
    );
  });

  test('stays within the bounds of any bytes and does not throw', () => {
    const damage = fc.record({
      at: fc.nat(),
      value: fc.nat({ max: 255 }),
      keep: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const packet = new RtpPacket();
    fc.assert(
      fc.property(fc.oneof(octets(120), parts.map(build)), damage, (whole, { at, value, keep }) => {
        const bytes = Buffer.from(whole.subarray(0, Math.ceil(whole.length * keep)));
        if (bytes.length > 0) bytes[at % Math.min(bytes.length, 20)] = value;
        const headerBytes = clearHeaderBytes(bytes, bytes.length);
        if (headerBytes < 0 || !readRtp(packet, bytes, headerBytes, bytes, headerBytes, bytes.length)) return;
        expect(packet.payloadStart).toBeGreaterThanOrEqual(headerBytes);
        expect(packet.payloadEnd).toBeGreaterThanOrEqual(packet.payloadStart);
        expect(packet.payloadEnd).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 2000 },
    );
  });
});

test('a written RTP header has the layout of RFC 3550 and changes no other bytes', () => {
  fc.assert(
    fc.property(parts, ({ marker, payloadType, sequence, timestamp, ssrc, payload }) => {
      const bytes = Buffer.alloc(20, 9);
      writeRtpHeader(bytes, 4, marker, payloadType, sequence, timestamp, ssrc);
      const made = {
        marker,
        payloadType,
        sequence,
        timestamp,
        ssrc,
        payload,
        csrcs: [],
        extension: null,
        padding: 0,
      };
      expect(bytes.subarray(4, 16)).toEqual(build(made).subarray(0, 12));
      expect([...bytes.subarray(0, 4), ...bytes.subarray(16)]).toEqual(Array(8).fill(9));
    }),
  );
});
