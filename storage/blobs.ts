/** Where attachments, avatars and icons are kept. Keys are made by the server: `[a-z0-9/_.-]`, never a client's text. */
export interface Blobs {
  put(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  /** Size and type, or null when there is no such blob. */
  head(key: string): Promise<{ readonly size: number; readonly contentType: string } | null>;
  /** Bytes `start` to `end` (exclusive), in chunks; null when there is no such blob. */
  read(key: string, range?: { start: number; end: number }): Promise<AsyncIterable<Uint8Array> | null>;
  delete(key: string): Promise<void>;
}
