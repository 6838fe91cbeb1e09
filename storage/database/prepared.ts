import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip, gzip, type ZlibOptions } from 'node:zlib';
import { codeOf } from '../../protocol/thrown.ts';
import type { Sql } from './driver.ts';

/*
 * Prepared databases. Creating a database takes seconds of CPU and hundreds of megabytes, unpacking one does not; so the
 * build creates each once and packs it beside this module. The name of a file contains the version of PGlite that created it
 * and the key of its content: a file that does not fit the program is not found.
 */

const FOLDER = fileURLToPath(new URL('./', import.meta.url));

/** The initial content of a new database. */
export interface Content {
  /** Differs whenever the content does; letters, digits and hyphens. */
  readonly key: string;
  readonly fill: (sql: Sql) => Promise<void>;
}

/** A database before its first migration. */
export const EMPTY: Content = { key: 'empty', fill: async () => {} };

async function versionOfPglite(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const text = await readFile(join(dirname(entry), '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const PREFIX = 'prepared-';

const nameOf = (version: string, { key }: Content): string =>
  `${PREFIX}${version.replace(/[^\w.-]/g, '_')}-${key}.tar.gz`;

/** The prepared database as a tar archive; null when none matches this version, for example in a source tree that is not built. */
export async function preparedDatabase(content: Content, folder = FOLDER): Promise<Uint8Array | null> {
  const name = nameOf(await versionOfPglite(), content);
  try {
    const packed = await readFile(join(folder, name));
    // The last four bytes contain the unpacked size (RFC 1952): with one chunk of that size nothing is copied.
    const chunkSize = packed.readUInt32LE(packed.length - 4) + 1;
    return await promisify<Buffer, ZlibOptions, Buffer>(gunzip)(packed, { chunkSize });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Creates a database with this content, which takes seconds. @returns a tar archive. */
export async function makeDatabase({ fill }: Content): Promise<Uint8Array> {
  const { PGlite } = await import('@electric-sql/pglite');
  const db = await PGlite.create({ startParams: [...PGlite.defaultStartParams, '-c', 'wal_recycle=off'] });
  try {
    await db.transaction((tx) =>
      fill({
        query: async <Row>(text: string, values: readonly unknown[] = []) =>
          (await tx.query<Row>(text, [...values])).rows,
        script: async (text) => void (await tx.exec(text)),
      }),
    );
    for (const statement of SHRINK) await db.exec(statement);
    return new Uint8Array(await (await db.dumpDataDir('none')).arrayBuffer());
  } finally {
    await db.close();
  }
}

/**
 * Drops the templates of further databases, which are never created here: two thirds of the files. Begins a new
 * segment of the write-ahead log and deletes the last one; the new one is empty, so it packs well.
 */
const SHRINK = [
  'UPDATE pg_database SET datistemplate = false',
  'DROP DATABASE template0',
  'DROP DATABASE template1',
  'SELECT pg_switch_wal()',
  'CHECKPOINT',
];

/** Packs the databases that do not exist yet, and deletes files that fit no longer. */
export async function prepareDatabases(contents: readonly Content[], folder = FOLDER): Promise<void> {
  const version = await versionOfPglite();
  const names = contents.map((content) => nameOf(version, content));
  const found = new Set((await readdir(folder)).filter((name) => name.startsWith(PREFIX)));
  for (const [at, content] of contents.entries()) {
    const path = join(folder, names[at] ?? '');
    if (found.has(names[at] ?? '')) continue;
    // Renamed when complete: another process may prepare the same database, or open it.
    const partial = `${path}.${process.pid}.partial`;
    await writeFile(partial, await promisify(gzip)(await makeDatabase(content), { level: 9 }));
    await rename(partial, path);
  }
  for (const name of found)
    if (name.endsWith('.tar.gz') && !names.includes(name)) await rm(join(folder, name), { force: true });
}
