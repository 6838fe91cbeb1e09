import { DecodeFault } from './packets.ts';

export function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new DecodeFault('A list was expected.');
  return value;
}

export function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new DecodeFault('A text was expected.');
  return value;
}

export function bytesOf(value: unknown): Buffer {
  if (!Buffer.isBuffer(value)) throw new DecodeFault('Bytes were expected.');
  return value;
}

export function countOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new DecodeFault('A count was expected.');
  return value as number;
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** The numbers as bytes: of this machine's memory where it has the order of the wire. */
export function littleEndian(numbers: Uint32Array): Buffer {
  const { buffer, byteOffset, byteLength } = numbers;
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32();
}

/** A copy: the bytes of a packet are not aligned. */
export function numbersOf(bytes: Buffer): Uint32Array {
  if (bytes.length % 4 !== 0) throw new DecodeFault('Numbers of 4 bytes were expected.');
  const numbers = new Uint32Array(bytes.length / 4);
  const copy = Buffer.from(numbers.buffer);
  bytes.copy(copy);
  if (!IS_LITTLE_ENDIAN) copy.swap32();
  return numbers;
}
