/**
 * Where attachments, avatars and icons are kept. Keys are made by the server: `[a-z0-9/_.-]`, never a client's text.
 * Asked for a key of any other form, a store says that there is no such blob; `put` throws.
 */
export interface Blobs {
  /** Replaces what stands under the key. A reader sees the old bytes or the new, never a part of them. */
  put(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  /** Size and type, or null when there is no such blob. */
  head(key: string): Promise<{ readonly size: number; readonly contentType: string } | null>;
  /**
   * Bytes `start` to `end` (exclusive), in chunks; null when there is no such blob. What lies beyond the blob's
   * end is left out, so a range may give no bytes at all. Whoever stops early must end the iteration (`return`).
   */
  read(key: string, range?: { start: number; end: number }): Promise<AsyncIterable<Uint8Array> | null>;
  /** Deleting what is not there is no error. */
  delete(key: string): Promise<void>;
}
