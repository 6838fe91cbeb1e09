// Goal: a data directory that has lost its database is refused, and one that never had any is not.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StorageFault } from '../../../storage/database/driver.ts';
import { openDriver } from '../../../storage/open.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Opens the database of a data directory; or the fault that it does not open with. */
async function opened(data: string): Promise<unknown> {
  const driver = await openDriver({ dataDirectory: data }).catch((error) => error);
  if (driver instanceof Error) return driver;
  await driver.close();
  return 'a database';
}

/** Files that a server leaves beside the database, each only after the database was made. */
const BESIDE = [
  ...['blobs/attachments/1/2/cat.png~bytes', 'demo.json', 'journal/id', 'outbox/1-000000.eml'],
  ...['tls/authority.key.pem', 'database.made'],
];

/** A data directory with such files and, as an operator may have left it, with or without an empty `database`. */
async function leftovers(names: readonly string[], isEmptied: boolean): Promise<string> {
  const data = await mkdtemp(join(root, 'left-'));
  for (const name of names) {
    await mkdir(join(data, dirname(name)), { recursive: true });
    await writeFile(join(data, name), '');
  }
  if (isEmptied) await mkdir(join(data, 'database', 'lost+found'), { recursive: true });
  return data;
}

test.each(BESIDE.flatMap((name) => [false, true].map((isEmptied) => [name, isEmptied] as const)))(
  'a data directory with %s but without its database is refused, unchanged (emptied: %s)',
  async (name, isEmptied) => {
    const data = await leftovers(['admin-token', name], isEmptied);
    const before = await readdir(data, { recursive: true });
    const fault = await opened(data);
    expect(fault).toBeInstanceOf(StorageFault);
    const database = join(data, 'database');
    const found =
      name === 'database.made' ? `The database in ${database} is gone` : 'There is no database in';
    expect(String(fault)).toContain(found);
    expect(String(fault)).toContain(name.split('/')[0]);
    expect(String(fault)).toContain('Restore');
    // Without the mark there may never have been an embedded database here: the setting comes first then.
    const [setting, restore] = ['database_url (or DATABASE_URL)', 'Restore'].map((text) =>
      String(fault).indexOf(text),
    );
    expect(setting).toBeGreaterThan(0);
    expect(restore! < setting!).toBe(name === 'database.made');
    expect(String(fault)).toContain('to begin with an empty database, move');
    expect(await readdir(data, { recursive: true })).toEqual(before);
  },
);

test('a data directory that held a database is marked for good, also one created before marks existed', async () => {
  const data = join(root, 'marked');
  for (const round of [1, 2]) {
    await (await openDriver({ dataDirectory: data })).close();
    expect(await readFile(join(data, 'database.made'), 'utf8'), `round ${round}`).toContain('Restore');
    if (round === 1) await rm(join(data, 'database.made'));
  }
  await rm(join(data, 'database'), { recursive: true });
  expect(String(await opened(data))).toContain('is gone');
});

test.each([
  ['nothing'],
  ['the admin token, which is written first', 'admin-token', 'database.lock'],
  ['a first start that a crash has ended', 'admin-token', 'database/first-start.partial/base/1'],
  ['folders that others may have put there', 'blobs/.gitkeep', 'tls/fullchain.pem', 'notes.txt'],
])('a data directory with %s gets an empty database', async (_, ...names) => {
  const data = await leftovers(names, false);
  expect(String(await opened(data))).toBe('a database');
  expect(await readdir(data)).toEqual(expect.arrayContaining(['database', 'database.made']));
});
