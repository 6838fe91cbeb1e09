import type { Origin } from '../fanout/body.ts';
import type { Cursor } from './cursors.ts';

/**
 * The form in which sessions outlive their process: batches of entries, one batch for what happened in a tick.
 *
 * A batch is `header, lists, content`, each of whole words (32 bits, little-endian). The lists say, for each entry, what
 * it is, how much content it has, and which sessions it is for; a session's number of a dispatch is not written, as each
 * one that names it takes the next. Header and lists are under one checksum and the content under another: damage to
 * what was said leaves known to whom.
 */
export const ENTRY = {
  /** For its sessions, in this order. */
  dispatch: 1,
  /** All of a session, with its last number. Written when the session begins, and once in each segment. */
  session: 2,
  /** Part of what `session` says has changed. */
  changed: 3,
  following: 4,
  /** `lagging` of a stream: for no session in particular. */
  lagging: 5,
  left: 6,
  /** It is over, or another home has it. */
  ended: 7,
} as const;
type EntryKind = (typeof ENTRY)[keyof typeof ENTRY];

const MAGIC = 0x314a_4847;
const HEADER_WORDS = 8;
/** Beside the kind: the sessions are those of the entry before. */
const SAME = 0x100;
const ENTRY_WORDS = 3;
const FIRST_WORDS = 4096;
const FIRST_BYTES = 1 << 16;
const HIGH = 2 ** 32;

/** One entry as it was read. */
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
      /** Ascends by one from batch to batch of one run. */
      readonly number: number;
      /** Unix milliseconds. */
      readonly atMs: number;
      readonly entries: readonly JournalEntry[];
      readonly endWord: number;
    }
  /** The dispatch is damaged; its recipients are not. */
  | {
      readonly kind: 'damaged';
      readonly number: number;
      readonly entries: readonly JournalEntry[];
      readonly endWord: number;
    }
  /**
   * Nothing can be made of it; the next batch begins at `nextWord`. Null: there is no other. `torn`: it is the beginning
   * of a batch, for all that can be told, whose rest was never written.
   */
  | { readonly kind: 'lost'; readonly nextWord: number | null; readonly torn: boolean };

/** A dispatch as a batch holds it. */
export interface DispatchContent {
  readonly t: string;
  /** `d`, as JSON. */
  readonly json: string;
  readonly origin: Origin | null;
}

const round = (bytes: number): number => (bytes + 3) >>> 2;

/**
 * A checksum over words: two chains of steps, each of which can be undone, so that a change of any one word always
 * shows. Others go unseen once in 2^32 times. 2 GB/s.
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

/** Gathers the entries of one batch. Its buffers grow to what a batch has needed and are used again. */
export class BatchWriter {
  #words = new Int32Array(FIRST_WORDS);
  #size = HEADER_WORDS;
  #content = Buffer.alloc(FIRST_BYTES);
  #bytes = 0;
  /** Where the open entry stands, and the list that it may turn out to repeat. */
  #entry = 0;
  #list = 0;
  #listSize = -1;

  get isEmpty(): boolean {
    return this.#size === HEADER_WORDS;
  }

  /** About how much `finish` will answer. */
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

  /** One more session that the open entry is for. */
  add(handle: number): void {
    if (this.#size === this.#words.length) this.#grow(1);
    this.#words[this.#size] = handle;
    this.#size += 1;
  }

  /** A whole entry for one session. */
  note(kind: EntryKind, handle: number, text: string): void {
    this.#reserve(text.length * 3);
    const bytes = this.#content.write(text, this.#bytes);
    this.#bytes += bytes;
    this.#begin(kind, bytes);
    this.add(handle);
  }

  /** The batch, whose bytes are valid until the next entry; begins a new one. */
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

  /** Lets go of what an unusually large batch has taken. */
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

  /** A list that is the one before again is not written twice: a guild's messages go to the same sessions. */
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

/** Over the header, but for the sum itself, and the lists. */
function sumOfLists(words: Int32Array, at: number, listWords: number): number {
  const header = checksum(words, at, at + HEADER_WORDS - 1, MAGIC);
  return checksum(words, at + HEADER_WORDS, at + HEADER_WORDS + listWords, header);
}

/** Bytes as words; what does not fill the last word is torn off. */
export function wordsOf(bytes: Uint8Array): Int32Array {
  const whole = bytes.length & ~3;
  if ((bytes.byteOffset & 3) === 0) return new Int32Array(bytes.buffer, bytes.byteOffset, whole / 4);
  return new Int32Array(Uint8Array.from(bytes.subarray(0, whole)).buffer);
}

/** Reads the batch that begins at a word. Never throws, whatever the words are. */
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

/** Whether header and lists of a batch stand here, undamaged. */
function isBatch(words: Int32Array, at: number): boolean {
  if (words[at] !== MAGIC || at + HEADER_WORDS > words.length) return false;
  const listWords = words[at + 2] ?? 0;
  if (listWords < 0 || (words[at + 3] ?? 0) < 0 || at + HEADER_WORDS + listWords > words.length) return false;
  return sumOfLists(words, at, listWords) === words[at + 7];
}

/** Whether a batch begins here whose end is missing. */
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

/** Null: the lists do not say what lists say, though their checksum is right. */
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

/** The head of a dispatch's content, and where its JSON begins. */
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

/** How `following`, `lagging` and `left` name a stream. */
export const streamText = (ownerId: string, n = 0): string => `${n} ${ownerId}`;

export function readStream(text: string): Cursor {
  const space = text.indexOf(' ');
  return [text.slice(space + 1), Number(text.slice(0, space))];
}
