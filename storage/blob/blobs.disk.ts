import { randomBytes } from 'node:crypto';
import { type FileHandle, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { makeDirectory } from '../../directories.ts';
import { assertBlobKey, isBlobKey } from './blobkey.ts';
import type { Blobs, ListedBlobs } from './blobs.ts';

const CHUNK_BYTES = 64 * 1024;

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, and does not need to.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Writes a file atomically: after a crash it exists completely or not at all. */
async function replace(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}~${randomBytes(8).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function* chunks(path: string, start: number, end: number): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    for (let at = start; at < end; ) {
      handle ??= await open(path, 'r');
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle?.close();
  }
}

const BYTES = '~bytes';

/** Keys of the blobs below a folder; none when there is no such folder. */
async function* keysUnder(root: string): AsyncGenerator<string> {
  const entries = await opendir(root, { recursive: true }).catch(absent);
  if (entries === null) return;
  for await (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(BYTES)) continue;
    const path = relative(root, join(entry.parentPath, entry.name));
    const key = path.slice(0, -BYTES.length).split(sep).join('/');
    if (isBlobKey(key)) yield key;
  }
}

/**
 * Stores blobs as files under `directory`. File names contain a `~`, which no key has, so that the blob `a`, the blobs under
 * `a/` and the files with content types do not collide.
 */
export function openDiskBlobs(directory: string): ListedBlobs {
  const root = resolve(directory);
  const bytesPath = (key: string) => join(root, `${key}${BYTES}`);
  const typePath = (key: string) => join(root, `${key}~type`);
  const head: Blobs['head'] = async (key) => {
    if (!isBlobKey(key)) return null;
    const found = await stat(bytesPath(key)).catch(absent);
    const contentType = found && (await readFile(typePath(key), 'utf8').catch(absent));
    return found && contentType !== null ? { size: found.size, contentType } : null;
  };
  return {
    head,
    list: () => keysUnder(root),
    put: async (key, bytes, contentType) => {
      assertBlobKey(key);
      const parent = dirname(bytesPath(key));
      await makeDirectory(parent);
      // The type is written first, so that the bytes never exist without a type.
      await replace(typePath(key), Buffer.from(contentType));
      await replace(bytesPath(key), bytes);
      await syncDirectory(parent);
    },
    read: async (key, range) => {
      const found = await head(key);
      if (!found) return null;
      return chunks(bytesPath(key), range?.start ?? 0, Math.min(range?.end ?? found.size, found.size));
    },
    delete: async (key) => {
      if (!isBlobKey(key)) return;
      await rm(bytesPath(key), { force: true });
      await rm(typePath(key), { force: true });
    },
  };
}
