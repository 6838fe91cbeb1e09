import { join } from 'node:path';
import { openDiskBlobs } from './blobs.disk.ts';
import { openMemoryBlobs } from './blobs.memory.ts';
import { openS3Blobs } from './blobs.s3.ts';
import type { ListedBlobs } from './blobs.ts';

interface BlobSettings {
  /** The object store; null without one. */
  readonly s3: Parameters<typeof openS3Blobs>[0] | null;
  /** The data folder of the server; null when it keeps nothing on disk. */
  readonly folder: string | null;
}

/** Opens the store of files: the object store, else the data folder, else memory. */
export function openBlobs({ s3, folder }: BlobSettings): ListedBlobs {
  if (s3 !== null) return openS3Blobs(s3);
  return folder === null ? openMemoryBlobs() : openDiskBlobs(join(folder, 'blobs'));
}
