/**
 * Decoder of Erlang's external term format, for what clients send: strict and bounded. Keys must be strings (binaries); the
 * only atoms accepted as values are `nil`, `null`, `undefined`, `true` and `false`. Integers that a double cannot hold
 * exactly become bigints, as `protocol/json.ts` does for JSON.
 *
 * @source https://www.erlang.org/doc/apps/erts/erl_ext_dist;
 * https://docs.discord.com/developers/events/gateway#using-etf-encoding
 */
export class EtfError extends Error {}

const DEPTH_MAX = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const ATOMS: Readonly<Record<string, null | boolean>> = {
  nil: null,
  null: null,
  undefined: null,
  true: true,
  false: false,
};

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Skips `count` bytes. @returns the offset of the first of them. */
  skip(count: number): number {
    if (count > this.left) throw new EtfError('The term is truncated.');
    const from = this.#at;
    this.#at += count;
    return from;
  }

  uint8 = (): number => this.#view.getUint8(this.skip(1));
  uint16 = (): number => this.#view.getUint16(this.skip(2));
  uint32 = (): number => this.#view.getUint32(this.skip(4));
  int32 = (): number => this.#view.getInt32(this.skip(4));
  float64 = (): number => this.#view.getFloat64(this.skip(8));

  bytes(count: number): Uint8Array {
    const from = this.skip(count);
    return this.#bytes.subarray(from, from + count);
  }

  text(count: number): string {
    try {
      return utf8.decode(this.bytes(count));
    } catch (error) {
      throw error instanceof EtfError ? error : new EtfError('A string is not UTF-8.');
    }
  }

  /** Reads a count of elements of at least `bytesEach` bytes. Rejects a count that the rest of the input cannot hold. */
  count(bytesEach: number): number {
    const count = this.uint32();
    if (count * bytesEach > this.left) throw new EtfError('An element count exceeds the input.');
    return count;
  }
}

function readAtom(reader: Reader, length: number): null | boolean {
  const name = reader.text(length);
  const value = Object.hasOwn(ATOMS, name) ? ATOMS[name] : undefined;
  if (value === undefined)
    throw new EtfError('Unexpected atom: only nil, null, undefined, true and false are values.');
  return value;
}

function readBig(reader: Reader): number | bigint {
  const length = reader.uint8();
  const negative = reader.uint8();
  if (length > 8 || negative > 1) throw new EtfError('An integer is out of range.');
  let value = 0n;
  for (const [index, byte] of reader.bytes(length).entries()) value |= BigInt(byte) << BigInt(8 * index);
  if (negative) value = -value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Reads the text form of a float that old libraries still send: 31 bytes, zero-padded. */
function readOldFloat(reader: Reader): number {
  const text = reader.text(31).replace(/\0+$/, '');
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new EtfError('A float is malformed.');
  return value;
}

function readFloat(reader: Reader): number {
  const value = reader.float64();
  if (!Number.isFinite(value)) throw new EtfError('A float is not finite.');
  return value;
}

function readList(reader: Reader, depth: number): unknown[] {
  const list: unknown[] = [];
  for (let left = reader.count(1); left > 0; left -= 1) list.push(read(reader, depth));
  if (reader.uint8() !== 106) throw new EtfError('Improper list: the tail is not nil.');
  return list;
}

function readKey(reader: Reader): string {
  if (reader.uint8() !== 109) throw new EtfError('A map key is not a binary.');
  return reader.text(reader.count(1));
}

function readMap(reader: Reader, depth: number): Record<string, unknown> {
  // Without a prototype, no key that a client chooses can reach a property of Object.
  const map: Record<string, unknown> = Object.create(null);
  for (let left = reader.count(6); left > 0; left -= 1) map[readKey(reader)] = read(reader, depth);
  return map;
}

const TERMS: Readonly<Record<number, (reader: Reader, depth: number) => unknown>> = {
  70: readFloat,
  97: (reader) => reader.uint8(),
  98: (reader) => reader.int32(),
  99: readOldFloat,
  100: (reader) => readAtom(reader, reader.uint16()),
  106: () => [],
  107: (reader) => [...reader.bytes(reader.uint16())],
  108: readList,
  109: (reader) => reader.text(reader.count(1)),
  110: readBig,
  115: (reader) => readAtom(reader, reader.uint8()),
  116: readMap,
  118: (reader) => readAtom(reader, reader.uint16()),
  119: (reader) => readAtom(reader, reader.uint8()),
};

function read(reader: Reader, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new EtfError('The term is nested too deeply.');
  const term = TERMS[reader.uint8()];
  if (!term) throw new EtfError('Unsupported term tag.');
  return term(reader, depth + 1);
}

/**
 * Decodes one term with its version byte.
 *
 * @throws EtfError unless the input is exactly one well-formed term. Cost and memory are linear in the input.
 */
export function decodeEtf(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  if (reader.uint8() !== 131) throw new EtfError('The version is not 131.');
  const value = read(reader, 0);
  if (reader.left > 0) throw new EtfError('Bytes follow the term.');
  return value;
}
