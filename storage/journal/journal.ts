import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../../directories.ts';
import { codeOf } from '../../protocol/thrown.ts';
import { livingOf, ownMark } from '../database/directorylock.ts';
import { StorageFault } from '../database/driver.ts';
import type { JournalFolder, JournalStore, JournalWriter } from './port.ts';

const COPIES = 'buddy';
const SEGMENT = /^(\d{1,12})\.journal$/;
const TAKEN = /^([a-z0-9]{1,64})\.(\d{1,10})\.taken$/;
/** File that identifies the process that writes a folder. */
const WRITER = 'writer';
const NAME = /^([a-z0-9][a-z0-9-]{0,62})\.([A-Za-z0-9-]{1,64})$/;

/** Folders that this process is writing; a mark of this process may also be of a writer that it has closed. */
const written = new Set<string>();

const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT';
const orWhenAbsent =
  <T>(value: T) =>
  (error: unknown): T => {
    if (isAbsent(error)) return value;
    throw error;
  };

/**
 * Stores journals as files `<directory>/<shard>.<instance>/<n>.journal`, and replicas of other shards' under `buddy/`. Batches
 * are written at once and not synced: they must outlive the process, not the machine.
 */
export async function openJournalStore(directory: string): Promise<JournalStore> {
  const root = resolve(directory);
  await makeDirectory(join(root, COPIES));
  const id = await nameOf(join(root, 'id'));
  const pathOf = ({ shardId, instance, copy }: Omit<JournalFolder, 'writtenMs'>): string =>
    join(root, ...(copy ? [COPIES] : []), `${shardId}.${instance}`);

  return {
    id,
    async open(shardId, instance, copy) {
      const path = pathOf({ shardId, instance, copy });
      if (!NAME.test(`${shardId}.${instance}`)) throw new StorageFault('Malformed shard id or instance.');
      // The folder is private: journals contain users' messages.
      await mkdir(path, 0o700).catch(async (cause) => {
        const isLeft = copy && codeOf(cause) === 'EEXIST' && !(await isWritten(path));
        if (!isLeft) throw new StorageFault(`The journal ${path} cannot be created.`, { cause });
      });
      await writeFile(join(path, WRITER), await ownMark());
      return new SegmentWriter(path, await sizesIn(path));
    },
    folders: async () => [...(await foldersIn(root, false)), ...(await foldersIn(join(root, COPIES), true))],
    isWritten: (folder) => isWritten(pathOf(folder)),
    segments: (folder) => segmentsOf(pathOf(folder)),
    read: (folder, segment) =>
      readFile(join(pathOf(folder), `${segment}.journal`)).catch(orWhenAbsent(Buffer.alloc(0))),
    async taken(folder) {
      const names = await readdir(pathOf(folder)).catch(orWhenAbsent<string[]>([]));
      return names.flatMap((name) => {
        const [, sessionId, handle] = TAKEN.exec(name) ?? [];
        return sessionId === undefined ? [] : [{ sessionId, handle: Number(handle) }];
      });
    },
    async take(folder, { sessionId, handle }) {
      const name = `${sessionId}.${handle}.taken`;
      if (!TAKEN.test(name)) return false;
      return writeFile(join(pathOf(folder), name), '', { flag: 'wx' }).then(
        () => true,
        (error) => {
          if (isAbsent(error) || error.code === 'EEXIST') return false;
          throw error;
        },
      );
    },
    remove: (folder) => rm(pathOf(folder), { recursive: true, force: true }),
  };
}

/** Reads the store's id; the first process to open the store creates it. */
async function nameOf(path: string): Promise<string> {
  await writeFile(path, randomBytes(16).toString('hex'), { flag: 'wx' }).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return readFile(path, 'utf8');
}

async function isWritten(path: string): Promise<boolean> {
  if (written.has(path)) return true;
  const pid = await livingOf(await readFile(join(path, WRITER), 'utf8').catch(orWhenAbsent('')));
  return pid !== null && pid !== process.pid;
}

async function sizesIn(path: string): Promise<Map<number, number>> {
  const sizes = new Map<number, number>();
  for (const number of await segmentsOf(path))
    sizes.set(number, (await stat(join(path, `${number}.journal`))).size);
  return sizes;
}

async function segmentsOf(path: string): Promise<number[]> {
  const names = await readdir(path).catch(orWhenAbsent<string[]>([]));
  return names.flatMap((name) => Number(SEGMENT.exec(name)?.[1] ?? Number.NaN) || []).sort((a, b) => a - b);
}

async function foldersIn(root: string, copy: boolean): Promise<JournalFolder[]> {
  const folders = (await readdir(root)).map(async (name): Promise<JournalFolder[]> => {
    const [, shardId, instance] = NAME.exec(name) ?? [];
    if (shardId === undefined || instance === undefined) return [];
    const newest = (await segmentsOf(join(root, name))).at(-1);
    const path = join(root, name, newest === undefined ? WRITER : `${newest}.journal`);
    const writtenMs = await stat(path).then(({ mtimeMs }) => mtimeMs, orWhenAbsent(0));
    return [{ shardId, instance, copy, writtenMs }];
  });
  return (await Promise.all(folders)).flat();
}

class SegmentWriter implements JournalWriter {
  readonly #path: string;
  /** Sizes of segments by number, ascending. */
  readonly #sizes: Map<number, number>;
  #number: number;
  #file: number | null = null;
  #bytes = 0;

  /** @param sizes Of the segments that are there already. */
  constructor(path: string, sizes: Map<number, number>) {
    this.#path = path;
    this.#sizes = sizes;
    this.#number = Math.max(0, ...sizes.keys());
    for (const bytes of sizes.values()) this.#bytes += bytes;
    written.add(path);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get segments(): number {
    return this.#sizes.size;
  }

  get segment() {
    return { number: this.#number, bytes: this.#sizes.get(this.#number) ?? 0 };
  }

  rotate(): void {
    this.#shut();
    this.#number += 1;
    this.#file = this.#guarded(() => openSync(this.#pathOf(this.#number), 'wx'));
    this.#sizes.set(this.#number, 0);
  }

  append(batch: Uint8Array): void {
    const file = this.#file;
    if (file === null) throw new StorageFault('The journal is not open.');
    for (let at = 0; at < batch.length; ) {
      const bytes = this.#guarded(() => writeSync(file, batch, at));
      at += bytes;
      this.#bytes += bytes;
      this.#sizes.set(this.#number, (this.#sizes.get(this.#number) ?? 0) + bytes);
    }
  }

  drop(): boolean {
    const [oldest] = this.#sizes.keys();
    if (oldest === undefined || oldest === this.#number) return false;
    this.#remove(oldest);
    return true;
  }

  clear(): void {
    this.#shut();
    for (const number of [...this.#sizes.keys()]) this.#remove(number);
  }

  close(): void {
    this.#shut();
    written.delete(this.#path);
  }

  #pathOf(number: number): string {
    return join(this.#path, `${number}.journal`);
  }

  #remove(number: number): void {
    // A segment that cannot be deleted now is deleted with the folder.
    this.#guarded(() => rmSync(this.#pathOf(number), { force: true }));
    this.#bytes -= this.#sizes.get(number) ?? 0;
    this.#sizes.delete(number);
  }

  #shut(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #guarded<T>(run: () => T): T {
    try {
      return run();
    } catch (cause) {
      throw new StorageFault(`The journal ${this.#path} cannot be written.`, { cause });
    }
  }
}
