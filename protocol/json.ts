/** Deepest nesting of arrays and objects in a request. No schema of the interface exceeds twelve. */
export const JSON_DEPTH_MAX = 64;
/**
 * Most opening brackets and commas outside strings. Each creates a value, which takes many times the bytes of its text.
 */
export const JSON_TOKENS_MAX = 20_000;

/** The text is not JSON, or not UTF-8. */
export class MalformedJson extends Error {}
/** The text may be JSON, but has more values or nests deeper than allowed. */
export class OversizedJson extends MalformedJson {}

const BLANK = 0x20;
const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const EIGHT = 0x38;
const LETTER_C = 0x63;
const LETTER_D = 0x64;
const LETTER_F = 0x66;
const LETTER_U = 0x75;
/** The bit that turns an upper-case letter into lower case. */
const LOWER_CASE = 0x20;

/** The token that a byte begins outside strings. Whitespace, colons and all other bytes begin no counted token. */
const KIND = { string: 1, number: 2, comma: 3, open: 4, close: 5, literal: 6 } as const;
const KINDS = new Uint8Array(256);
KINDS.fill(KIND.number, ZERO, NINE + 1);
for (const [characters, kind] of [
  ['"', KIND.string],
  ['-', KIND.number],
  [',', KIND.comma],
  ['[{', KIND.open],
  [']}', KIND.close],
  ['tnf', KIND.literal],
] as const)
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
/** `true` and `null`; the last letter of `false` begins no counted token. */
const LITERAL_BYTES_MIN = 4;
const DIGIT = new Uint8Array(256);
DIGIT.fill(1, ZERO, NINE + 1);
/** Characters of a number. */
const NUMERIC = DIGIT.slice();
for (const character of '+-.eE') NUMERIC[character.charCodeAt(0)] = 1;
const HEX = new Uint8Array(256);
for (const character of '0123456789abcdefABCDEF') HEX[character.charCodeAt(0)] = 1;

/** Bytes that end a run of plain characters in a string. */
const ENDS = new Uint8Array(256);
ENDS[QUOTE] = ENDS[BACKSLASH] = 1;

/** Number of digits of 2^53 and of 2^64. */
const BIG_DIGITS_MIN = 16;
const BIG_DIGITS_MAX = 20;
/**
 * A low surrogate, which marks a replaced string: no string of a client begins with one, because U+FFFD replaces it.
 */
const MARK = 0xdc00;
const INDEX_DIGITS = 5;
/** Most bytes of a number; no double needs as many digits, and no client writes them. */
const NUMBER_BYTES_MAX = 1024;
/** Bytes of a string that are examined one by one before the native search looks for its end. */
const NATIVE_SEARCH_FROM = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const words = new Uint32Array(2);
const long = new BigUint64Array(words.buffer);
/** On a big-endian machine the two words change places. */
const LOW = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 0 : 1;
const WORD = 2 ** 32;

/**
 * One pass over the bytes before any value is built: counts values and depth, and overwrites, in a copy and without
 * moving a byte, what `JSON.parse` would get wrong. An integer beyond 2^53 becomes a marked string of the same length
 * with its index in `bigs`; the escape of a lone surrogate becomes the escape of U+FFFD. `JSON.parse` still checks the
 * grammar: text that was invalid stays invalid.
 */
class Scan {
  readonly bigs: bigint[] = [];
  readonly #bytes: Uint8Array;
  #copy: Uint8Array | null = null;
  /** Position of the next backslash when it was last searched. */
  #backslashAt = -1;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The bytes for `JSON.parse`. */
  run(depthMax: number): Uint8Array {
    const bytes = this.#bytes;
    let depth = 0;
    let tokens = 0;
    for (let at = 0; at < bytes.length; ) {
      const kind = KINDS[bytes[at] as number];
      if (kind === 0) at = afterBlanks(bytes, at + 1);
      else if (kind === KIND.string) at = this.#string(at + 1);
      else if (kind === KIND.number) at = this.#number(at);
      // A misspelt literal is invalid JSON whatever follows it.
      else if (kind === KIND.literal) at += LITERAL_BYTES_MIN;
      else {
        at += 1;
        if (kind === KIND.close) depth -= 1;
        else if (++tokens > JSON_TOKENS_MAX)
          throw new OversizedJson(`The JSON has more than ${JSON_TOKENS_MAX} values: send fewer at a time.`);
        else if (kind === KIND.open && ++depth > depthMax)
          throw new OversizedJson(`The JSON nests more than ${depthMax} deep: send it flatter.`);
      }
    }
    return this.#copy ?? bytes;
  }

  /** The end of the string whose opening quote is before `at`. */
  #string(at: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) {
        if (bytes[at + 1] !== LETTER_U) at += 2;
        else at = isSurrogate(bytes, at) ? this.#surrogate(at) : at + 6;
        continue;
      }
      const native = Math.min(length, at + NATIVE_SEARCH_FROM);
      do at += 1;
      while (at < native && ENDS[bytes[at] as number] === 0);
      if (at === native) at = this.#stop(at);
    }
    return length;
  }

  /** Position of the next quote or backslash. */
  #stop(at: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    const quoteAt = bytes.indexOf(QUOTE, at);
    if (this.#backslashAt < at) {
      const found = bytes.indexOf(BACKSLASH, at);
      this.#backslashAt = found < 0 ? length : found;
    }
    return Math.min(quoteAt < 0 ? length : quoteAt, this.#backslashAt);
  }

  /** Skips the escapes of a surrogate pair, or replaces a lone half by U+FFFD. */
  #surrogate(at: number): number {
    const bytes = this.#bytes;
    if (isHigh(bytes[at + 3] as number) && isEscape(bytes, at + 6) && isSurrogate(bytes, at + 6)) {
      if (!isHigh(bytes[at + 9] as number)) return at + 12;
    }
    // An invalid escape must not become a valid one.
    if (HEX[bytes[at + 3] ?? 0] !== 1 || HEX[bytes[at + 4] ?? 0] !== 1 || HEX[bytes[at + 5] ?? 0] !== 1)
      return at + 2;
    const out = this.#writable();
    out[at + 2] = out[at + 3] = out[at + 4] = LETTER_F;
    out[at + 5] = LETTER_D;
    return at + 6;
  }

  /** The end of the number that begins at `from`. */
  #number(from: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    const digitsAt = bytes[from] === MINUS ? from + 1 : from;
    let at = digitsAt;
    const last = Math.min(length, from + NUMBER_BYTES_MAX);
    while (at < last && DIGIT[bytes[at] as number] === 1) at += 1;
    if (at < length && NUMERIC[bytes[at] as number] === 1) {
      at = afterNumber(bytes, at, last);
      if (at < last || at === length || NUMERIC[bytes[at] as number] === 0) return at;
      throw new OversizedJson(
        `The JSON has a number of more than ${NUMBER_BYTES_MAX} characters: send it as a string.`,
      );
    }
    const digits = at - digitsAt;
    if (digits >= BIG_DIGITS_MIN && digits <= BIG_DIGITS_MAX && bytes[digitsAt] !== ZERO)
      this.#integer(from, digitsAt, at);
    return at;
  }

  #integer(from: number, digitsAt: number, end: number): void {
    const bytes = this.#bytes;
    const value = integerOf(bytes, digitsAt, end);
    if (value === null || isKey(bytes, end)) return;
    const out = this.#writable();
    out[from] = out[end - 1] = QUOTE;
    out[from + 1] = BACKSLASH;
    out[from + 2] = LETTER_U;
    out[from + 3] = LETTER_D;
    out[from + 4] = LETTER_C;
    out[from + 5] = out[from + 6] = ZERO;
    // The digits between the mark and the index stay and have no meaning.
    let index = this.bigs.push(from === digitsAt ? value : -value) - 1;
    for (let at = end - 2; at > end - 2 - INDEX_DIGITS; at -= 1) {
      const rest = (index / 10) | 0;
      out[at] = ZERO + index - rest * 10;
      index = rest;
    }
  }

  #writable(): Uint8Array {
    // Not `slice`, which does not copy a Buffer.
    this.#copy ??= new Uint8Array(this.#bytes);
    return this.#copy;
  }
}

/** The end of the whitespace that reaches to `at`; `JSON.parse` rejects control characters. */
function afterBlanks(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  while (at < length && (bytes[at] as number) <= BLANK) at += 1;
  return at;
}

/** The end of the number that reaches to `at`, or `last` when the number is longer. */
function afterNumber(bytes: Uint8Array, at: number, last: number): number {
  while (at < last && NUMERIC[bytes[at] as number] === 1) at += 1;
  return at;
}

const isEscape = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === BACKSLASH && bytes[at + 1] === LETTER_U;

/** Whether the escape at `at` is between `\ud800` and `\udfff`. */
const isSurrogate = (bytes: Uint8Array, at: number): boolean =>
  ((bytes[at + 2] as number) | LOWER_CASE) === LETTER_D && (bytes[at + 3] as number) >= EIGHT;

/** The third digit distinguishes the halves: 8 to b for the high, c to f for the low one. */
const isHigh = (digit: number): boolean => (digit | LOWER_CASE) < LETTER_C;

/** The integer of 16 to 20 digits. Null when a double holds it exactly, or when it exceeds 64 bits. */
function integerOf(bytes: Uint8Array, from: number, end: number): bigint | null {
  let upper = 0;
  let lower = 0;
  const middle = end - 9;
  for (let at = from; at < middle; at++) upper = upper * 10 + ((bytes[at] as number) - ZERO);
  for (let at = middle; at < end; at++) lower = (Math.imul(lower, 10) + (bytes[at] as number) - ZERO) | 0;
  if (upper * 1e9 + lower <= Number.MAX_SAFE_INTEGER) return null;
  // upper × 10^9 + lower, in steps that a double holds exactly; not by `%`, which is slow for doubles.
  const upperHigh = Math.floor(upper / 65_536);
  const high = upperHigh * 1e9;
  const highTop = Math.floor(high / 65_536);
  const low = (upper - upperHigh * 65_536) * 1e9 + lower + (high - highTop * 65_536) * 65_536;
  const carry = Math.floor(low / WORD);
  const top = highTop + carry;
  if (top >= WORD) return null;
  words[LOW] = low - carry * WORD;
  words[1 - LOW] = top;
  return long[0] as bigint;
}

/** Whether a colon follows; JSON does not allow a number there. */
const isKey = (bytes: Uint8Array, end: number): boolean => bytes[afterBlanks(bytes, end)] === COLON;

/**
 * Whether the text of a number that `parseJson` returned has the digits that the client sent. An integer beyond 64 bits
 * is the nearest double, whose last digits are made up.
 */
export const keepsDigits = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));

/** Replaces bigints by decimal strings, which lose no digit and which JSON can represent. */
export function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  const entries = Object.entries(value).map(([key, child]) => [key, withoutBigints(child)] as const);
  return Object.fromEntries(entries);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    // Both throw only for invalid input bytes.
    throw new MalformedJson('The text is not valid JSON in UTF-8.');
  }
}

/** The index in the last digits of a marked string. */
function indexOf(marked: string): number {
  let index = 0;
  for (let at = marked.length - INDEX_DIGITS; at < marked.length; at++)
    index = index * 10 + marked.charCodeAt(at) - ZERO;
  return index;
}

/** `value` with marked strings replaced by their integers. Nests no deeper than the scan allowed. */
function restored(value: unknown, bigs: readonly bigint[]): unknown {
  if (typeof value === 'string') return value.charCodeAt(0) === MARK ? bigs[indexOf(value)] : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = restored(value[at], bigs);
    return value;
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record)) {
    const was = record[key];
    const is = restored(was, bigs);
    if (is === was) continue;
    // Assigning `__proto__` would not create a key of that name.
    if (key === '__proto__') Object.defineProperty(record, key, { value: is });
    else record[key] = is;
  }
  return record;
}

/**
 * Parses a JSON text of a client like `JSON.parse`, with three differences: integers beyond ±(2^53 - 1) that fit 64
 * bits are bigints, so that ids keep all their digits; a lone surrogate, which only an escape can produce, is U+FFFD,
 * so that every string is well-formed; depth and number of values are bounded before anything is built. An integer
 * beyond 64 bits stays the nearest double, which no schema accepts as an id.
 *
 * Cost: one pass over the bytes besides decoding and `JSON.parse`, and one over the values when there is a bigint.
 *
 * @throws MalformedJson, or its subclass OversizedJson
 */
export function parseJson(bytes: Uint8Array, depthMax = JSON_DEPTH_MAX): unknown {
  const scan = new Scan(bytes);
  const value = parsed(scan.run(depthMax));
  return scan.bigs.length === 0 ? value : restored(value, scan.bigs);
}

/** True for an object that is neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
