/**
 * Checks the outline of op 28 before it is decoded. The codec spends microseconds on every element of a list, and a small
 * message can hold a hundred thousand empty elements. Here each element must have its size in this ciphersuite, so a message
 * of the permitted size has few elements. Costs O(elements), and copies nothing.
 *
 * @source RFC 9420 §6 to §12, with the sizes of ciphersuite 2
 */
const REF_BYTES = 32;
const POINT_BYTES = 65;
/** A path secret of 32 bytes and its tag. */
const PATH_SECRET_BYTES = 48;
/** Leaf vectors other than keys: capabilities, hashes, signatures. */
const SHORT_BYTES_MAX = 128;
const REFERENCE = 2;

/** Reads forward. After the first invalid input, every further read fails too. */
class Cursor {
  at: number;
  end: number;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number, end: number) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isAtEnd(): boolean {
    return this.at === this.end;
  }

  u8(): number {
    return this.at < this.end ? (this.bytes[this.at++] ?? 0) : this.fail();
  }

  /** Skips a vector. @returns a cursor on its content, which never extends past the end of the input. */
  vector(): Cursor {
    const first = this.u8();
    const more = [0, 1, 3][first >> 6];
    if (more === undefined) return this.missing();
    let size = first & 0x3f;
    for (let index = 0; index < more; index++) size = size * 256 + this.u8();
    const start = this.at;
    this.skip(size);
    return this.at > this.end ? this.missing() : new Cursor(this.bytes, start, this.at);
  }

  size(): number {
    const inner = this.vector();
    return inner.end - inner.at;
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.end) this.fail();
  }

  private fail(): number {
    this.at = this.end + 1;
    return 0;
  }

  /** A cursor on missing content: it has no elements, and is never at its end. */
  private missing(): Cursor {
    this.fail();
    return new Cursor(this.bytes, this.at, this.end);
  }
}

const each = (list: Cursor, check: (item: Cursor) => boolean): boolean => {
  while (list.at < list.end) if (!check(list)) return false;
  return list.isAtEnd;
};

const isReference = (list: Cursor): boolean => list.u8() === REFERENCE && list.size() === REF_BYTES;

const isCiphertext = (list: Cursor): boolean =>
  list.size() === POINT_BYTES && list.size() === PATH_SECRET_BYTES;

const isPathNode = (list: Cursor): boolean =>
  list.size() === POINT_BYTES && each(list.vector(), isCiphertext);

const isSecret = (list: Cursor): boolean => {
  const isNamed = list.size() === REF_BYTES && list.size() === POINT_BYTES;
  return isNamed && list.size() <= SHORT_BYTES_MAX * 2;
};

function isLeaf(cursor: Cursor): boolean {
  if (cursor.size() !== POINT_BYTES || cursor.size() !== POINT_BYTES) return false;
  cursor.skip(2);
  // Identity and five lists of capabilities; after the source: parent hash, extensions, signature.
  for (let index = 0; index < 6; index++) if (cursor.size() > SHORT_BYTES_MAX) return false;
  cursor.skip(1);
  for (let index = 0; index < 3; index++) if (cursor.size() > SHORT_BYTES_MAX) return false;
  return true;
}

/** Whether these bytes, from the authenticated data on, have the outline of a commit, optionally followed by a Welcome. */
export function hasCommitOutline(bytes: Uint8Array, from: number): boolean {
  const cursor = new Cursor(bytes, from, bytes.length);
  // authenticated_data<V>, content type 3 (commit), proposals<V>, optional path
  if (cursor.size() > SHORT_BYTES_MAX || cursor.u8() !== 3) return false;
  if (!each(cursor.vector(), isReference)) return false;
  if (cursor.u8() === 1 && !(isLeaf(cursor) && each(cursor.vector(), isPathNode))) return false;
  // signature, confirmation tag, membership tag
  for (let index = 0; index < 3; index++) if (cursor.size() > SHORT_BYTES_MAX) return false;
  if (cursor.isAtEnd) return true;
  cursor.skip(2);
  if (!each(cursor.vector(), isSecret)) return false;
  cursor.vector();
  return cursor.isAtEnd;
}
