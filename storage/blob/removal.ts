import type { Blobs } from './blobs.ts';
import type { FilesListener } from './files.ts';

/** Files that may wait to be deleted. What comes on top stays behind as waste, and is counted. */
const WAITING_MAX = 100_000;

/** Deletes the files of messages that are gone, one after the other behind everything else. Nothing is retried. */
export function fileRemoval(
  blobs: Blobs,
  keyOf: (channelId: string, id: string, filename: string) => string,
  onFault: (error: unknown) => void,
): FilesListener {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return (files) => {
    if (waiting + files.length > WAITING_MAX) {
      onFault(new Error(`${files.length} files were not deleted: too many wait.`));
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
