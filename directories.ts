import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory, and the ones above it that are missing. Node's own `recursive` never returns where a file system
 * answers ENOENT although the directory above exists, as /proc and the mount points of an automounter do.
 *
 * @throws what the system answers for the first directory that cannot be made.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const whole = resolve(path);
  const failure = await failureOf(whole, mode);
  if (failure === null) return;
  const parent = dirname(whole);
  if (failure.code !== 'ENOENT' || parent === whole) throw failure;
  await makeDirectory(parent, mode);
  const again = await failureOf(whole, mode);
  if (again !== null) throw again;
}

/** Null: the directory exists now. */
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
