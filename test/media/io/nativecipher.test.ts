// Goal: the addon's ciphers seal the same bytes as node:crypto and libsodium, and open no forged packet.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TRANSPORT_OVERHEAD_BYTES } from '../../../media/crypto/transport.ts';
import { NativeCipher, nativeCiphers } from '../../../media/io/nativecipher.ts';
import { TRANSPORT_MODES } from '../../../protocol/voice.ts';
import { seal, unseal } from '../sfu/harness.ts';
import { builtAddon } from './addon.build.ts';

const { addon, why } = builtAddon();

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((each) => Buffer.from(each));
const suffixOf = (nonce: number): Buffer => {
  const suffix = Buffer.alloc(4);
  suffix.writeUInt32BE(nonce);
  return suffix;
};

describe.skipIf(addon === null).each(TRANSPORT_MODES)(`the addon's cipher for %s ${why}`, (mode) => {
  const packets = fc.record({
    key: bytes(32, 32),
    header: bytes(8, 80),
    plain: bytes(0, 1500),
    nonce: fc.integer({ min: 0, max: 0xffff_ffff }),
    offset: fc.integer({ min: 0, max: 40 }),
  });

  test('seals the same bytes as node:crypto and libsodium, and opens them', () => {
    fc.assert(
      fc.property(packets, ({ key, header, plain, nonce, offset }) => {
        const cipher = new NativeCipher(addon!, mode, key);
        const packet = Buffer.alloc(offset + header.length + plain.length + TRANSPORT_OVERHEAD_BYTES);
        const length = cipher.seal(packet, offset, header, plain, nonce);
        expect(packet.subarray(offset, offset + length)).toEqual(
          seal(mode, key, header, plain, suffixOf(nonce)),
        );
        const opened = Buffer.alloc(2048);
        const sealed = packet.subarray(offset);
        expect(cipher.open(sealed, length, header.length, opened)).toBe(plain.length);
        expect(opened.subarray(0, plain.length)).toEqual(plain);
        expect(unseal(mode, key, sealed, header.length)).toEqual(plain);
      }),
    );
  });

  test('seals many packets with one key and nonces in any order', () => {
    const key = Buffer.alloc(32, 7);
    const cipher = new NativeCipher(addon!, mode, key);
    const header = Buffer.alloc(12, 0x80);
    const packet = Buffer.alloc(256);
    for (const nonce of [5, 4, 0xffff_ffff, 0, 5]) {
      const plain = Buffer.from(`packet ${nonce}`);
      const length = cipher.seal(packet, 0, header, plain, nonce);
      expect(packet.subarray(0, length)).toEqual(seal(mode, key, header, plain, suffixOf(nonce)));
    }
  });

  test('rejects a packet with one flipped bit, and opens the next valid packet', () => {
    fc.assert(
      fc.property(packets, fc.nat(), ({ key, header, plain, nonce }, where) => {
        const cipher = new NativeCipher(addon!, mode, key);
        const packet = seal(mode, key, header, plain, suffixOf(nonce));
        const bit = where % (packet.length * 8);
        const opened = Buffer.alloc(2048, 1);
        packet[bit >> 3]! ^= 1 << (bit & 7);
        expect(cipher.open(packet, packet.length, header.length, opened)).toBe(-1);
        packet[bit >> 3]! ^= 1 << (bit & 7);
        expect(cipher.open(packet, packet.length, header.length, opened)).toBe(plain.length);
      }),
    );
  });

  test('rejects sizes and offsets outside the buffers', () => {
    const cipher = new NativeCipher(addon!, mode, Buffer.alloc(32));
    const [packet, header, plain] = [Buffer.alloc(100), Buffer.alloc(12), Buffer.alloc(80)];
    expect(() => cipher.seal(packet, 0, header, plain, 0)).toThrow(RangeError);
    expect(() => cipher.seal(packet, 101, header, Buffer.alloc(0), 0)).toThrow(RangeError);
    expect(() => cipher.seal(packet, 0xffff_fff0, header, Buffer.alloc(0), 0)).toThrow(RangeError);
    expect(() => cipher.open(packet, 101, 12, plain)).toThrow(RangeError);
    expect(() => cipher.open(packet, 19, 0, plain)).toThrow(RangeError);
    expect(() => cipher.open(packet, 40, 21, plain)).toThrow(RangeError);
    expect(() => cipher.open(packet, 100, 0, Buffer.alloc(79))).toThrow(RangeError);
    expect(() => new NativeCipher(addon!, mode, Buffer.alloc(31))).toThrow(RangeError);
  });
});

describe.skipIf(addon === null)(`ciphers of the addon ${why}`, () => {
  test('have distinct numbers, and a number without a cipher is rejected', () => {
    const create = nativeCiphers(addon!);
    const ciphers = Array.from({ length: 200 }, () => create(TRANSPORT_MODES[0], Buffer.alloc(32)));
    const numbers = ciphers.map((cipher) => (cipher as NativeCipher).number);
    expect(new Set(numbers).size).toBe(200);
    expect(() => addon!.open(1 << 20, Buffer.alloc(100), 100, 12, Buffer.alloc(100))).toThrow(RangeError);
  });
});
