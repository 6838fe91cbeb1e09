import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The mode of a directory that only its owner can read. */
export const PRIVATE_MODE = 0o700;

/**
 * Creates a directory and its missing parents. Node's own `recursive` option never returns on file systems that report
 * ENOENT for an existing parent, such as /proc and the mount points of an automounter.
 *
 * @throws the system's error for the first directory that cannot be created.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const absolute = resolve(path);
  const failure = await failureOf(absolute, mode);
  if (failure === null) return;
  const parent = dirname(absolute);
  if (failure.code !== 'ENOENT' || parent === absolute) throw failure;
  await makeDirectory(parent, mode);
  const again = await failureOf(absolute, mode);
  if (again !== null) throw again;
}

/** Creates one directory. @returns null if it exists afterwards, else the error. */
async function failureOf(path: string, mode: number): Promise<NodeJS.ErrnoException | null> {
  try {
    await mkdir(path, mode);
    return null;
  } catch (error) {
    const isDirectory = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return isDirectory ? null : (error as NodeJS.ErrnoException);
  }
}
