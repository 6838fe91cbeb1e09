import { type Cipher, createCipheriv } from 'node:crypto';

const BLOCK_BYTES = 16;
const HEADER_BYTES = 4;

/**
 * Encrypts a client's packets as Mumble's protocol describes: OCB2 with AES-128, a nonce that counts up, of which the packet
 * carries the lowest byte, and three bytes of the tag.
 *
 * @source https://mumble-protocol.readthedocs.io/en/latest/voice_data.html
 * @source https://www.cs.ucdavis.edu/~rogaway/papers/draft-krovetz-ocb-00.txt
 */
export class Ocb2Sealer {
  readonly #aes: Cipher;
  readonly #nonce: Buffer;

  /** @param key 16 bytes */
  constructor(key: Buffer, nonce: Buffer) {
    this.#aes = createCipheriv('aes-128-ecb', key, null);
    this.#aes.setAutoPadding(false);
    this.#nonce = Buffer.from(nonce);
  }

  seal(plain: Buffer): Buffer {
    this.#count();
    const packet = Buffer.alloc(HEADER_BYTES + plain.length);
    const delta = this.#block(this.#nonce);
    const checksum = Buffer.alloc(BLOCK_BYTES);
    let at = 0;
    for (; plain.length - at > BLOCK_BYTES; at += BLOCK_BYTES) {
      const block = plain.subarray(at, at + BLOCK_BYTES);
      double(delta);
      xor(checksum, block);
      xored(this.#block(xored(block, delta)), delta).copy(packet, HEADER_BYTES + at);
    }
    double(delta);
    const lengths = Buffer.alloc(BLOCK_BYTES);
    lengths.writeUInt16BE((plain.length - at) * 8, BLOCK_BYTES - 2);
    const pad = this.#block(xored(lengths, delta));
    const last = Buffer.from(pad);
    plain.copy(last, 0, at);
    xor(checksum, last);
    xored(last, pad).copy(packet, HEADER_BYTES + at, 0, plain.length - at);
    const doubled = Buffer.from(delta);
    double(doubled);
    xor(delta, doubled);
    const tag = this.#block(xored(delta, checksum));
    packet[0] = this.#nonce[0] ?? 0;
    tag.copy(packet, 1, 0, HEADER_BYTES - 1);
    return packet;
  }

  #count(): void {
    for (let index = 0; index < BLOCK_BYTES; index += 1) {
      const next = ((this.#nonce[index] ?? 0) + 1) & 0xff;
      this.#nonce[index] = next;
      if (next !== 0) return;
    }
  }

  #block(input: Buffer): Buffer {
    return this.#aes.update(input);
  }
}

function xor(into: Buffer, other: Buffer): void {
  for (let index = 0; index < BLOCK_BYTES; index += 1) into[index] = (into[index] ?? 0) ^ (other[index] ?? 0);
}

function xored(one: Buffer, other: Buffer): Buffer {
  const result = Buffer.from(one);
  xor(result, other);
  return result;
}

/** Multiplies by x in GF(2^128). */
function double(value: Buffer): void {
  const carry = (value[0] ?? 0) >> 7;
  for (let index = 0; index < BLOCK_BYTES; index += 1)
    value[index] = (((value[index] ?? 0) << 1) | ((value[index + 1] ?? 0) >> 7)) & 0xff;
  value[BLOCK_BYTES - 1] = (value[BLOCK_BYTES - 1] ?? 0) ^ (carry * 0x87);
}
