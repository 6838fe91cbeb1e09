import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PGlite } from '@electric-sql/pglite';
import { codeOf } from '../../protocol/thrown.ts';

/**
 * Creating a database takes seconds of CPU and hundreds of megabytes, unpacking one does not; so the build creates one
 * and packs it beside this module. It is used only by the version of PGlite that created it.
 */
const FOLDER = new URL('./', import.meta.url);

async function versionOfPglite(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const text = await readFile(join(dirname(entry), '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const placeOf = (folder: URL, version: string): URL =>
  new URL(`empty-database-${version.replace(/[^\w.-]/g, '_')}.tar.gz`, folder);

/** The packed database; null if there is none, as in a source tree that is not built. */
export async function preparedDatabase(folder = FOLDER): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return new Uint8Array(await readFile(placeOf(folder, await versionOfPglite())));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** A database before its first migration, as a tar archive. */
export async function emptyDatabase(folder = FOLDER): Promise<Uint8Array> {
  const packed = await preparedDatabase(folder);
  return packed ? promisify(gunzip)(packed) : makeDatabase();
}

async function makeDatabase(): Promise<Uint8Array> {
  const db = await PGlite.create();
  try {
    await db.exec('CHECKPOINT');
    return new Uint8Array(await (await db.dumpDataDir('none')).arrayBuffer());
  } finally {
    await db.close();
  }
}

/** Creates the packed database; the last step of a build. */
export async function prepareDatabase(folder = FOLDER): Promise<void> {
  const packed = await promisify(gzip)(await makeDatabase(), { level: 9 });
  await writeFile(placeOf(folder, await versionOfPglite()), packed);
}
