// Goal: a browser's packets enter the call under the allotted SSRCs and payload types, packets to the browser have its own,
// and no bytes throw.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PeerOffer } from '../../../media/webrtc/sdp.ts';
import { createTranslation } from '../../../media/webrtc/translation.ts';

const OFFER: PeerOffer = {
  iceUfrag: 'abcd',
  icePwd: 'x'.repeat(24),
  fingerprint: '',
  payloads: [
    { kind: 'audio', browserType: 111, callType: 120 },
    { kind: 'video', browserType: 96, callType: 103 },
    { kind: 'video', browserType: 98, callType: 101 },
    { kind: 'video', browserType: 100, callType: 101 },
    { kind: 'rtx', browserType: 97, callType: 104 },
  ],
};
const AUDIO = 1000;
const STREAMS = [
  { ssrc: 1001, rtxSsrc: 1002 },
  { ssrc: 1003, rtxSsrc: 1004 },
];

const make = () => createTranslation(AUDIO, STREAMS, OFFER);

function rtp(type: number, ssrc: number, marker = 0): Buffer {
  const packet = Buffer.alloc(20, 0x5a);
  packet.set([0x80, marker | type]);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}

/** An RTCP packet: type, count or format, then words. */
function rtcp(type: number, count: number, ...words: number[]): Buffer {
  const packet = Buffer.alloc(4 + 4 * words.length);
  packet.set([0x80 | count, type]);
  packet.writeUInt16BE(words.length, 2);
  for (const [i, word] of words.entries()) packet.writeUInt32BE(word, 4 + 4 * i);
  return packet;
}

const words = (packet: Buffer): number[] =>
  Array.from({ length: packet.length / 4 - 1 }, (_, i) => packet.readUInt32BE(4 + 4 * i));
const nameOf = (packet: Buffer): [number, number] => [packet[1]!, packet.readUInt32BE(8)];

describe('RTP from a browser', () => {
  test('gets the allotted SSRC and the payload type of the call', () => {
    const translation = make();
    const named = [rtp(111, 7), rtp(96, 8, 0x80), rtp(97, 9), rtp(100, 10), rtp(111, 7)].map((packet) => {
      const before = Buffer.from(packet);
      expect(translation.inbound(packet)).toBe(true);
      expect(packet.subarray(12)).toEqual(before.subarray(12));
      return nameOf(packet);
    });
    expect(named).toEqual([
      [120, 1000],
      [0x80 | 103, 1001],
      [104, 1002],
      [101, 1003],
      [120, 1000],
    ]);
  });

  test('reuses the allotted SSRCs in turn when the browser starts more senders', () => {
    const translation = make();
    const video = [8, 9, 10, 9].map((ssrc) => {
      const packet = rtp(96, ssrc);
      translation.inbound(packet);
      return nameOf(packet)[1];
    });
    expect(video).toEqual([1001, 1003, 1001, 1003]);
  });

  test('is dropped when its payload type was not offered, or no video stream was allotted', () => {
    expect(make().inbound(rtp(120, 7))).toBe(false);
    expect(createTranslation(AUDIO, [], OFFER).inbound(rtp(96, 8))).toBe(false);
  });
});

describe('RTP to a browser', () => {
  test('gets the first matching payload type of the browser, and keeps the SSRC of the speaker', () => {
    const named = [rtp(120, 5), rtp(101, 6, 0x80), rtp(104, 7)].map((packet) => {
      expect(make().outbound(packet)).toBe(true);
      return nameOf(packet);
    });
    expect(named).toEqual([
      [111, 5],
      [0x80 | 98, 6],
      [97, 7],
    ]);
    expect(make().outbound(rtp(105, 5))).toBe(false);
  });
});

describe('RTCP', () => {
  const spoken = () => {
    const translation = make();
    translation.inbound(rtp(111, 7));
    translation.inbound(rtp(96, 8));
    return translation;
  };

  test('gets the allotted sender SSRC from a browser, and keeps the SSRCs that it reports on', () => {
    const report = Buffer.concat([rtcp(200, 0, 8, 1, 2, 3, 4, 5), rtcp(202, 1, 7, 0), rtcp(206, 1, 99, 555)]);
    expect(spoken().inbound(report)).toBe(true);
    expect(words(report.subarray(0, 28))).toEqual([1001, 1, 2, 3, 4, 5]);
    expect(words(report.subarray(28, 40))[0]).toBe(1000);
    expect(words(report.subarray(40))).toEqual([1000, 555]);
  });

  test('names the media of the browser by its own SSRCs when it is sent to a browser', () => {
    const nack = rtcp(205, 1, 555, 1001, 0x0001_0000);
    const reports = rtcp(201, 1, 555, 1000, 1, 2, 3, 4, 5);
    const fir = rtcp(206, 4, 555, 0, 1001, 1 << 24);
    const remb = rtcp(206, 15, 555, 0, 0x52454d42, 0x02_000000, 1001, 4242);
    for (const packet of [nack, reports, fir, remb]) expect(spoken().outbound(packet)).toBe(true);
    expect(words(nack)).toEqual([555, 8, 0x0001_0000]);
    expect(words(reports)).toEqual([555, 7, 1, 2, 3, 4, 5]);
    expect(words(fir)[2]).toBe(8);
    expect(words(remb).slice(4)).toEqual([8, 4242]);
  });

  test('is dropped when it is truncated or has a wrong length', () => {
    const report = rtcp(200, 0, 8, 1, 2, 3, 4, 5);
    expect(make().inbound(report.subarray(0, 24))).toBe(false);
    report.writeUInt16BE(7, 2);
    expect(make().outbound(report)).toBe(false);
  });
});

test('translation never throws for any bytes, and RTP that passes has an allotted SSRC', () => {
  const packet = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc
      .tuple(fc.constantFrom(0x80, 0x81, 0x84, 0x8f, 0x9f), fc.nat(255), fc.uint8Array({ maxLength: 80 }))
      .map(([first, type, rest]) => Uint8Array.of(first, type, 0, rest.length >> 2, ...rest)),
  );
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 20 }), (packets) => {
      const translation = make();
      for (const bytes of packets) {
        const inbound = Buffer.from(bytes);
        const passed = translation.inbound(inbound);
        const isRtcp = bytes[1]! >= 192 && bytes[1]! <= 223;
        if (passed && !isRtcp) expect([1000, 1001, 1002, 1003, 1004]).toContain(inbound.readUInt32BE(8));
        translation.outbound(Buffer.from(bytes));
      }
    }),
    { numRuns: 1000 },
  );
});
