import { DecodeFault } from './packets.ts';

export function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new DecodeFault('Expected an array.');
  return value;
}

export function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new DecodeFault('Expected a string.');
  return value;
}

export function bytesOf(value: unknown): Buffer {
  if (!Buffer.isBuffer(value)) throw new DecodeFault('Expected bytes.');
  return value;
}

export function countOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new DecodeFault('Expected a whole number of 0 or more.');
  return value;
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** The numbers as little-endian bytes; on a little-endian machine a view of the same memory. */
export function littleEndian(numbers: Uint32Array): Buffer {
  const { buffer, byteOffset, byteLength } = numbers;
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32();
}

/** Copies the bytes, because those of a packet are not aligned. */
export function numbersOf(bytes: Buffer): Uint32Array {
  if (bytes.length % 4 !== 0)
    throw new DecodeFault('Expected 32-bit numbers: the length is not a multiple of 4.');
  const numbers = new Uint32Array(bytes.length / 4);
  const copy = Buffer.from(numbers.buffer);
  bytes.copy(copy);
  if (!IS_LITTLE_ENDIAN) copy.swap32();
  return numbers;
}
