// Goal: a backup made while commits go on restores every row and file, into either database, and a damaged one is refused.
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeBackup, restoreBackup } from '../../storage/backup/backup.ts';
import { openDiskBlobs } from '../../storage/blob/blobs.disk.ts';
import { openMemoryBlobs } from '../../storage/blob/blobs.memory.ts';
import { deleteCopy } from '../../storage/database/copying.ts';
import type { Driver } from '../../storage/database/driver.ts';
import { migrate } from '../../storage/migrate.ts';
import { MIGRATIONS } from '../../storage/migrations/index.ts';
import { openDriver } from '../../storage/open.ts';
import { databases } from './databases.ts';

const kinds = databases();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-backup-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function emptyDatabase(kind: (typeof kinds)[number]): Promise<Driver> {
  const database = await kind.create();
  closing.push(() => database.dispose());
  const driver = await openDriver(database.options);
  closing.push(() => driver.close());
  return driver;
}

const made = { version: '1.2.3', madeAt: new Date(0) };
const ROWS = 1234;
/** Text that a careless format would break. */
const HARD = 'two\nlines, "quotes", \\ and ünïcode 🎉';

async function fill(driver: Driver): Promise<void> {
  await migrate(driver);
  await driver.query(
    `INSERT INTO users (id, username_search, data)
     SELECT n, 'u', jsonb_build_object('id', n::text, 'username', 'u' || n, 'bio', $1::text)
     FROM generate_series(9007199254740993, 9007199254740992 + $2::bigint) n`,
    [HARD, ROWS],
  );
  await driver.query(
    "INSERT INTO reaction_counts (owner_id, message_id, key, emoji, count) SELECT 1, n, 'x', '{}', 3 FROM generate_series(1, 5) n",
  );
  await driver.query("INSERT INTO partition_epochs (partition, epoch, shard) VALUES (0, 7, 's')");
}

const usersOf = (driver: Driver) =>
  driver.query<{ id: string; data: { bio: string } }>('SELECT id, data FROM users ORDER BY id DESC');

describe.each(kinds)('a backup of $name', (kind) => {
  test.each(kinds)('restores every row and file into $name', async (target) => {
    const folder = join(await scratch(), 'backup');
    const source = await emptyDatabase(kind);
    await fill(source);
    const blobs = openMemoryBlobs();
    await blobs.put('attachments/1/2/a.txt', Buffer.from('hello'), 'text/plain');
    await makeBackup(folder, { driver: source, blobs }, made);

    const restored = await emptyDatabase(target);
    const files = openMemoryBlobs();
    await restoreBackup(folder, { driver: restored, blobs: files });
    const rows = await usersOf(restored);
    expect(rows).toEqual(await usersOf(source));
    expect([rows.length, rows[0]!.data.bio]).toEqual([ROWS, HARD]);
    expect(await files.head('attachments/1/2/a.txt')).toEqual({ size: 5, contentType: 'text/plain' });
    // Epochs continue above those in use, and generated numbers above those restored.
    expect(await restored.query('SELECT epoch FROM partition_epochs')).toEqual([{ epoch: '10007' }]);
    const [next] = await restored.query<{ seq: string }>(
      "INSERT INTO reaction_counts (owner_id, message_id, key, emoji, count) VALUES (1, 9, 'x', '{}', 1) RETURNING seq",
    );
    expect(next).toEqual({ seq: '6' });
  });

  test('shows the database at one moment while rows are added', async () => {
    const folder = join(await scratch(), 'backup');
    const source = await emptyDatabase(kind);
    await fill(source);
    const adding = Array.from({ length: 50 }, (_, n) =>
      source.query("INSERT INTO users (id, username_search, data) VALUES ($1, 'u', '{}')", [n + 1]),
    );
    const { tables } = await makeBackup(folder, { driver: source, blobs: null }, made);
    await Promise.all(adding);
    const restored = await emptyDatabase(kinds[0]!);
    await restoreBackup(folder, { driver: restored, blobs: null });
    expect(await usersOf(restored)).toHaveLength(tables.users!.rows);
  });
});

describe('a backup', () => {
  /** A backup, and an empty database into which every damaged copy of it is restored: a failure must leave it empty. */
  let whole: string;
  let target: Driver;
  beforeAll(async () => {
    whole = join(await mkdtemp(join(tmpdir(), 'guildhall-backup-')), 'backup');
    const source = await openDriver();
    await fill(source);
    const blobs = openMemoryBlobs();
    await blobs.put('icons/1/a', Buffer.from('icon'), 'image/png');
    await makeBackup(whole, { driver: source, blobs }, made);
    await source.close();
    target = await openDriver();
  }, 60_000);
  afterAll(async () => {
    await target.close();
    await rm(dirname(whole), { recursive: true });
  });

  /** A copy of the backup, which a test may damage. */
  async function copied(): Promise<string> {
    const folder = join(await scratch(), 'backup');
    await cp(whole, folder, { recursive: true });
    return folder;
  }

  /** The error of a restore, and how many users there are afterwards. */
  async function failing(folder: string): Promise<[string, number]> {
    const blobs = openMemoryBlobs();
    const error = await restoreBackup(folder, { driver: target, blobs }).catch((thrown: Error) => thrown);
    const users = await usersOf(target).catch(() => []);
    return [error instanceof Error ? error.message : 'restored', users.length];
  }

  test('is refused when it was interrupted', async () => {
    const folder = await copied();
    await rm(join(folder, 'manifest.json'));
    expect(await failing(folder)).toEqual([expect.stringContaining('is no backup'), 0]);
  });

  test('is refused when a newer program made it', async () => {
    const folder = await copied();
    const path = join(folder, 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...manifest, schema: 9999 }));
    expect(await failing(folder)).toEqual([expect.stringContaining('with a newer program'), 0]);
  });

  test('is refused with a missing file, and leaves the database empty', async () => {
    const folder = await copied();
    await rm(join(folder, 'blobs'), { recursive: true });
    expect(await failing(folder)).toEqual([expect.stringContaining('The backup has 0 files'), 0]);
  });

  test('is refused with a changed row, and leaves the database empty', async () => {
    const folder = await copied();
    const path = join(folder, 'tables', 'users.ndjson.gz');
    const text = gunzipSync(await readFile(path)).toString();
    const changed = text.replace('"u9007199254740999"', '"somebody"');
    expect(changed).not.toBe(text);
    await writeFile(path, gzipSync(changed));
    expect(await failing(folder)).toEqual([expect.stringContaining('The table users has 1234 rows'), 0]);
  });

  test('is refused with a truncated file, and leaves the database empty', async () => {
    const folder = await copied();
    const path = join(folder, 'tables', 'users.ndjson.gz');
    await writeFile(path, (await readFile(path)).subarray(0, 500));
    expect(await failing(folder)).toEqual([expect.stringContaining('cannot be read'), 0]);
  });

  test('is restored after failed restores, and does not overwrite a database with rows', async () => {
    expect(await failing(whole)).toEqual(['restored', ROWS]);
    expect(await failing(whole)).toEqual([expect.stringContaining('not empty:'), ROWS]);
  });

  test('does not overwrite a folder, and leaves nothing behind when it fails', async () => {
    await expect(makeBackup(whole, { driver: target, blobs: null }, made)).rejects.toThrow('exists already');
    const parent = await scratch();
    const source = await emptyDatabase(kinds[0]!);
    const backup = makeBackup(join(parent, 'backup'), { driver: source, blobs: null }, made);
    await expect(backup).rejects.toThrow('schema_migrations');
    expect(await readdir(parent)).toEqual([]);
  });

  test('is upgraded when it is restored from an older schema', async () => {
    const folder = join(await scratch(), 'backup');
    const source = await emptyDatabase(kinds[0]!);
    await migrate(
      source,
      MIGRATIONS.filter(({ version }) => version <= 30),
    );
    await source.query("INSERT INTO users (id, username_search, data) VALUES (1, 'u', '{}')");
    await makeBackup(folder, { driver: source, blobs: null }, made);
    const restored = await emptyDatabase(kinds[0]!);
    await restoreBackup(folder, { driver: restored, blobs: null });
    const [{ version } = { version: 0 }] = await restored.query<{ version: number }>(
      'SELECT max(version) AS version FROM schema_migrations',
    );
    expect([version, (await usersOf(restored)).length]).toEqual([MIGRATIONS.at(-1)!.version, 1]);
  });
});

describe('the copy of an embedded database', () => {
  test('has the commits before it and none after, and the database goes on', async () => {
    const directory = join(await scratch(), 'data', 'database');
    const driver = await openDriver({ directory });
    closing.push(() => driver.close());
    await fill(driver);
    const copying = driver.copy();
    const later = driver.query("INSERT INTO users (id, username_search, data) VALUES (5, 'u', '{}')");
    const copy = await copying;
    await later;
    const copied = await openDriver({ directory: copy! });
    closing.push(() => copied.close());
    expect([(await usersOf(copied)).length, (await usersOf(driver)).length]).toEqual([ROWS, ROWS + 1]);
    await copied.close();
    await deleteCopy(copy!);
    expect((await readdir(join(directory, '..'))).filter((name) => name.includes('copy'))).toEqual([]);
  });

  test('is null for a database in memory', async () => {
    const driver = await emptyDatabase(kinds[0]!);
    expect(await driver.copy()).toBeNull();
  });
});

describe('the list of stored files', () => {
  test('names the blobs on disk and nothing else', async () => {
    const folder = await scratch();
    const blobs = openDiskBlobs(folder);
    await blobs.put('attachments/1/a.png', Buffer.from('a'), 'image/png');
    await blobs.put('icons/2', Buffer.from('b'), 'image/png');
    await writeFile(join(folder, 'README~bytes~0123'), '');
    const keys: string[] = [];
    for await (const key of blobs.list()) keys.push(key);
    expect(keys.toSorted()).toEqual(['attachments/1/a.png', 'icons/2']);
  });
});
