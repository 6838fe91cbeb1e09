// Goal: GcmSealer seals the same bytes as node:crypto, for any packets in any order.
import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GcmSealer, SEAL_BYTES_MAX } from '../../../media/crypto/gcm.ts';

function native(key: Uint8Array, header: Uint8Array, plain: Uint8Array, nonce: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(nonce, 0);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(header);
  const sealed = [cipher.update(plain), cipher.final()];
  return Buffer.concat([header, ...sealed, cipher.getAuthTag()]);
}

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const packet = fc.record({
  header: fc.uint8Array({ maxLength: 64 }),
  plain: fc.uint8Array({ maxLength: SEAL_BYTES_MAX }),
  // Near each other, as counters are, and at the ends of the range.
  nonce: fc.oneof(
    fc.integer({ min: 0x8000_0080, max: 0x8000_00a0 }),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  ),
  member: fc.integer({ min: 0, max: 2 }),
  offset: fc.integer({ min: 0, max: 9 }),
});

test('GcmSealer seals the same bytes as node:crypto for any packets and keys in any order', () => {
  fc.assert(
    fc.property(
      fc.array(key, { minLength: 3, maxLength: 3 }),
      fc.array(packet, { maxLength: 30 }),
      (keys, packets) => {
        const sealers = keys.map((each) => new GcmSealer(each));
        for (const { header, plain, nonce, member, offset } of packets) {
          const slot = Buffer.alloc(700, 0xee);
          slot.set(header, offset);
          sealers[member]!.seal(slot, offset + header.length, header, plain, nonce);
          const expected = native(keys[member]!, header, plain, nonce);
          expect(slot.subarray(offset, offset + expected.length).equals(expected)).toBe(true);
          const around = Buffer.concat([slot.subarray(0, offset), slot.subarray(offset + expected.length)]);
          expect(around.equals(Buffer.alloc(around.length, 0xee))).toBe(true);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('GcmSealer seals the same bytes as node:crypto for every length up to the longest', () => {
  const sealer = new GcmSealer(Buffer.alloc(32, 3));
  for (let length = 0; length <= SEAL_BYTES_MAX; length += 1) {
    const header = Buffer.alloc(12, length);
    const plain = Buffer.alloc(length, 0x5a);
    const slot = Buffer.alloc(600);
    header.copy(slot);
    sealer.seal(slot, 12, header, plain, length);
    expect(
      slot.subarray(0, 12 + length + 16).equals(native(Buffer.alloc(32, 3), header, plain, length)),
    ).toBe(true);
  }
});

test('GcmSealer seals the same bytes as node:crypto for keys and data of all zeros or all ones', () => {
  for (const fill of [0x00, 0xff]) {
    const all = Buffer.alloc(32, fill);
    const slot = Buffer.alloc(600, fill);
    const plain = Buffer.alloc(160, fill);
    new GcmSealer(all).seal(slot, 12, slot.subarray(0, 12), plain, 0xffff_ffff);
    expect(slot.subarray(0, 188).equals(native(all, Buffer.alloc(12, fill), plain, 0xffff_ffff))).toBe(true);
  }
});
