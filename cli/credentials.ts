import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeDirectory } from '../directories.ts';
import { codeOf } from '../protocol/thrown.ts';
import { damagedFile } from './failures.ts';
import type { World } from './world.ts';

/** A person who is signed in on this machine. */
export interface Credentials {
  /** Base URL of the API, which ends in `/api`. */
  readonly api: string;
  readonly token: string;
  readonly user_id: string;
  readonly username: string;
}

const FILE = 'credentials.json';

/** The folder of this user's settings. */
function folderOf({ env }: World): string {
  const base =
    env.XDG_CONFIG_HOME ||
    (process.platform === 'win32' ? env.APPDATA : undefined) ||
    join(env.HOME || homedir(), '.config');
  return join(base, 'guildhall');
}

const isCredentials = (value: unknown): value is Credentials =>
  typeof value === 'object' &&
  value !== null &&
  'api' in value &&
  typeof value.api === 'string' &&
  'token' in value &&
  typeof value.token === 'string';

/** The stored credentials; null when no account is signed in. */
export async function readCredentials(world: World): Promise<Credentials | null> {
  const path = join(folderOf(world), FILE);
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (!isCredentials(value)) throw damagedFile(path, null);
    return value;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error instanceof SyntaxError ? damagedFile(path, error) : error;
  }
}

/** Stores credentials in a file that only this user can read. @returns its path */
export async function writeCredentials(world: World, credentials: Credentials): Promise<string> {
  const folder = folderOf(world);
  await makeDirectory(folder);
  const path = join(folder, FILE);
  const text = `${JSON.stringify(credentials, null, 2)}\n`;
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

export const forgetCredentials = (world: World): Promise<void> =>
  rm(join(folderOf(world), FILE), { force: true });
