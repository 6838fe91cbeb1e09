// Goal: clients open what the server seals, the server opens what clients seal, and nothing else opens.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTransportCipher, nonceOf, TRANSPORT_OVERHEAD_BYTES } from '../../../media/crypto/transport.ts';
import { TRANSPORT_MODES } from '../../../protocol/voice.ts';
import { seal, unseal } from '../sfu/harness.ts';

const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((value) => Buffer.from(value));
const header = fc.uint8Array({ minLength: 8, maxLength: 76 }).map((value) => Buffer.from(value));
const nonce = fc.integer({ min: 0, max: 0xffff_ffff });

test.each(TRANSPORT_MODES)(
  '%s seals packets that a client opens, and opens packets that a client seals',
  (mode) => {
    const key = randomBytes(32);
    const cipher = createTransportCipher(mode, key);
    const plain = Buffer.alloc(2048);
    fc.assert(
      fc.property(
        header,
        bytes(1200),
        nonce,
        fc.integer({ min: 0, max: 99 }),
        (clear, body, number, offset) => {
          const packet = Buffer.alloc(2048, 7);
          const length = cipher.seal(packet, offset, clear, body, number);
          expect(length).toBe(clear.length + body.length + TRANSPORT_OVERHEAD_BYTES);
          expect(packet[offset + length]).toBe(7);
          const sent = Buffer.from(packet.subarray(offset, offset + length));
          expect(nonceOf(sent, length)).toBe(number);
          expect(unseal(mode, key, sent, clear.length)).toEqual(body);

          const suffix = Buffer.alloc(4);
          suffix.writeUInt32BE(number);
          expect(sent).toEqual(seal(mode, key, clear, body, suffix));
          expect(cipher.open(sent, sent.length, clear.length, plain)).toBe(body.length);
          expect(plain.subarray(0, body.length)).toEqual(body);
        },
      ),
    );
  },
);

test.each(TRANSPORT_MODES)(
  '%s rejects a packet that was changed, truncated or sealed under another key',
  (mode) => {
    const [key, other] = [randomBytes(32), randomBytes(32)];
    const cipher = createTransportCipher(mode, key);
    const plain = Buffer.alloc(2048);
    const change = fc.record({ at: fc.nat(), bit: fc.nat({ max: 7 }), cut: fc.nat({ max: 3 }) });
    fc.assert(
      fc.property(header, bytes(300), change, (clear, body, { at, bit, cut }) => {
        const packet = seal(mode, key, clear, body, Buffer.of(0, 0, 1, 2));
        packet[at % packet.length]! ^= 1 << bit;
        expect(cipher.open(packet, packet.length, clear.length, plain)).toBe(-1);
        packet[at % packet.length]! ^= 1 << bit;
        const length = packet.length - cut - 1;
        if (length >= clear.length + TRANSPORT_OVERHEAD_BYTES)
          expect(cipher.open(packet, length, clear.length, plain)).toBe(-1);
        const stolen = seal(mode, other, clear, body, Buffer.of(0, 0, 1, 2));
        expect(cipher.open(stolen, stolen.length, clear.length, plain)).toBe(-1);
      }),
    );
  },
);

test('a transport cipher rejects a key that is not 32 bytes long', () => {
  for (const mode of TRANSPORT_MODES)
    for (const size of [0, 16, 31, 33])
      expect(() => createTransportCipher(mode, randomBytes(size))).toThrow(RangeError);
});
