// Goal: of an embedded database that does not open the damaged file is named, and of a whole one none.
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { damageIn } from '../../../storage/database/damage.ts';
import type { Driver } from '../../../storage/database/driver.ts';
import { openPglite } from '../../../storage/database/pglite.ts';

let root: string;
let whole: string;
let driver: Driver;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
  const live = join(root, 'live', 'database');
  driver = await openPglite(live);
  await driver.script(
    'CREATE TABLE said AS SELECT n, repeat(md5(n::text), 20) AS text FROM generate_series(1, 20000) n',
  );
  whole = join(root, 'whole', 'database');
  // As a crash leaves it: it was not closed.
  await cp(live, whole, { recursive: true });
}, 60_000);
afterAll(async () => {
  await driver.close();
  await rm(root, { recursive: true, force: true });
});

const zero = async (path: string) => writeFile(path, Buffer.alloc((await readFile(path)).length));
const flip = (at: number) => async (path: string) => {
  const bytes = await readFile(path);
  bytes[at]! ^= 1;
  await writeFile(path, bytes);
};
const cutTo = (bytes: number) => (path: string) => truncate(path, bytes);
const write = (text: string) => (path: string) => writeFile(path, text);

const LOG = 'pg_wal/000000010000000000000002';
const CASES: readonly (readonly [string, string, (path: string) => Promise<void>, string])[] = [
  ['PG_VERSION', 'emptied', cutTo(0), 'PG_VERSION is empty'],
  ['PG_VERSION', 'overwritten', write('junk'), 'PG_VERSION contains no version number'],
  ['PG_VERSION', 'of another version', write('12\n'), 'PG_VERSION says 12 and base/5/PG_VERSION says 18'],
  ['global/pg_control', 'cut off', cutTo(100), 'global/pg_control has 100 bytes of 8192'],
  ['global/pg_control', 'filled with zeros', zero, 'global/pg_control has a wrong checksum'],
  ['global/pg_control', 'changed in one bit', flip(60), 'global/pg_control has a wrong checksum'],
  ['global/pg_filenode.map', 'emptied', cutTo(0), 'global/pg_filenode.map is empty of 524'],
  ['global/pg_filenode.map', 'changed in one bit', flip(12), 'global/pg_filenode.map has a wrong checksum'],
  ['base/5/pg_filenode.map', 'filled with zeros', zero, 'base/5/pg_filenode.map is not a valid map of files'],
  ['base/5/1259', 'cut off', cutTo(5000), 'base/5/1259 has 5000 bytes'],
  [
    'base/5/1249',
    'overwritten',
    (path) => writeFile(path, Buffer.alloc(8192, 7)),
    'base/5/1249 has no page at 0',
  ],
  [LOG, 'cut off', cutTo(5000), `${LOG} has 5000 bytes of 16777216`],
  [LOG, 'filled with zeros', zero, `${LOG} has no valid header of a log segment`],
  [LOG, 'of another database', flip(24), `${LOG} belongs to another database`],
  ['pg_xact/0000', 'emptied', cutTo(0), 'pg_xact/0000 is empty'],
  ['postgresql.conf', 'overwritten', write('\0\0'), 'postgresql.conf is not a text file'],
  ['pg_hba.conf', 'emptied', cutTo(0), 'pg_hba.conf is empty'],
];

async function damaged(name: string, damage: (path: string) => Promise<void>): Promise<string> {
  const directory = join(root, 'damaged', 'database');
  await rm(directory, { recursive: true, force: true });
  await cp(whole, directory, { recursive: true });
  await damage(join(directory, name));
  return directory;
}

test('nothing is found in a database that a crash has left', async () => {
  expect(await damageIn(whole)).toEqual([]);
});

test.each(CASES)('%s that was %s is named', async (name, _, damage, finding) => {
  expect(await damageIn(await damaged(name, damage))).toEqual([finding]);
});

test.each([CASES[5]!, CASES[11]!])(
  'the fault of a start names %s that was %s',
  async (name, _, damage, finding) => {
    const directory = await damaged(name, damage);
    const fault = await openPglite(directory).then(
      () => null,
      (error: Error) => error,
    );
    expect(fault?.message).toContain(
      `The database in ${directory} is damaged and does not open: ${finding}.`,
    );
    expect(fault?.message).toContain('Restore the whole directory from a backup: move');
  },
);
