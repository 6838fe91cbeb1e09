import type { Origin } from '../fanout/body.ts';
import type { Cursor } from './cursors.ts';

/**
 * The storage format of sessions that outlive their process: batches of entries, one batch per tick.
 *
 * A batch is `header, lists, content`, each of whole words (32 bits, little-endian). The lists hold, for each entry,
 * its kind, the size of its content, and its sessions. A session's sequence numbers are not stored, as each dispatch
 * for the session takes the next one. Header and lists have one checksum and the content another, so after damage to
 * the content the affected sessions are still known.
 */
export const ENTRY = {
  /** A dispatch for its sessions, in this order. */
  dispatch: 1,
  /** A complete session with its last number. Written when the session starts, and once in each segment. */
  session: 2,
  /** A change of some of the fields in `session`. */
  changed: 3,
  following: 4,
  /** `lagging` of a stream; names no session. */
  lagging: 5,
  left: 6,
  /** The session ended, or moved to another shard: its content is then the key of the claim that moved it. */
  ended: 7,
} as const;
type EntryKind = (typeof ENTRY)[keyof typeof ENTRY];

const MAGIC = 0x314a_4847;
const HEADER_WORDS = 8;
/** Added to the kind: the entry has the same sessions as the entry before. */
const SAME = 0x100;
const ENTRY_WORDS = 3;
const FIRST_WORDS = 4096;
const FIRST_BYTES = 1 << 16;
const HIGH = 2 ** 32;

/** One entry of a batch. */
export interface JournalEntry {
  readonly kind: EntryKind;
  readonly handles: Int32Array;
  /** Offset of its content in bytes from the start of the input. */
  readonly at: number;
  readonly bytes: number;
}

type BatchRead =
  | {
      readonly kind: 'whole';
      /** One more than the previous batch's number in the same run. */
      readonly number: number;
      /** Unix milliseconds. */
      readonly atMs: number;
      readonly entries: readonly JournalEntry[];
      readonly endWord: number;
    }
  /** The content is damaged; the lists are not. */
  | {
      readonly kind: 'damaged';
      readonly number: number;
      readonly entries: readonly JournalEntry[];
      readonly endWord: number;
    }
  /**
   * Unreadable; the next batch begins at `nextWord`, null for the end. `torn`: it looks like the beginning of a batch
   * whose rest was never written.
   */
  | { readonly kind: 'lost'; readonly nextWord: number | null; readonly torn: boolean };

/** A dispatch as stored in a batch. */
export interface DispatchContent {
  readonly t: string;
  /** `d`, as JSON. */
  readonly json: string;
  readonly origin: Origin | null;
}

const round = (bytes: number): number => (bytes + 3) >>> 2;

/**
 * A checksum over words: two chains of invertible steps, so that a change of any one word is always detected. Other
 * changes are missed once in 2^32 times. 2 GB/s.
 */
export function checksum(words: Int32Array, from: number, to: number, seed: number): number {
  let even = seed | 0;
  let odd = ~seed;
  let at = from;
  for (; at + 1 < to; at += 2) {
    const one = even ^ (words[at] ?? 0);
    even = (Math.imul((one << 13) | (one >>> 19), 0x9e37_79b1) + 0x7f4a_7c15) | 0;
    const two = odd ^ (words[at + 1] ?? 0);
    odd = (Math.imul((two << 15) | (two >>> 17), 0x85eb_ca6b) + 0x27d4_eb2f) | 0;
  }
  if (at < to) {
    const last = even ^ (words[at] ?? 0);
    even = (Math.imul((last << 13) | (last >>> 19), 0x9e37_79b1) + 0x7f4a_7c15) | 0;
  }
  return Math.imul(even ^ ((odd << 7) | (odd >>> 25)), 0xc2b2_ae35) | 0;
}

/** Collects the entries of one batch. Its buffers grow as needed and are reused. */
export class BatchWriter {
  #words = new Int32Array(FIRST_WORDS);
  #size = HEADER_WORDS;
  #content = Buffer.alloc(FIRST_BYTES);
  #bytes = 0;
  /** Positions of the open entry and of the last written list, which the entry may repeat. */
  #entry = 0;
  #list = 0;
  #listSize = -1;

  get isEmpty(): boolean {
    return this.#size === HEADER_WORDS;
  }

  /** Approximate size of the result of `finish`. */
  get bytes(): number {
    return this.#size * 4 + this.#bytes;
  }

  /** Begins the entry of a dispatch; `add` names its recipients. @param json `d`. */
  dispatch(t: string, json: string, origin: Origin | null): void {
    const from = this.#bytes;
    const ownerId = origin?.ownerId ?? '';
    this.#reserve(t.length + ownerId.length + json.length * 3 + 16);
    const content = this.#content;
    let at = content.writeUInt8(t.length, from);
    at += content.write(t, at, 'latin1');
    at = content.writeUInt8(ownerId.length, at);
    if (origin) {
      at += content.write(ownerId, at, 'latin1');
      at = content.writeDoubleLE(origin.n, at);
    }
    at += content.write(json, at);
    this.#bytes = at;
    this.#begin(ENTRY.dispatch, at - from);
  }

  /** Adds a session to the open entry. */
  add(handle: number): void {
    if (this.#size === this.#words.length) this.#grow(1);
    this.#words[this.#size] = handle;
    this.#size += 1;
  }

  /** Adds a complete entry for one session. */
  note(kind: EntryKind, handle: number, text: string): void {
    this.#reserve(text.length * 3);
    const bytes = this.#content.write(text, this.#bytes);
    this.#bytes += bytes;
    this.#begin(kind, bytes);
    this.add(handle);
  }

  /** Completes the batch and begins a new one. The returned bytes are valid until the next entry. */
  finish(number: number, atMs: number): Uint8Array {
    this.#end();
    const listWords = this.#size - HEADER_WORDS;
    const contentWords = round(this.#bytes);
    this.#content.fill(0, this.#bytes, contentWords * 4);
    this.#grow(contentWords);
    const words = this.#words;
    const bytes = new Uint8Array(words.buffer, 0, (this.#size + contentWords) * 4);
    this.#content.copy(bytes, this.#size * 4, 0, contentWords * 4);
    words.set([MAGIC, number, listWords, this.#bytes, atMs | 0, Math.floor(atMs / HIGH)]);
    words[6] = checksum(words, this.#size, this.#size + contentWords, number);
    words[7] = sumOfLists(words, 0, listWords);
    this.#size = HEADER_WORDS;
    this.#bytes = 0;
    this.#entry = 0;
    this.#listSize = -1;
    return bytes;
  }

  /** Releases buffers that an unusually large batch has grown. */
  shrink(bytesMax: number): void {
    if (this.#words.length * 4 > bytesMax) this.#words = new Int32Array(FIRST_WORDS);
    if (this.#content.length > bytesMax) this.#content = Buffer.alloc(FIRST_BYTES);
  }

  #begin(kind: EntryKind, bytes: number): void {
    this.#end();
    if (this.#size + ENTRY_WORDS > this.#words.length) this.#grow(ENTRY_WORDS);
    this.#entry = this.#size;
    this.#words[this.#size] = kind;
    this.#words[this.#size + 1] = bytes;
    this.#size += ENTRY_WORDS;
  }

  /**
   * Completes the open entry. A list equal to the previous one is not repeated: a guild's messages go to the same
   * sessions.
   */
  #end(): void {
    if (this.#entry === 0) return;
    const words = this.#words;
    const from = this.#entry + ENTRY_WORDS;
    const count = this.#size - from;
    words[this.#entry + 2] = count;
    if (count === this.#listSize && count > 1 && this.#isRepeated(from, count)) {
      words[this.#entry] = (words[this.#entry] ?? 0) | SAME;
      this.#size = from;
    } else {
      this.#list = from;
      this.#listSize = count;
    }
    this.#entry = 0;
  }

  #isRepeated(from: number, count: number): boolean {
    const words = this.#words;
    for (let index = 0; index < count; index += 1)
      if (words[this.#list + index] !== words[from + index]) return false;
    return true;
  }

  #grow(more: number): void {
    if (this.#size + more <= this.#words.length) return;
    const words = new Int32Array(Math.max(this.#words.length * 2, this.#size + more));
    words.set(this.#words.subarray(0, this.#size));
    this.#words = words;
  }

  #reserve(more: number): void {
    if (this.#bytes + more + 4 <= this.#content.length) return;
    const content = Buffer.alloc(Math.max(this.#content.length * 2, this.#bytes + more + 4));
    this.#content.copy(content, 0, 0, this.#bytes);
    this.#content = content;
  }
}

/** Checksum over the header, except the checksum itself, and the lists. */
function sumOfLists(words: Int32Array, at: number, listWords: number): number {
  const header = checksum(words, at, at + HEADER_WORDS - 1, MAGIC);
  return checksum(words, at + HEADER_WORDS, at + HEADER_WORDS + listWords, header);
}

/** Bytes as words; an incomplete last word is cut off. */
export function wordsOf(bytes: Uint8Array): Int32Array {
  const alignedBytes = bytes.length & ~3;
  if ((bytes.byteOffset & 3) === 0) return new Int32Array(bytes.buffer, bytes.byteOffset, alignedBytes / 4);
  return new Int32Array(Uint8Array.from(bytes.subarray(0, alignedBytes)).buffer);
}

/** Reads the batch at a word offset. Never throws, for any input. */
export function readBatch(words: Int32Array, at: number): BatchRead {
  const entries = isBatch(words, at) ? readLists(words, at) : null;
  if (!entries) return { kind: 'lost', nextWord: nextBatch(words, at + 1), torn: isBeginning(words, at) };
  const number = words[at + 1] ?? 0;
  const contentAt = at + HEADER_WORDS + (words[at + 2] ?? 0);
  const endWord = contentAt + round(words[at + 3] ?? 0);
  if (endWord > words.length) return { kind: 'lost', nextWord: nextBatch(words, at + 1), torn: true };
  if (checksum(words, contentAt, endWord, number) !== words[at + 6])
    return { kind: 'damaged', number, entries, endWord };
  const atMs = (words[at + 5] ?? 0) * HIGH + ((words[at + 4] ?? 0) >>> 0);
  return { kind: 'whole', number, atMs, entries, endWord };
}

/** Whether an undamaged header with lists starts here. */
function isBatch(words: Int32Array, at: number): boolean {
  if (words[at] !== MAGIC || at + HEADER_WORDS > words.length) return false;
  const listWords = words[at + 2] ?? 0;
  if (listWords < 0 || (words[at + 3] ?? 0) < 0 || at + HEADER_WORDS + listWords > words.length) return false;
  return sumOfLists(words, at, listWords) === words[at + 7];
}

/** Whether a batch starts here whose end is missing. */
function isBeginning(words: Int32Array, at: number): boolean {
  if (words[at] !== MAGIC) return false;
  return at + HEADER_WORDS > words.length || at + HEADER_WORDS + (words[at + 2] ?? 0) > words.length;
}

function nextBatch(words: Int32Array, from: number): number | null {
  for (let at = words.indexOf(MAGIC, from); at !== -1; at = words.indexOf(MAGIC, at + 1))
    if (isBatch(words, at)) return at;
  return null;
}

const KINDS: ReadonlySet<number> = new Set(Object.values(ENTRY));

/** Null for malformed lists with a valid checksum. */
function readLists(words: Int32Array, batchAt: number): JournalEntry[] | null {
  const entries: JournalEntry[] = [];
  const endWord = batchAt + HEADER_WORDS + (words[batchAt + 2] ?? 0);
  const contentBytes = words[batchAt + 3] ?? 0;
  let handles = words.subarray(0, 0);
  let contentAt = 0;
  for (let at = batchAt + HEADER_WORDS; at < endWord; ) {
    if (at + ENTRY_WORDS > endWord) return null;
    const [flags, bytes, count] = words.subarray(at, at + ENTRY_WORDS) as unknown as [number, number, number];
    const kind = flags & ~SAME;
    at += ENTRY_WORDS;
    if ((flags & SAME) === 0) {
      if (count < 0 || at + count > endWord) return null;
      handles = words.subarray(at, at + count);
      at += count;
    }
    if (!KINDS.has(kind) || handles.length !== count || bytes < 0 || contentAt + bytes > contentBytes)
      return null;
    entries.push({ kind: kind as EntryKind, handles, at: endWord * 4 + contentAt, bytes });
    contentAt += bytes;
  }
  return entries;
}

/** The head of a dispatch's content, and the offset of its JSON. */
export function readHead(content: Buffer): Omit<DispatchContent, 'json'> & { readonly jsonAt: number } {
  const ownerAt = 2 + (content[0] ?? 0);
  const ownerEnd = ownerAt + (content[ownerAt - 1] ?? 0);
  const t = content.toString('latin1', 1, ownerAt - 1);
  if (ownerEnd === ownerAt || ownerEnd + 8 > content.length) return { t, origin: null, jsonAt: ownerEnd };
  const ownerId = content.toString('latin1', ownerAt, ownerEnd);
  return { t, origin: { ownerId, n: content.readDoubleLE(ownerEnd) }, jsonAt: ownerEnd + 8 };
}

/** The content of a dispatch's entry. */
export function readDispatch(content: Buffer): DispatchContent {
  const { t, origin, jsonAt } = readHead(content);
  return { t, origin, json: content.toString('utf8', jsonAt) };
}

/** A stream as `following`, `lagging` and `left` store it. */
export const streamText = (ownerId: string, n = 0): string => `${n} ${ownerId}`;

export function readStream(text: string): Cursor {
  const space = text.indexOf(' ');
  return [text.slice(space + 1), Number(text.slice(0, space))];
}
