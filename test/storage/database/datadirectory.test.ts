// Goal: a data directory with missing parts is never initialised over its content.
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareDirectory } from '../../../storage/database/datadirectory.ts';
import { StorageFault } from '../../../storage/database/driver.ts';
import { openPglite } from '../../../storage/database/pglite.ts';

let root: string;
let directory: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
  directory = join(root, 'data', 'database');
  const driver = await openPglite(directory);
  await driver.script("CREATE TABLE said (text text); INSERT INTO said VALUES ('kept')");
  await driver.close();
}, 60_000);
afterAll(() => rm(root, { recursive: true, force: true }));

/** The rows of the database in `at`, or the fault with which it does not open. */
async function opened(at = directory): Promise<unknown> {
  const driver = await openPglite(at).catch((error) => error);
  if (driver instanceof Error) return driver;
  const rows = await driver.query('SELECT text FROM said').catch((error: Error) => error);
  await driver.close();
  return rows;
}

/** Runs with a part of the directory put aside, and puts it back. */
async function without<T>(name: string, run: () => Promise<T>): Promise<T> {
  const aside = join(root, 'aside');
  await rename(join(directory, name), aside);
  const outcome = await run();
  await rm(join(directory, name), { recursive: true, force: true });
  await rename(aside, join(directory, name));
  return outcome;
}

const KEPT = [{ text: 'kept' }];
/** Answered before PostgreSQL runs at all. */
const MISSING = [
  ...['PG_VERSION', 'base', 'global', 'global/pg_control', 'global/pg_filenode.map', 'pg_hba.conf'],
  ...['pg_multixact', 'pg_multixact/members', 'pg_multixact/offsets', 'pg_wal', 'pg_xact', 'postgresql.conf'],
];
/** Found out by PostgreSQL. */
const DAMAGED = [
  ...['base/5', 'base/5/PG_VERSION', 'base/5/pg_filenode.map', 'base/5/1259', 'global/1262', 'pg_xact/0000'],
  ...['pg_multixact/offsets/0000', 'pg_wal/000000010000000000000002'],
];
/** Made again: without them nothing is lost. */
const SPARE = [
  ...['pg_commit_ts', 'pg_dynshmem', 'pg_ident.conf', 'pg_logical', 'pg_notify'],
  ...['pg_replslot', 'pg_serial', 'pg_snapshots', 'pg_stat', 'pg_stat_tmp', 'pg_subtrans', 'pg_tblspc'],
  ...['pg_twophase', 'pg_wal/archive_status', 'pg_wal/summaries', 'postgresql.auto.conf'],
];

test('the cases below are of every file and folder at the top of a data directory', async () => {
  const names = [...MISSING, ...DAMAGED, ...SPARE].map((name) => name.split('/')[0]);
  expect(new Set(await readdir(directory))).toEqual(new Set(names));
});

test.each(MISSING)(
  'a data directory that lacks %s is rejected, unchanged, with instructions',
  async (name) => {
    const before = await without(name, async () => {
      const names = await readdir(directory, { recursive: true });
      const fault = await opened();
      expect(fault).toBeInstanceOf(StorageFault);
      expect(String(fault)).toContain(`is not whole: ${name}`);
      expect(String(fault)).toMatch(/Restore the whole directory from a backup: .+; or, to begin/);
      expect(await readdir(directory, { recursive: true })).toEqual(names);
      return names;
    });
    expect(before.length).toBeGreaterThan(20);
  },
);

test.each(DAMAGED)(
  'a database that lacks %s does not open, and the fault names the missing file with instructions',
  async (name) => {
    const fault = await without(name, () => opened());
    expect(fault).toBeInstanceOf(StorageFault);
    // A folder that held one file only is named itself.
    expect(String(fault)).toMatch(new RegExp(`: ${name}|: ${dirname(name)} is empty`));
    expect(String(fault)).toMatch(/Restore the whole directory from a backup: .+; or, to begin/);
  },
);

test('the restored files open with all rows', async () => expect(await opened()).toEqual(KEPT));

test.each(SPARE)('a database that lacks %s opens with all its rows', async (name) => {
  await rm(join(directory, name), { recursive: true });
  expect(await opened()).toEqual(KEPT);
});

test('an empty postmaster.pid left by a crash does not prevent a start', async () => {
  await writeFile(join(directory, 'postmaster.pid'), '');
  expect(await opened()).toEqual(KEPT);
});

test('an empty directory becomes a database, also where a mount has left its own folder', async () => {
  const mount = join(root, 'mount', 'database');
  await mkdir(join(mount, 'lost+found'), { recursive: true });
  await (await openPglite(mount)).close();
  expect(await readdir(mount)).toEqual(expect.arrayContaining(['PG_VERSION', 'base', 'lost+found']));
});

test('a directory of other things is refused by their names', async () => {
  const other = join(root, 'pictures');
  await mkdir(other);
  await writeFile(join(other, 'cat.png'), 'a cat');
  expect(String(await opened(other))).toContain('is not empty and holds no database, but cat.png');
  expect(await readdir(other)).toEqual(['cat.png']);
});

test.each(['PG_VERSION', 'base', 'global/pg_control'])(
  'a data directory that is itself a database, by its %s, gets none inside',
  async (name) => {
    const own = join(root, 'own');
    await mkdir(join(own, dirname(name)), { recursive: true });
    await writeFile(join(own, name), '');
    expect(String(await opened(join(own, 'database')))).toContain(
      `${own} is itself the directory of a database: ${name} is in it. Set data_dir to ${root}`,
    );
    expect(await readdir(own)).not.toContain('database');
    await rm(own, { recursive: true });
  },
);

test('a first start interrupted at any step is completed without loss', async () => {
  const names = (await readdir(directory)).filter((name) => name !== 'PG_VERSION');
  const never = () => Promise.reject(new Error('It is there already.'));
  for (const moved of [0, 1, Math.ceil(names.length / 2), names.length, names.length + 1]) {
    const half = join(root, `half${moved}`);
    for (const [at, name] of [...names, 'PG_VERSION'].entries()) {
      await mkdir(join(half, 'first-start'), { recursive: true });
      await writeFile(join(half, at < moved ? '.' : 'first-start', name), name);
    }
    await prepareDirectory(half, never);
    expect((await readdir(half)).sort()).toEqual([...names, 'PG_VERSION'].sort());
    expect(await readFile(join(half, 'PG_VERSION'), 'utf8')).toBe('PG_VERSION');
  }
});

test('a first start that was interrupted before all was there is discarded', async () => {
  const early = join(root, 'early');
  await mkdir(join(early, 'first-start.partial', 'base'), { recursive: true });
  expect(String(await opened(early))).toContain('relation "said" does not exist');
  expect(await readdir(early)).not.toContain('first-start.partial');
});
