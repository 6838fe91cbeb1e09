import zlib from 'node:zlib';

const ATOMS: Readonly<Record<string, unknown>> = { nil: null, true: true, false: false };

/** Reads what a server sends, as a stock library does: atoms may be keys. */
export function readEtf(bytes: Uint8Array): unknown {
  const view = Buffer.from(bytes);
  let at = 0;
  const skip = (count: number): number => {
    at += count;
    return at - count;
  };
  const text = (length: number) => {
    const from = skip(length);
    return view.toString('utf8', from, from + length);
  };
  const uint32 = () => view.readUInt32BE(skip(4));
  const readMap = () => {
    const entries = Array.from({ length: uint32() }, () => [String(read()), read()] as const);
    return Object.fromEntries(entries);
  };
  const readList = () => {
    const list = Array.from({ length: uint32() }, () => read());
    if (view[skip(1)] !== 106) throw new Error('tail');
    return list;
  };
  const readBig = () => {
    const signAt = skip(10) + 1;
    return (view[signAt] === 1 ? -1 : 1) * Number(view.readBigUInt64LE(signAt + 1));
  };
  const readAtom = () => {
    const name = text(view[skip(1)] as number);
    return Object.hasOwn(ATOMS, name) ? ATOMS[name] : name;
  };
  const terms: Record<number, () => unknown> = {
    97: () => view[skip(1)],
    98: () => view.readInt32BE(skip(4)),
    70: () => view.readDoubleBE(skip(8)),
    106: () => [],
    108: readList,
    109: () => text(uint32()),
    110: readBig,
    115: readAtom,
    116: readMap,
  };
  const read = (): unknown => (terms[view[skip(1)] as number] as () => unknown)();
  if (view[skip(1)] !== 131) throw new Error('version');
  const value = read();
  if (at !== view.length) throw new Error('rest');
  return value;
}

const head = (tag: number, count: number) =>
  Buffer.from([tag, count >>> 24, count >>> 16, count >>> 8, count]);
const atom = (name: string) => Buffer.from([115, name.length, ...Buffer.from(name)]);
const double = (value: number) => {
  const bytes = Buffer.alloc(9, 70);
  bytes.writeDoubleBE(value, 1);
  return bytes;
};
const big = (value: bigint) => {
  const bytes = Buffer.from([110, 8, value < 0n ? 1 : 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeBigUInt64LE(value < 0n ? -value : value, 3);
  return bytes;
};
const binary = (text: string) => Buffer.concat([head(109, Buffer.byteLength(text)), Buffer.from(text)]);

/** Writes a JSON value as a stock client does: strings and keys are binaries. */
export function writeTerm(value: unknown): Buffer {
  if (typeof value === 'string') return binary(value);
  if (typeof value === 'bigint') return big(value);
  if (typeof value === 'number') return (value | 0) === value ? head(98, value) : double(value);
  if (value === null || typeof value === 'boolean') return atom(value === null ? 'nil' : String(value));
  if (Array.isArray(value))
    return Buffer.concat([head(108, value.length), ...value.map(writeTerm), Buffer.from([106])]);
  const entries = Object.entries(value as object);
  return Buffer.concat([
    head(116, entries.length),
    ...entries.flatMap(([key, each]) => [binary(key), writeTerm(each)]),
  ]);
}

export const writeEtf = (value: unknown): Buffer => Buffer.concat([Buffer.from([131]), writeTerm(value)]);

/** One stock inflate stream for a whole connection, as clients keep it: a message ends with 00 00 FF FF. */
export class StreamInflate {
  readonly #inflate = zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH });

  message(frame: Uint8Array): Promise<Buffer> {
    if (
      !Buffer.from(frame)
        .subarray(-4)
        .equals(Buffer.from([0, 0, 0xff, 0xff]))
    )
      throw new Error('no sync mark');
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      const onData = (part: Buffer) => parts.push(part);
      this.#inflate.on('data', onData).once('error', reject);
      this.#inflate.write(frame, () => {
        this.#inflate.off('data', onData).off('error', reject);
        resolve(Buffer.concat(parts));
      });
    });
  }
}
