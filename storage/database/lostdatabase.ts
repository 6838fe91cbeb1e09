import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasContents, syncPath } from './datadirectory.ts';
import { StorageFault } from './driver.ts';

/** Path of the embedded database in a data directory. */
export const databaseOf = (dataDirectory: string): string => join(dataDirectory, 'database');

/** File written once the first database of a data directory is complete, and never removed. */
const MADE = 'database.made';
const MADE_TEXT =
  'This server keeps its database in the folder "database" beside this file. Without that folder it does not start.\n' +
  'Restore the folder from a backup; or, to begin with an empty database, remove everything here.\n';

/**
 * Files that a server writes only after its database was opened, to recognize data directories from before the mark
 * existed. The admin token is not one: `guildhall start` writes it first. Folders count if they contain `file`.
 */
const LATER: readonly { readonly name: string; readonly file?: string }[] = [
  { name: MADE },
  { name: 'blobs' },
  { name: 'demo.json' },
  { name: 'journal', file: 'id' },
  { name: 'outbox' },
  { name: 'tls', file: 'authority.key.pem' },
];

/**
 * Refuses to create an empty database where a server already had one: the folder was lost, its disk is not mounted, or the
 * setting for a PostgreSQL database is missing.
 *
 * @throws StorageFault
 */
export async function refuseLostDatabase(dataDirectory: string): Promise<void> {
  const database = databaseOf(dataDirectory);
  if (await hasContents(database)) return;
  const left: string[] = [];
  for (const { name, file = '' } of LATER)
    if (await isWritten(join(dataDirectory, name, file))) left.push(name);
  if (left.length === 0) return;
  const isMarked = left.includes(MADE);
  const found = isMarked ? `The database in ${database} is gone` : `There is no database in ${database}`;
  // Without the mark, the files may belong to a server that always used PostgreSQL.
  const setting = isMarked
    ? ''
    : 'If that server used PostgreSQL, set database_url (or DATABASE_URL), which is not set now. Else: ';
  const moved = isMarked ? '; if the server uses PostgreSQL since, set database_url (or DATABASE_URL)' : '';
  throw new StorageFault(
    `${found}, but ${left.join(', ')} of a server that had one remain in ${dataDirectory}. Nothing was changed. ` +
      `${setting}Restore ${database} from a backup${moved}; or, to begin with an empty database, move everything in ` +
      `${dataDirectory} away and start again.`,
  );
}

/** Whether the file exists, or the folder with content. */
async function isWritten(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && (found.isFile() || (await hasContents(path)));
}

/** Records that the data directory has a database from now on. */
export async function markDatabaseMade(dataDirectory: string): Promise<void> {
  if ((await readdir(dataDirectory)).includes(MADE)) return;
  const file = await open(join(dataDirectory, MADE), 'w', 0o600);
  try {
    await file.writeFile(MADE_TEXT);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncPath(dataDirectory);
}
