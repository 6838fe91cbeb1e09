const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
const scramble = (word: number): number => Math.imul(rotate(Math.imul(word, C1), 15), C2);

/**
 * MurmurHash3, the variant x86_32 with seed 0, of a text in UTF-8; 0 to 2^32 - 1.
 *
 * @source https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp, public domain
 */
export function murmur3(text: string): number {
  const bytes = Buffer.from(text);
  const whole = bytes.length & ~3;
  let hash = 0;
  for (let at = 0; at < whole; at += 4)
    hash = (Math.imul(rotate(hash ^ scramble(bytes.readInt32LE(at)), 13), 5) + 0xe6546b64) | 0;
  let rest = 0;
  for (let at = bytes.length - 1; at >= whole; at -= 1) rest = (rest << 8) | (bytes[at] ?? 0);
  hash ^= scramble(rest) ^ bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
