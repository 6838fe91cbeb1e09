// Goal: a first start unpacks the database that the build prepared where one fits the program, and creates one where none does.
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FilledMemoryFs } from '../../../storage/database/memoryfs.ts';
import { openPglite } from '../../../storage/database/pglite.ts';
import {
  type Content,
  EMPTY,
  prepareDatabases,
  preparedDatabase,
} from '../../../storage/database/prepared.ts';
import { untar } from '../../../storage/database/tar.ts';
import { migrate, schemaKey } from '../../../storage/migrate.ts';
import { MIGRATIONS } from '../../../storage/migrations/index.ts';
import { openMigrated } from '../../../storage/open.ts';
import { DATABASES } from '../../../storage/prepare.ts';

const ONE_TABLE: Content = { key: 'one-table', fill: (sql) => sql.script('CREATE TABLE kept (n integer)') };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-'));
  await prepareDatabases([ONE_TABLE], folder);
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a prepared database', { timeout: 120_000 }, () => {
  test('opens with its content and nothing else', async () => {
    const archive = await preparedDatabase(ONE_TABLE, folder);
    const db = await PGlite.create({ fs: new FilledMemoryFs(archive!) });
    const { rows } = await db.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    await db.close();
    expect(rows).toEqual([{ tablename: 'kept' }]);
  });

  test('contains one database, without the templates of others', async () => {
    const names = untar((await preparedDatabase(ONE_TABLE, folder))!).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['PG_VERSION', 'global/pg_control', 'base/5/PG_VERSION']));
    expect(names.filter((name) => /^base\/\d+$/.test(name))).toEqual(['base/5']);
  });

  test('is not found by another content or by another version of PGlite', async () => {
    expect(await preparedDatabase(EMPTY, folder)).toBeNull();
    const [name = ''] = await readdir(folder);
    const other = await mkdtemp(join(tmpdir(), 'guildhall-'));
    await writeFile(join(other, name.replace(/\d+\.\d+\.\d+/, '0.0.1')), gzipSync('another'));
    expect(await preparedDatabase(ONE_TABLE, other)).toBeNull();
    await rm(other, { recursive: true });
  });

  test('is created once, and replaced when its content changes', async () => {
    const [name = ''] = await readdir(folder);
    const older = join(folder, name.replace('one-table', 'no-table'));
    await rename(join(folder, name), older);
    await writeFile(join(folder, name), 'already there');
    await prepareDatabases([ONE_TABLE], folder);
    expect(await readdir(folder)).toEqual([name]);
    await rm(join(folder, name));
    await prepareDatabases([ONE_TABLE], folder);
    expect(await preparedDatabase(ONE_TABLE, folder)).not.toBeNull();
  });
});

// Some of these create a database, which takes seconds.
describe('a first opening', { timeout: 120_000 }, () => {
  test('has the schema of this program without running a migration', async () => {
    const driver = await openPglite(undefined, { contents: DATABASES });
    const rows = await driver.query('SELECT version FROM schema_migrations ORDER BY version');
    await driver.close();
    expect(rows).toEqual(MIGRATIONS.map(({ version }) => ({ version })));
  });

  test('reports why a database is created when none is prepared', async () => {
    const reasons: string[] = [];
    const unprepared: Content = { ...ONE_TABLE, key: 'unprepared' };
    const onUnprepared = (reason: string) => void reasons.push(reason);
    const driver = await openPglite(undefined, { contents: [unprepared], onUnprepared });
    await driver.query('SELECT n FROM kept');
    await driver.close();
    expect(reasons).toEqual([expect.stringContaining('No prepared database fits this program (unprepared)')]);
  });

  test('leads to the same schema prepared and migrated', async () => {
    const [prepared, migrated] = [await openMigrated(), await openPglite()];
    await migrate(migrated);
    const schemas = [];
    for (const driver of [prepared, migrated]) {
      schemas.push(await driver.query(COLUMNS), await driver.query(INDEXES));
      await driver.close();
    }
    expect(schemas.slice(0, 2)).toEqual(schemas.slice(2));
  });
});

const COLUMNS = `
SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`;
const INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexdef";

test('the key of a schema differs when a migration is edited, added or removed', () => {
  const edited = MIGRATIONS.map((each, at) => (at === 3 ? { ...each, sql: `${each.sql} ` } : each));
  const added = [...MIGRATIONS, { version: 9999, name: 'later', sql: 'SELECT 1' }];
  const keys = [MIGRATIONS, edited, added, MIGRATIONS.slice(0, -1)].map((list) => schemaKey(list));
  expect(new Set(keys).size).toBe(4);
});
