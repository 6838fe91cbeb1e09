// Goal: the load client of mumble-server encrypts as the specification of OCB2 does.
import { expect, test } from 'vitest';
import { Ocb2Sealer } from '../../bench/voice/ocb2.ts';

const KEY = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
/** Counted up once, it is the nonce of the vectors: the same bytes as the key. */
const BEFORE = Buffer.from('ff0002030405060708090a0b0c0d0e0f', 'hex');

test.each([
  ['0001020304050607', 'a45f5f', 'c636b3a868f429bb'],
  [
    '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627',
    '9db0cd',
    'f75d6bc8b4dc8d66b836a2b08b32a6369f1cd3c5228d79fd6c267f5f6aa7b231c7dfb9d59951ae9c',
  ],
])('the packet of %s has the tag %s', (plain, tag, sealed) => {
  const packet = new Ocb2Sealer(KEY, BEFORE).seal(Buffer.from(plain, 'hex'));
  expect(packet.toString('hex')).toBe(`00${tag}${sealed}`);
});

test('each packet has the next nonce, whose lowest byte it carries', () => {
  const sealer = new Ocb2Sealer(KEY, BEFORE);
  const packets = [1, 2, 3].map(() => sealer.seal(Buffer.from('sound')));
  expect(packets.map(([low]) => low)).toEqual([0, 1, 2]);
  expect(new Set(packets.map(String)).size).toBe(3);
});
