import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { makeDirectory } from '../../directories.ts';
import { codeOf, messageOf } from '../../protocol/thrown.ts';
import { syncPath } from '../database/datadirectory.ts';
import { RestoreFault, type TableSink } from './tables.ts';

/**
 * A backup is a folder: `manifest.json`, a file of JSON lines for each table in `tables/`, and the files of messages and
 * pictures in `blobs/`, as in a data directory. It is complete when it has its name: until then the folder is called
 * `….partial`.
 */
const MANIFEST = 'manifest.json';
const FORMAT = 1;
/** Far more than any row has: a small file of one endless line must not fill the memory. */
const LINE_CHARACTERS_MAX = 64 * 1024 * 1024;
const TABLE_NAME = /^[a-z][a-z0-9_]{0,62}$/;

const Count = Type.Integer({ minimum: 0 });
const ManifestSchema = Type.Object({
  format: Type.Literal(FORMAT),
  made_at: Type.String(),
  version: Type.String(),
  schema: Count,
  tables: Type.Record(Type.String(), Type.Object({ rows: Count, digest: Type.String() })),
  /** Null when the files were left out. */
  blobs: Type.Union([Type.Object({ count: Count, bytes: Count }), Type.Null()]),
});
export type Manifest = Static<typeof ManifestSchema>;
const validManifest = Compile(ManifestSchema);

const tableFile = (folder: string, table: string): string => join(folder, 'tables', `${table}.ndjson.gz`);
/** The folder of the files of messages and pictures in a backup. */
export const blobsFolder = (folder: string): string => join(folder, 'blobs');

/** Writes the rows of each table to its file. */
export const tableFiles =
  (folder: string): TableSink =>
  async (table, pages) => {
    await makeDirectory(join(folder, 'tables'), 0o700);
    const file = createWriteStream(tableFile(folder, table), { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(pages, createGzip({ level: 6 }), file);
  };

/** The rows of a table of a backup. @throws RestoreFault when its file is missing or damaged. */
export async function* tableLines(folder: string, table: string): AsyncGenerator<string> {
  const path = tableFile(folder, table);
  const unzipped = createGunzip().setEncoding('utf8');
  const read = pipeline(createReadStream(path), unzipped);
  read.catch(() => undefined);
  try {
    // The parts of a line whose end is still to come: they are joined once.
    let begun: string[] = [];
    let characters = 0;
    for await (const chunk of unzipped) {
      const text = String(chunk);
      const end = text.lastIndexOf('\n');
      if (end !== -1) {
        yield* (begun.join('') + text.slice(0, end)).split('\n');
        begun = [];
        characters = 0;
      }
      begun.push(text.slice(end + 1));
      characters += text.length - end - 1;
      if (characters > LINE_CHARACTERS_MAX)
        throw new Error(`a line has more than ${LINE_CHARACTERS_MAX} characters`);
    }
    if (characters > 0) throw new Error('the last line is incomplete');
    await read;
  } catch (error) {
    throw new RestoreFault(`${path} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
}

/** Creates the folder in which a backup is made. @throws RestoreFault when the backup exists already. */
export async function beginBackup(folder: string): Promise<string> {
  const partial = `${resolve(folder)}.partial`;
  if (await exists(folder)) throw new RestoreFault(`${folder} exists already.`);
  await makeDirectory(dirname(partial));
  await rm(partial, { recursive: true, force: true });
  await makeDirectory(partial, 0o700);
  return partial;
}

const exists = (path: string): Promise<boolean> =>
  open(path, 'r').then(
    async (file) => {
      await file.close();
      return true;
    },
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );

/** Completes a backup: the manifest is written last, and the folder gets its name when everything is on disk. */
export async function endBackup(partial: string, folder: string, manifest: Manifest): Promise<void> {
  const file = await open(join(partial, MANIFEST), 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncPath(join(partial, 'tables'));
  await syncPath(partial);
  await rename(partial, resolve(folder));
  await syncPath(dirname(resolve(folder)));
}

/** Reads a backup's manifest. @throws RestoreFault when the folder is no complete backup of a known format. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new RestoreFault(`${folder} is no backup: ${path} cannot be read (${error.message}).`);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RestoreFault(`${path} is not JSON.`);
  }
  if (!validManifest.Check(value))
    throw new RestoreFault(`${path} is not the manifest of a backup in format ${FORMAT}.`);
  const strange = Object.keys(value.tables).find((name) => !TABLE_NAME.test(name));
  if (strange !== undefined) throw new RestoreFault(`${path} names a table ${basename(strange)}.`);
  return value;
}
