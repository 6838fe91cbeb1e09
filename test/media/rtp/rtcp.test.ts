// Goal: compound RTCP packets are read part by part, whatever their bytes, and written packets can be read back.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FEEDBACK,
  hasSenderInfo,
  isRemb,
  listedCount,
  listedSsrc,
  mediaSsrc,
  RTCP,
  RtcpPart,
  readRtcp,
  reportAt,
  reportCount,
  writeNack,
  writePli,
  writeReceiverReport,
  writeRemb,
  writeSenderReport,
} from '../../../media/rtp/rtcp.ts';

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });

function packet(type: number, count: number, words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + words.length * 4);
  bytes[0] = 0x80 | count;
  bytes[1] = type;
  bytes.writeUInt16BE(words.length, 2);
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, 4 + index * 4);
  return bytes;
}
const made = fc
  .tuple(
    fc.integer({ min: 200, max: 207 }),
    fc.integer({ min: 0, max: 31 }),
    fc.array(u32, { minLength: 1, maxLength: 30 }),
  )
  .map(([type, count, words]) => ({ type, count, words, bytes: packet(type, count, words) }));

/** Calls every reader and writer on a part. */
function exercise(part: RtcpPart, bytes: Buffer): void {
  const out = Buffer.alloc(2048);
  for (let index = 0; index < reportCount(part); index += 1) {
    expect(reportAt(part, index) + 24).toBeLessThanOrEqual(part.end);
    expect(writeReceiverReport(out, 0, bytes, reportAt(part, index), 1, 2, 3)).toBe(32);
  }
  if (part.type === RTCP.SR && hasSenderInfo(part)) writeSenderReport(out, 0, bytes, part, 1, 5);
  if (mediaSsrc(part, bytes) !== 0)
    expect(writeNack(out, 0, bytes, part, 1, 2, 3)).toBeLessThanOrEqual(12 + 4 * 64);
  for (let index = 0; index < listedCount(part, bytes); index += 1) listedSsrc(part, bytes, index);
  if (isRemb(part, bytes)) writeRemb(out, 0, bytes, part, 1, 2);
}

function partsOf(bytes: Buffer): RtcpPart[] {
  const found: RtcpPart[] = [];
  for (let at = 0; ; at = found.at(-1)!.end) {
    const part = new RtcpPart();
    if (!readRtcp(part, bytes, at, bytes.length)) return found;
    expect(part.start).toBe(at);
    expect(part.end).toBeGreaterThan(at);
    expect(part.end).toBeLessThanOrEqual(bytes.length);
    exercise(part, bytes);
    found.push(part);
  }
}

describe('reading RTCP', () => {
  test('finds all parts of a compound', () => {
    fc.assert(
      fc.property(fc.array(made, { maxLength: 8 }), (all) => {
        const found = partsOf(Buffer.concat(all.map(({ bytes }) => bytes)));
        expect(found.map(({ type, count, senderSsrc }) => ({ type, count, senderSsrc }))).toEqual(
          all.map(({ type, count, words }) => ({ type, count, senderSsrc: words[0] })),
        );
      }),
    );
  });

  test('terminates on any bytes, within their bounds and without a throw', () => {
    const random = fc.uint8Array({ maxLength: 200 }).map((value) => Buffer.from(value));
    const damaged = fc
      .tuple(fc.array(made, { minLength: 1, maxLength: 5 }), fc.nat(), fc.nat({ max: 255 }), fc.nat())
      .map(([all, at, value, cut]) => {
        const bytes = Buffer.concat(all.map((one) => one.bytes));
        bytes[at % bytes.length] = value;
        return bytes.subarray(0, bytes.length - (cut % 9));
      });
    fc.assert(
      fc.property(fc.oneof(random, damaged), (bytes) => void partsOf(bytes)),
      { numRuns: 2000 },
    );
  });
});

describe('writing', () => {
  const back = (bytes: Buffer, length: number): RtcpPart => {
    const part = new RtcpPart();
    expect(readRtcp(part, bytes, 0, length)).toBe(true);
    expect(part.end).toBe(length);
    return part;
  };
  const out = Buffer.alloc(512);

  test('a PLI keeps the SSRC of its stream', () => {
    const part = back(out, writePli(out, 0, 7, 8));
    expect([part.type, part.count, part.senderSsrc, mediaSsrc(part, out)]).toEqual([206, FEEDBACK.PLI, 7, 8]);
  });

  test('a NACK shifts its sequence numbers and keeps its masks', () => {
    const bytes = packet(RTCP.RTPFB, 1, [1, 2, (5 << 16) | 0xf00f, (0xffff << 16) >>> 0]);
    const part = back(bytes, bytes.length);
    const length = writeNack(out, 0, bytes, part, 9, 10, 6);
    expect(out.subarray(0, length)).toEqual(
      packet(RTCP.RTPFB, 1, [9, 10, (0xffff_f00f & ~0) >>> 0, (0xfff9 << 16) >>> 0]),
    );
  });

  test('a REMB keeps its bit rate', () => {
    const bytes = packet(RTCP.PSFB, 15, [1, 0, 0x52454d42, 0x02_12_34_56, 5, 6]);
    const part = back(bytes, bytes.length);
    expect([listedCount(part, bytes), listedSsrc(part, bytes, 1)]).toEqual([2, 6]);
    const length = writeRemb(out, 0, bytes, part, 3, 4);
    expect(out.subarray(0, length)).toEqual(packet(RTCP.PSFB, 15, [3, 0, 0x52454d42, 0x01_12_34_56, 4]));
  });
});
