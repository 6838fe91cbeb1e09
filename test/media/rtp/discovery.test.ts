// Goal: discovery requests and pings are recognized exactly, and answered in the form that clients read.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  DISCOVERY_BYTES,
  discoveryRequest,
  isPing,
  writeDiscoveryResponse,
  writePong,
} from '../../../media/rtp/discovery.ts';

test('a discovery response holds a NUL-terminated address and stays within 74 bytes', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 100 }));
  fc.assert(
    fc.property(
      address,
      fc.integer({ min: 0, max: 65_535 }),
      fc.integer({ min: 0, max: 0xffff_ffff }),
      (text, port, ssrc) => {
        const bytes = Buffer.alloc(100, 1);
        writeDiscoveryResponse(bytes, 10, ssrc, text, port);
        const answer = bytes.subarray(10, 10 + DISCOVERY_BYTES);
        expect([answer.readUInt16BE(0), answer.readUInt16BE(2), answer.readUInt32BE(4)]).toEqual([
          2,
          70,
          ssrc,
        ]);
        expect(answer.subarray(8, answer.indexOf(0, 8)).toString('latin1')).toBe(
          Buffer.from(text.slice(0, 63), 'latin1').toString('latin1').split('\0')[0],
        );
        expect(answer.readUInt16BE(72)).toBe(port);
        expect([...bytes.subarray(0, 10), ...bytes.subarray(84)]).toEqual(Array(26).fill(1));
      },
    ),
  );
});

test('only a well-formed packet of 74 bytes is a discovery request', () => {
  const request = Buffer.alloc(80);
  request.writeUInt32BE(0x0001_0046, 0);
  request.writeUInt32BE(0xdead_beef, 4);
  expect(discoveryRequest(request, 74)).toBe(0xdead_beef);
  for (const length of [0, 1, 8, 73, 75]) expect(discoveryRequest(request, length)).toBe(-1);
  request[1] = 2;
  expect(discoveryRequest(request, 74)).toBe(-1);
  request.writeUInt32BE(0x0001_0045, 0);
  expect(discoveryRequest(request, 74)).toBe(-1);
});

test('a ping is answered with its number', () => {
  const ping = Buffer.from('1337cafefedcba98', 'hex');
  expect(isPing(ping, 8)).toBe(true);
  expect(isPing(ping, 7)).toBe(false);
  expect(isPing(Buffer.alloc(8), 8)).toBe(false);
  const pong = Buffer.alloc(8);
  writePong(pong, 0, ping);
  expect(pong.toString('hex')).toBe('1337f00dfedcba98');
});
