import { present } from '../../protocol/present.ts';

/**
 * GHASH, the universal hash of AES-GCM, as a WebAssembly module that this file assembles.
 *
 * Why: Node creates a native object for each AES-GCM packet, which costs more than the encryption. A reused cipher object
 * produces AES blocks without that cost; GCM additionally needs this hash. JavaScript has no fast 64-bit integers,
 * WebAssembly has.
 *
 * How: polynomials over GF(2) are multiplied by integer multiplication "with holes": only every fourth bit of each operand is
 * kept, so that carries fall into the holes and are masked away. No table is read at a secret index and no branch depends on
 * a secret, so the time taken reveals nothing about the key.
 *
 * @source https://csrc.nist.gov/pubs/sp/800/38/d/final; NIST SP 800-38D, sections 6.3 and 6.4
 */

type Code = readonly number[];

const I32 = 0x7f;
const I64 = 0x7e;
const ALL_BITS = (1n << 64n) - 1n;

function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: bigint): Code {
  const low = Number(value & 0x7fn);
  const rest = value >> 7n;
  const isLast = (rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}

const get = (local: number): Code => [0x20, ...unsigned(local)];
const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
const word = (value: bigint | number): Code => [0x42, ...signed(BigInt.asIntN(64, BigInt(value)))];
const int = (value: number): Code => [0x41, ...signed(BigInt(value))];
const binary =
  (opcode: number) =>
  (first: Code, ...rest: readonly Code[]): Code => [
    ...first,
    ...rest.flatMap((operand) => [...operand, opcode]),
  ];
const and = binary(0x83);
const or = binary(0x84);
const xor = binary(0x85);
const times = binary(0x7e);
const left = (value: Code, bits: number): Code => [...value, ...word(bits), 0x86];
const right = (value: Code, bits: number): Code => [...value, ...word(bits), 0x88];
const rotated = (value: Code, bits: number): Code => [...value, ...word(bits), 0x89];
const load = (pointer: number, offset: number): Code => [...get(pointer), 0x29, 0, ...unsigned(offset)];
const store = (pointer: number, offset: number, value: Code): Code => [
  ...get(pointer),
  ...value,
  0x37,
  0,
  ...unsigned(offset),
];

/** Indices of the parameters, then of the locals, of the only function. */
const STATE = 0;
const DATA = 1;
const BLOCKS = 2;
const PARAMETERS = 3;
let locals = PARAMETERS;
const local = (): number => {
  locals += 1;
  return locals - 1;
};
const several = (count: number): number[] => Array.from({ length: count }, local);

/** Four masks that each select every fourth bit, starting at bit 0, 1, 2 and 3. */
const COMBS = [0, 1, 2, 3].map((bit) => (ALL_BITS / 15n) << BigInt(bit)).map((comb) => comb & ALL_BITS);
/** Mask that selects the lower of each pair of neighbouring groups of `bits` bits. */
const pairs = (bits: number): bigint => ALL_BITS / ((1n << BigInt(bits)) + 1n);

const turning = local();
const swapped = (value: Code, bits: number): Code => [
  ...set(turning, value),
  ...or(and(right(get(turning), bits), word(pairs(bits))), left(and(get(turning), word(pairs(bits))), bits)),
];
/** Big-endian to little-endian and back. */
const bytesReversed = (value: Code): Code => rotated(swapped(swapped(value, 8), 16), 32);
const bitsReversed = (value: Code): Code =>
  bytesReversed([1, 2, 4].reduce<Code>((turned, bits) => swapped(turned, bits), value));

/** Locals that hold the four masked parts of one value. */
type Combed = readonly number[];
const comb = (into: Combed, value: Code): Code =>
  into.flatMap((each, index) => set(each, and(value, word(present(COMBS[index])))));

const combed = several(4);
/** The low 64 bits of the product of two polynomials; `by` is already split into its four parts. */
function product(value: Code, by: Combed): Code {
  const part = (bit: number): Code => {
    const products = combed.map((each, index) => times(get(each), get(present(by[(bit - index + 4) % 4]))));
    return and(xor(present(products[0]), ...products.slice(1)), word(present(COMBS[bit])));
  };
  return [...comb(combed, value), ...or(part(0), part(1), part(2), part(3))];
}

/** Adds up x, x shifted right by 1, 2 and 7: one half of the division by x^128 + x^7 + x^2 + x + 1. */
const folded = (into: Code, value: number): Code =>
  xor(into, get(value), right(get(value), 1), right(get(value), 2), right(get(value), 7));
const carried = (into: Code, value: number): Code =>
  xor(into, left(get(value), 63), left(get(value), 62), left(get(value), 57));

/**
 * For each block: hash = (hash + block) · H. Karatsuba's three products give the high and low halves; the upper 64 bits of a
 * product are the lower 64 bits of the product of the bit-reversed operands.
 */
function hashing(): Code {
  const [a, b, high, low, sum] = several(5) as [number, number, number, number, number];
  const [keyLow, keyHigh, keySum] = [several(4), several(4), several(4)];
  const [turnedLow, turnedHigh, turnedSum] = [several(4), several(4), several(4)];
  const [p0, p1, p2, q0, q1, q2] = several(6) as [number, number, number, number, number, number];
  const upper = (value: number): Code => right(bitsReversed(get(value)), 1);
  const shifted = (value: number, below: number): Code => or(left(get(value), 1), right(get(below), 63));
  return [
    ...set(b, bytesReversed(load(STATE, 0))),
    ...set(a, bytesReversed(load(STATE, 8))),
    ...comb(keyLow, get(a)),
    ...comb(keyHigh, get(b)),
    ...set(sum, xor(get(a), get(b))),
    ...comb(keySum, get(sum)),
    ...set(a, bitsReversed(get(a))),
    ...set(b, bitsReversed(get(b))),
    ...comb(turnedLow, get(a)),
    ...comb(turnedHigh, get(b)),
    ...set(sum, xor(get(a), get(b))),
    ...comb(turnedSum, get(sum)),
    ...[0x03, 0x40], // loop
    ...set(high, xor(bytesReversed(load(DATA, 0)), get(high))),
    ...set(low, xor(bytesReversed(load(DATA, 8)), get(low))),
    ...set(sum, xor(get(low), get(high))),
    ...set(p0, product(get(low), keyLow)),
    ...set(p1, product(get(high), keyHigh)),
    ...set(p2, product(get(sum), keySum)),
    ...set(a, bitsReversed(get(low))),
    ...set(b, bitsReversed(get(high))),
    ...set(sum, xor(get(a), get(b))),
    ...set(q0, product(get(a), turnedLow)),
    ...set(q1, product(get(b), turnedHigh)),
    ...set(q2, product(get(sum), turnedSum)),
    ...set(p2, xor(get(p2), get(p0), get(p1))),
    ...set(q2, xor(get(q2), get(q0), get(q1))),
    // The 256 bits of the product, least significant first: p0, q0 + p2, p1 + q2, q1.
    ...set(p2, xor(upper(q0), get(p2))),
    ...set(p1, xor(get(p1), upper(q2))),
    ...set(q1, upper(q1)),
    // GCM numbers bits from the other end, so the product is one bit too low.
    ...set(q1, shifted(q1, p1)),
    ...set(p1, shifted(p1, p2)),
    ...set(p2, shifted(p2, p0)),
    ...set(p0, left(get(p0), 1)),
    ...set(p1, folded(get(p1), p0)),
    ...set(p2, carried(get(p2), p0)),
    ...set(high, folded(get(q1), p2)),
    ...set(low, carried(get(p1), p2)),
    ...[...get(DATA), ...int(16), 0x6a, 0x21, DATA],
    ...[...get(BLOCKS), ...int(1), 0x6b, 0x22, BLOCKS, 0x0d, 0], // repeat while blocks are left
    0x0b,
    ...store(STATE, 16, bytesReversed(get(high))),
    ...store(STATE, 24, bytesReversed(get(low))),
    0x0b,
  ];
}

const list = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
const section = (id: number, content: Code): Code => [id, ...unsigned(content.length), ...content];
const named = (name: string, kind: number): Code => [name.length, ...Buffer.from(name), kind, 0];

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const code = hashing();
  const body = [...list([[...unsigned(locals - PARAMETERS), I64]]), ...code];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, PARAMETERS, I32, I32, I32, 0]])),
    ...section(3, list([[0]])),
    ...section(5, list([[0, 1]])),
    ...section(7, list([named('hash', 0), named('memory', 2)])),
    ...section(10, list([[...unsigned(body.length), ...body]])),
  ]);
}

interface GhashExports {
  readonly hash: (state: number, data: number, blocks: number) => void;
  readonly memory: { readonly buffer: ArrayBuffer };
}

/** The part of the WebAssembly API used here; TypeScript declares it only in its library for browsers. */
interface WasmRuntime {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WasmRuntime }).WebAssembly;
const { hash, memory } = new Instance(new Module(moduleBytes())).exports as GhashExports;

/**
 * The module's memory, 64 KiB. A caller must write its data and call `ghash` synchronously, before another caller writes.
 */
export const GHASH_MEMORY: ArrayBuffer = memory.buffer;

/**
 * Hashes `blocks` (at least one) blocks of 16 bytes starting at `data`. H is read from the 16 bytes at `state`; the hash is
 * written into the 16 bytes after them.
 */
export const ghash: (state: number, data: number, blocks: number) => void = hash;
