import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../directories.ts';
import type { World } from './world.ts';

const FILE = 'admin-token';
const TOKEN_BYTES = 24;
/** The format of the setting `admin_token`. */
const TOKEN = /^[\x21-\x7e]{16,}$/;

/** Path of the admin token in a data directory, used when none is set. */
export const adminTokenFile = (directory: string): string => join(directory, FILE);

export const newAdminToken = (world: Pick<World, 'randomBytes'>): string =>
  Buffer.from(world.randomBytes(TOKEN_BYTES)).toString('base64url');

/** The admin token stored in a data directory; null when it cannot be read. */
export async function readAdminToken(directory: string): Promise<string | null> {
  const text = await readFile(adminTokenFile(directory), 'utf8').catch(() => '');
  const token = text.trim();
  return TOKEN.test(token) ? token : null;
}

/** The admin token stored in a data directory; created at the first start, in a file that only this user can read. */
export async function keptAdminToken(world: World, directory: string): Promise<string> {
  const kept = await readAdminToken(directory);
  if (kept !== null) return kept;
  await makeDirectory(directory, 0o700);
  const made = newAdminToken(world);
  await writeFile(adminTokenFile(directory), `${made}\n`, { mode: 0o600 });
  return made;
}
