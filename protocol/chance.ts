/** A random number from 0 to 1 without 1, made of four random bytes. */
const chanceOf = (bytes: Uint8Array): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true) / 2 ** 32;

/** A source of chances from a source of random bytes. */
export const chancesFrom =
  (randomBytes: (count: number) => Uint8Array): (() => number) =>
  () =>
    chanceOf(randomBytes(4));
