import { constants } from 'node:fs';
import { cp, readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeDirectory } from '../../directories.ts';
import { livingOf } from './directorylock.ts';
import { StorageFault } from './driver.ts';

/** Folder beside a database for its copy. It is temporary: a backup deletes it, and the next copy replaces it. */
const FOLDER = 'database.copy';

/**
 * Copies the files of a database whose process does not write meanwhile. File systems that can share blocks do so.
 *
 * @returns the directory of the copy.
 * @throws StorageFault when a backup still reads the previous copy.
 */
export async function copyDatabase(directory: string): Promise<string> {
  const folder = join(dirname(resolve(directory)), FOLDER);
  const copy = join(folder, 'database');
  const reader = await livingOf(await readFile(`${copy}.lock`, 'utf8').catch(() => ''));
  if (reader !== null) throw new StorageFault(`Process ${reader} makes a backup of this database already.`);
  await rm(folder, { recursive: true, force: true });
  await makeDirectory(folder, 0o700);
  try {
    await cp(directory, copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return copy;
}

/** Deletes a copy that is no longer needed. */
export const deleteCopy = (copy: string): Promise<void> =>
  rm(dirname(resolve(copy)), { recursive: true, force: true });
