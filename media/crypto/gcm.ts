import { type Cipher, createCipheriv } from 'node:crypto';
import { GHASH_MEMORY, ghash } from './ghash.ts';

const BLOCK_BYTES = 16;
const BLOCK_WORDS = BLOCK_BYTES / 4;
const TAG_BYTES = 16;
/** Longer plaintexts and headers use the native cipher, whose set-up cost matters less as the packet grows. */
export const SEAL_BYTES_MAX = 512;
const HEADER_BYTES_MAX = 64;
/** Nonces whose key stream is generated in one cipher call. Each group starts at a multiple of this number. */
const GROUP = 8;

/** Layout of the memory shared with the GHASH module. */
const STATE = 0;
const TAG = STATE + BLOCK_BYTES;
const DATA = 64;

const bytes = new Uint8Array(GHASH_MEMORY);
const words = new Uint32Array(GHASH_MEMORY);
const tag = bytes.subarray(TAG, TAG + TAG_BYTES);

const roundedUp = (length: number): number => (length + BLOCK_BYTES - 1) & -BLOCK_BYTES;
const bigEndian = (value: number): number =>
  ((value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24)) >>> 0;

/** Counter blocks of one group of nonces, each `nonce | zeros | 1, 2, 3 …` as GCM counts, for a maximum plaintext length. */
interface Counters {
  /** Blocks per nonce; the first one encrypts the tag. */
  readonly blocks: number;
  readonly input: Buffer;
}

function countersFor(plainBlocks: number): Counters {
  const blocks = plainBlocks + 1;
  const input = Buffer.alloc(GROUP * blocks * BLOCK_BYTES);
  for (let index = 0; index < GROUP * blocks; index += 1)
    input.writeUInt32BE((index % blocks) + 1, index * BLOCK_BYTES + 12);
  return { blocks, input };
}

/** Most audio packets fit the first size; longer plaintexts use the second. */
const SIZES = [countersFor(12), countersFor(SEAL_BYTES_MAX / BLOCK_BYTES)] as const;

/**
 * AES-256-GCM for many short packets under one key with ascending nonces. One call of a reused cipher object generates the
 * key stream of a whole group of nonces; the rest of the work creates no native object.
 *
 * Holds 1.6 KiB of key stream, or 4.2 KiB once a plaintext is longer than 192 bytes. Encrypts only.
 */
export class GcmSealer {
  readonly #blocks: Cipher;
  readonly #hashKey: Uint32Array;
  #stream: Uint32Array<ArrayBufferLike> = new Uint32Array(0);
  #first = -1;
  #blocksEach = 0;

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#blocks = createCipheriv('aes-256-ecb', key, null);
    this.#blocks.setAutoPadding(false);
    this.#hashKey = wordsOf(this.#blocks.update(Buffer.alloc(BLOCK_BYTES)));
  }

  /** Whether `seal` accepts a packet of this size. */
  static takes(headerBytes: number, plainBytes: number): boolean {
    return plainBytes <= SEAL_BYTES_MAX && headerBytes <= HEADER_BYTES_MAX;
  }

  /**
   * Encrypts `plain` into `packet` starting at `at`, followed by the tag over `header` and the ciphertext.
   *
   * @param nonce The first four bytes of GCM's nonce, big-endian; the other eight are zero.
   */
  seal(packet: Uint8Array, at: number, header: Uint8Array, plain: Uint8Array, nonce: number): void {
    const headerBytes = header.length;
    const plainBytes = plain.length;
    const plainAt = DATA + roundedUp(headerBytes);
    const lengthsAt = plainAt + roundedUp(plainBytes);
    const from = this.#streamAt(nonce, (lengthsAt - plainAt) / BLOCK_BYTES);
    const stream = this.#stream;

    for (let index = 0; index < BLOCK_WORDS; index += 1)
      words[STATE / 4 + index] = this.#hashKey[index] as number;
    for (let index = 0; index < headerBytes; index += 1) bytes[DATA + index] = header[index] as number;
    for (let index = DATA + headerBytes; index < plainAt; index += 1) bytes[index] = 0;

    bytes.set(plain, plainAt);
    const start = plainAt / 4;
    const end = lengthsAt / 4;
    for (let index = start, key = from + BLOCK_WORDS; index < end; index += 1, key += 1)
      words[index] = (words[index] as number) ^ (stream[key] as number);
    for (let index = plainAt + plainBytes; index < lengthsAt; index += 1) bytes[index] = 0;
    words[end] = 0;
    words[end + 1] = bigEndian(headerBytes * 8);
    words[end + 2] = 0;
    words[end + 3] = bigEndian(plainBytes * 8);
    packet.set(viewOf(plainAt, plainBytes), at);

    ghash(STATE, DATA, (lengthsAt + BLOCK_BYTES - DATA) / BLOCK_BYTES);
    for (let index = 0; index < BLOCK_WORDS; index += 1)
      words[TAG / 4 + index] = (words[TAG / 4 + index] as number) ^ (stream[from + index] as number);
    packet.set(tag, at + plainBytes);
  }

  /** Offset, in words, of this nonce's part of the key stream. */
  #streamAt(nonce: number, plainBlocks: number): number {
    const first = nonce - (nonce & (GROUP - 1));
    if (first !== this.#first || plainBlocks >= this.#blocksEach) this.#renew(first, plainBlocks);
    return (nonce - first) * this.#blocksEach * BLOCK_WORDS;
  }

  #renew(first: number, plainBlocks: number): void {
    const { blocks, input } = plainBlocks < SIZES[0].blocks ? SIZES[0] : SIZES[1];
    for (let nonce = 0, at = 0; nonce < GROUP; nonce += 1)
      for (let block = 0; block < blocks; block += 1, at += BLOCK_BYTES)
        input.writeUInt32BE(first + nonce, at);
    this.#stream = wordsOf(this.#blocks.update(input));
    this.#first = first;
    this.#blocksEach = blocks;
  }
}

/** Copies a buffer that is not aligned to words: a pooled buffer may start at any offset, a Uint32Array may not. */
function wordsOf(buffer: Buffer): Uint32Array<ArrayBufferLike> {
  const aligned = buffer.byteOffset % 4 === 0 ? buffer : Buffer.from(Uint8Array.from(buffer).buffer);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}

/** Header lengths hardly vary and payload lengths are few, so caching views costs less than creating them. */
const views = new Map<number, Uint8Array>();
function viewOf(at: number, length: number): Uint8Array {
  const key = at * (SEAL_BYTES_MAX + 1) + length;
  let view = views.get(key);
  if (!view) {
    view = bytes.subarray(at, at + length);
    views.set(key, view);
  }
  return view;
}
