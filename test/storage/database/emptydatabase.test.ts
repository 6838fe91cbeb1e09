// Goal: a database starts from the prepared one where there is one that fits, and else from one made on the spot.
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyDatabase, prepareDatabase, preparedDatabase } from '../../../storage/database/emptydatabase.ts';
import { untar } from '../../../storage/database/tar.ts';

let root: string;
let folder: URL;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'guildhall-'));
  folder = pathToFileURL(`${root}/`);
  await prepareDatabase(folder);
}, 60_000);
afterAll(() => rm(root, { recursive: true, force: true }));

test('the prepared database opens, and holds nothing', async () => {
  const packed = await preparedDatabase(folder);
  const db = await PGlite.create({ loadDataDir: new Blob([packed as Uint8Array<ArrayBuffer>]) });
  const { rows } = await db.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  await db.close();
  expect(rows).toEqual([]);
});

test('it is what a directory is unpacked from', async () => {
  const names = untar(await emptyDatabase(folder)).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['PG_VERSION', 'global/pg_control', 'base/5/PG_VERSION']));
});

test('one of another version of PGlite is not used', async () => {
  const [name] = await readdir(root);
  await rename(join(root, name!), join(root, 'empty-database-0.0.1.tar.gz'));
  expect(await preparedDatabase(folder)).toBeNull();
  expect(untar(await emptyDatabase(folder)).map(({ name: each }) => each)).toContain('PG_VERSION');
});
