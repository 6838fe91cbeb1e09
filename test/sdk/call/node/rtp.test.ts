// Goal: packets of sound are what a voice server makes of the same format, both ways, and nothing else passes for one.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  KEY_BYTES,
  readAudio,
  readDiscovery,
  TRANSPORT_MODE,
  TransportCipher,
  writeAudio,
  writeDiscovery,
} from '../../../../sdk/call/node/rtp.ts';
import * as apart from '../../../support/voice-rtp.ts';

const KEY = Buffer.alloc(KEY_BYTES, 7);
const bytes = (max: number) => fc.uint8Array({ maxLength: max });
const packet = fc.record({
  seq: fc.nat(0xffff),
  timestamp: fc.nat(0xffff_ffff),
  ssrc: fc.nat(0xffff_ffff),
  payload: bytes(1200),
});

describe('a packet of sound', () => {
  test('is read by an implementation apart, and the other way round', () => {
    fc.assert(
      fc.property(packet, (audio) => {
        const theirs = new apart.TransportCipher(TRANSPORT_MODE, KEY);
        const read = apart.openRtp(theirs, writeAudio(new TransportCipher(KEY), audio));
        expect(read).toMatchObject({ ...audio, payload: Buffer.from(audio.payload), payloadType: 120 });
        const header = apart.rtpHeader({ ...audio, payloadType: 120 });
        const back = readAudio(new TransportCipher(KEY), theirs.seal(header, audio.payload));
        expect(back).toEqual({ ...audio, payload: Buffer.from(audio.payload) });
      }),
    );
  });

  test('may have sources, an extension and padding, which are not sound', () => {
    const fixed = Buffer.concat([Buffer.from([0xb1, 120, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]), Buffer.alloc(4)]);
    const clear = Buffer.concat([fixed, Buffer.from([0xbe, 0xde, 0, 1])]);
    const plain = Buffer.from([9, 9, 9, 9, 1, 2, 3, 0, 2]);
    const sealed = new TransportCipher(KEY).seal(clear, plain);
    expect(readAudio(new TransportCipher(KEY), sealed)?.payload).toEqual(Buffer.from([1, 2, 3]));
  });

  test.each([
    ['extension', 0x90, Buffer.from([0, 0, 0, 9])],
    ['padding', 0xa0, Buffer.alloc(0)],
  ])('is refused with more %s than there is', (_, first, more) => {
    const header = Buffer.concat([Buffer.from([first, 120, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]), more]);
    const sealed = new TransportCipher(KEY).seal(header, Buffer.from([1, 200]));
    expect(readAudio(new TransportCipher(KEY), sealed)).toBeNull();
  });

  test('is refused when it was changed anywhere, and so is anything else', () => {
    const cipher = new TransportCipher(KEY);
    const whole = writeAudio(cipher, { seq: 1, timestamp: 2, ssrc: 3, payload: Buffer.alloc(20, 1) });
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = Buffer.from(whole);
        changed[at] = changed[at]! ^ by;
        expect(readAudio(cipher, changed)).toBeNull();
      }),
    );
    fc.assert(fc.property(bytes(200), (data) => readAudio(cipher, Buffer.from(data)) === null));
  });
});

test('a key has 32 bytes', () => {
  expect(() => new TransportCipher(Buffer.alloc(31))).toThrow(RangeError);
});

describe('discovery', () => {
  test('asks with 74 bytes, and reads an answer with an address that ends at a zero', () => {
    const request = writeDiscovery(258);
    expect([request.length, request.subarray(0, 8).toString('hex')]).toEqual([74, '0001004600000102']);
    const reply = Buffer.from(request);
    reply.writeUInt16BE(2, 0);
    reply.write('203.0.113.9', 8, 'latin1');
    reply.writeUInt16BE(50_001, 72);
    expect(readDiscovery(reply)).toEqual({ address: '203.0.113.9', port: 50_001 });
    expect(readDiscovery(request)).toBeNull();
  });

  test('is thrown off by no packet', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 70, maxLength: 80 }), (data) => {
        readDiscovery(Buffer.from(data));
      }),
    );
  });
});
