import { assertBlobKey, isBlobKey } from './blobkey.ts';
import type { ListedBlobs } from './blobs.ts';

/** Default bound; beyond it the oldest blobs are dropped, since nothing here outlives the process anyway. */
const BYTES_MAX = 256 << 20;

/** Stores blobs in bounded memory, for an engine without a data directory. */
export function openMemoryBlobs(bytesMax = BYTES_MAX): ListedBlobs {
  const blobs = new Map<string, { readonly bytes: Uint8Array; readonly contentType: string }>();
  let heldBytes = 0;

  function drop(key: string): void {
    heldBytes -= blobs.get(key)?.bytes.length ?? 0;
    blobs.delete(key);
  }

  return {
    async put(key, bytes, contentType) {
      assertBlobKey(key);
      drop(key);
      blobs.set(key, { bytes: Uint8Array.from(bytes), contentType });
      heldBytes += bytes.length;
      for (const oldest of blobs.keys()) {
        if (heldBytes <= bytesMax || oldest === key) break;
        drop(oldest);
      }
    },
    async head(key) {
      const blob = isBlobKey(key) ? blobs.get(key) : undefined;
      return blob ? { size: blob.bytes.length, contentType: blob.contentType } : null;
    },
    async read(key, range) {
      const blob = isBlobKey(key) ? blobs.get(key) : undefined;
      return blob ? chunksOf(blob.bytes.subarray(range?.start ?? 0, range?.end ?? blob.bytes.length)) : null;
    },
    async delete(key) {
      if (isBlobKey(key)) drop(key);
    },
    async *list() {
      yield* blobs.keys();
    },
  };
}

async function* chunksOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
