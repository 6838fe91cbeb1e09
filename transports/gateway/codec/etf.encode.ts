/**
 * Encoder of Erlang's external term format, for what the server sends.
 *
 * Values follow JSON: undefined properties are omitted, and what JSON writes as `null` is the atom `nil`. Keys that have the
 * form of identifiers are atoms, as the platform's clients expect; other keys, and all strings, are binaries.
 *
 * @source https://www.erlang.org/doc/apps/erts/erl_ext_dist
 */
const VERSION = 131;
const NEW_FLOAT = 70;
const SMALL_INTEGER = 97;
const INTEGER = 98;
const NIL = 106;
const LIST = 108;
const BINARY = 109;
const SMALL_BIG = 110;
const SMALL_ATOM = 115;
const MAP = 116;

const atom = (name: string): Uint8Array => Buffer.from([SMALL_ATOM, name.length, ...Buffer.from(name)]);
const NIL_ATOM = atom('nil');
const TRUE_ATOM = atom('true');
const FALSE_ATOM = atom('false');
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Cache of encoded keys. The server's own shapes have few keys; the bound is for keys that users choose. */
const atoms = new Map<string, Uint8Array>();
const ATOMS_MAX = 4096;

/** Output buffer, reused by every call; encoding is synchronous. */
let out = Buffer.allocUnsafeSlow(16 << 10);
let at = 0;
/** A buffer larger than this is released after use. */
const RETAINED_BYTES_MAX = 1 << 20;

function room(bytes: number): void {
  if (at + bytes <= out.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(out.length * 2, at + bytes));
  out.copy(larger, 0, 0, at);
  out = larger;
}

function writeHead(tag: number, count: number): void {
  room(5);
  out[at] = tag;
  out.writeUInt32BE(count, at + 1);
  at += 5;
}

function writeBytes(bytes: Uint8Array): void {
  room(bytes.length);
  out.set(bytes, at);
  at += bytes.length;
}

function writeString(text: string): void {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  room(5 + text.length * 3);
  const bytes = out.write(text, at + 5, 'utf8');
  out[at] = BINARY;
  out.writeUInt32BE(bytes, at + 1);
  at += 5 + bytes;
}

function writeNumber(value: number): void {
  room(16);
  if (Number.isInteger(value) && value >= 0 && value <= 255) {
    out[at] = SMALL_INTEGER;
    out[at + 1] = value;
    at += 2;
  } else if ((value | 0) === value) {
    out[at] = INTEGER;
    out.writeInt32BE(value, at + 1);
    at += 5;
  } else if (Number.isSafeInteger(value)) {
    out[at] = SMALL_BIG;
    out[at + 1] = 8;
    out[at + 2] = value < 0 ? 1 : 0;
    out.writeBigUInt64LE(BigInt(Math.abs(value)), at + 3);
    at += 11;
  } else if (Number.isFinite(value)) {
    out[at] = NEW_FLOAT;
    out.writeDoubleBE(value, at + 1);
    at += 9;
  } else writeBytes(NIL_ATOM);
}

function writeKey(key: string): void {
  const known = atoms.get(key);
  if (known) writeBytes(known);
  else if (!IDENTIFIER.test(key)) writeString(key);
  else {
    const encoded = atom(key);
    if (atoms.size < ATOMS_MAX) atoms.set(key, encoded);
    writeBytes(encoded);
  }
}

const isAbsent = (value: unknown): boolean => value === undefined || typeof value === 'function';

function writeMap(map: Record<string, unknown>): void {
  const keys = Object.keys(map);
  const headAt = at;
  let count = 0;
  writeHead(MAP, 0);
  for (const key of keys) {
    const value = map[key];
    if (isAbsent(value)) continue;
    count += 1;
    writeKey(key);
    write(value);
  }
  out.writeUInt32BE(count, headAt + 1);
}

function writeList(list: readonly unknown[]): void {
  if (list.length > 0) writeHead(LIST, list.length);
  for (const value of list) write(value);
  room(1);
  out[at] = NIL;
  at += 1;
}

function write(value: unknown): void {
  if (typeof value === 'string') writeString(value);
  else if (typeof value === 'number') writeNumber(value);
  else if (value === true) writeBytes(TRUE_ATOM);
  else if (value === false) writeBytes(FALSE_ATOM);
  else if (value === null || isAbsent(value)) writeBytes(NIL_ATOM);
  else if (Array.isArray(value)) writeList(value);
  else if (typeof value === 'object') writeMap(value as Record<string, unknown>);
  else throw new TypeError(`Cannot encode a ${typeof value} as a term.`);
}

function take(fill: () => void): Uint8Array {
  at = 0;
  room(1);
  out[at] = VERSION;
  at += 1;
  fill();
  const taken = Buffer.allocUnsafeSlow(at);
  out.copy(taken, 0, 0, at);
  if (out.length > RETAINED_BYTES_MAX) out = Buffer.allocUnsafeSlow(16 << 10);
  return taken;
}

/** Encodes one term with its version byte. Throws on what JSON could not carry either (a bigint, a cycle). */
export const encodeEtf = (value: unknown): Uint8Array => take(() => write(value));

/** Encodes a dispatch up to and including the tag of `s`; the four bytes of `s` (big-endian) follow in the tail. */
export const encodeEtfDispatch = (t: string, d: unknown): Uint8Array =>
  take(() => {
    writeHead(MAP, 4);
    writeKey('t');
    writeBytes(atom(t));
    writeKey('op');
    writeNumber(0);
    writeKey('d');
    write(d);
    writeKey('s');
    room(1);
    out[at] = INTEGER;
    at += 1;
  });
