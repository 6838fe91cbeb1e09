/**
 * Stores attachments, avatars and icons. The server generates the keys: `[a-z0-9/_.-]`, never a client's text. For a
 * malformed key, reads report that there is no such blob; `put` throws.
 */
export interface Blobs {
  /** Stores a blob, replacing an earlier one. A reader gets the old bytes or the new ones, never a mixture. */
  put(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  /** Size and type, or null if there is no such blob. */
  head(key: string): Promise<{ readonly size: number; readonly contentType: string } | null>;
  /**
   * Bytes `start` to `end` (exclusive), in chunks; null if there is no such blob. A range beyond the blob's end is cut, so the
   * result may be empty. A consumer that stops early must end the iteration (`return`).
   */
  read(key: string, range?: { start: number; end: number }): Promise<AsyncIterable<Uint8Array> | null>;
  /** Deletes a blob, if it exists. */
  delete(key: string): Promise<void>;
}

/** A store that also lists what it has. */
export interface ListedBlobs extends Blobs {
  /** The keys of all blobs, in no particular order. */
  list(): AsyncIterable<string>;
}
