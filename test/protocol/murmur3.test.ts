// Goal: the ids of member lists are those that clients compute with MurmurHash3.
import { expect, it } from 'vitest';
import { murmur3 } from '../../protocol/murmur3.ts';

it.each([
  ['', 0],
  ['a', 0x3c2569b2],
  ['test', 0xba6bd213],
  ['Hello, world!', 0xc0363e43],
  ['The quick brown fox jumps over the lazy dog', 0x2e4ff723],
] as const)('murmur3 of %j is what the published program computes', (text, hash) => {
  expect(murmur3(text)).toBe(hash);
});
