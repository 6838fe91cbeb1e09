import type { Blobs } from './blobs.ts';
import type { FilesListener } from './files.ts';

/** Most files waiting to be deleted. Further files are never deleted, and counted as a fault. */
const WAITING_MAX = 100_000;

/** Deletes files of deleted messages one after another. Failures are reported and not retried. */
export function fileRemoval(
  blobs: Blobs,
  keyOf: (channelId: string, id: string, filename: string) => string,
  onFault: (error: unknown) => void,
): FilesListener {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return (files) => {
    if (waiting + files.length > WAITING_MAX) {
      onFault(new Error(`${files.length} files were not deleted: the deletion queue is full.`));
      return last;
    }
    waiting += files.length;
    last = last.then(async () => {
      for (const { channelId, id, filename } of files) {
        await blobs.delete(keyOf(channelId, id, filename)).catch(onFault);
        waiting -= 1;
      }
    });
    return last;
  };
}
