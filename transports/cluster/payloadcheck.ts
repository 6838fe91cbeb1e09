import { DecodeFault } from './packets.ts';

/** Bound of the nesting of lists and maps. */
export const DEPTH_MAX = 128;
/** Bound of an integer beyond 64 bits. */
const BIGINT_BYTES_MAX = 256;

const UNDEFINED_EXT = 0x00;
const BIGINT_EXT = 0x42;

/** Bytes after a token of fixed length, from 0xca on. @source https://github.com/msgpack/msgpack/blob/master/spec.md, "Formats" */
const FIXED: Readonly<Record<number, number>> = {
  192: 0,
  194: 0,
  195: 0,
  202: 4,
  203: 8,
  204: 1,
  205: 2,
  206: 4,
  207: 8,
  208: 1,
  209: 2,
  210: 4,
  211: 8,
};

/** Size of the length field that follows a token of a string, bytes, a list or a map. */
const LENGTHS: Readonly<Record<number, 1 | 2 | 4>> = {
  196: 1,
  197: 2,
  198: 4,
  217: 1,
  218: 2,
  219: 4,
  220: 2,
  221: 4,
  222: 2,
  223: 4,
};

/**
 * Checks before decoding that the bytes are exactly one MessagePack value as shards encode it: no length beyond the end, no
 * nesting that would overflow the stack, no type that shards do not send. Walks over the tokens once; the content of
 * strings and bytes is skipped.
 *
 * @throws DecodeFault
 */
export function checkPayload(bytes: Buffer): void {
  /** Number of missing values at each depth. */
  const open = new Float64Array(DEPTH_MAX + 1);
  let depth = 0;
  let at = 0;
  open[0] = 1;
  while (depth > 0 || open[0] > 0) {
    if ((open[depth] ?? 0) === 0) {
      depth -= 1;
      continue;
    }
    open[depth] = (open[depth] ?? 0) - 1;
    const token = bytes[at] ?? missing();
    at += 1;
    const size = LENGTHS[token];
    const length = size === undefined ? shortLength(token) : lengthAt(bytes, at, size);
    at += size ?? 0;
    const values = valuesOf(token, length);
    if (values > 0) {
      if (values > bytes.length - at) missing();
      depth += 1;
      if (depth > DEPTH_MAX) throw new DecodeFault('A value is nested too deeply.');
      open[depth] = values;
    } else if (!isContainer(token)) at += length >= 0 ? length : extended(bytes, at, token);
    if (at > bytes.length) missing();
  }
  if (at !== bytes.length) throw new DecodeFault('Bytes follow the value.');
}

function missing(): never {
  throw new DecodeFault('A value is truncated.');
}

const isMap = (token: number): boolean => (token >= 0x80 && token < 0x90) || token === 0xde || token === 0xdf;
const isList = (token: number): boolean =>
  (token >= 0x90 && token < 0xa0) || token === 0xdc || token === 0xdd;
const isContainer = (token: number): boolean => isMap(token) || isList(token);

/** The length that the token itself encodes; -1 for an extension. */
function shortLength(token: number): number {
  if (token < 0x80 || token >= 0xe0) return 0;
  if (token < 0xa0) return token & 0x0f;
  if (token < 0xc0) return token & 0x1f;
  return FIXED[token] ?? -1;
}

function lengthAt(bytes: Buffer, at: number, size: 1 | 2 | 4): number {
  if (at + size > bytes.length) missing();
  return bytes.readUIntBE(at, size);
}

const valuesOf = (token: number, length: number): number =>
  isMap(token) ? length * 2 : isList(token) ? length : 0;

/** Bytes of an extension after its token. */
function extended(bytes: Buffer, at: number, token: number): number {
  if (token === 0xd4 && bytes[at] === UNDEFINED_EXT) return 2;
  // 0xd4 to 0xd8 hold 1, 2, 4, 8 or 16 bytes; 0xc7 and 0xc8 are followed by the size.
  const size = token === 0xc7 ? 1 : token === 0xc8 ? 2 : 0;
  const isFixed = token >= 0xd4 && token <= 0xd8;
  if (!isFixed && size === 0) throw new DecodeFault(`A value of an unknown kind: ${token}.`);
  const length = size === 0 ? 2 ** (token - 0xd4) : lengthAt(bytes, at, size);
  if (bytes[at + size] !== BIGINT_EXT || length === 0 || length > BIGINT_BYTES_MAX)
    throw new DecodeFault(`Unsupported MessagePack extension: ${bytes[at + size] ?? token}.`);
  return size + 1 + length;
}
