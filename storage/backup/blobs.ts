import type { Blobs, ListedBlobs } from '../blob/blobs.ts';

interface CopiedBlobs {
  readonly count: number;
  readonly bytes: number;
}

/** Copies every blob. One that is deleted meanwhile is left out. */
export async function copyBlobs(from: ListedBlobs, to: Blobs): Promise<CopiedBlobs> {
  let count = 0;
  let bytes = 0;
  for await (const key of from.list()) {
    const head = await from.head(key);
    const chunks = head && (await from.read(key));
    if (!head || !chunks) continue;
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    const contents = Buffer.concat(parts);
    await to.put(key, contents, head.contentType);
    count += 1;
    bytes += contents.length;
  }
  return { count, bytes };
}
