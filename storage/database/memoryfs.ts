import { MemoryFS, PGlite } from '@electric-sql/pglite';
import { untar } from './tar.ts';

/** The parts of Emscripten's file system that this module uses. */
interface Files {
  mkdirTree(path: string, mode: number): void;
  /** With `canOwn`, the file keeps the array instead of a copy. */
  writeFile(
    path: string,
    data: Uint8Array,
    options: { readonly canOwn: boolean; readonly mode: number },
  ): void;
}

/**
 * PGlite's file system in memory, which contains the files of a tar archive from the beginning. PGlite's own option
 * `loadDataDir` copies the archive three times.
 */
export class FilledMemoryFs extends MemoryFS {
  #archive: Uint8Array | null;

  constructor(archive: Uint8Array) {
    super();
    this.#archive = archive;
  }

  override async initialSyncFs(): Promise<void> {
    const files: Files | undefined = this.pg?.Module.FS;
    if (files === undefined || this.#archive === null) return;
    for (const { name, isFolder, data } of untar(this.#archive)) {
      const path = `${PGlite.paths.PGDATA}/${name}`;
      if (isFolder) files.mkdirTree(path, 0o700);
      else files.writeFile(path, withoutZeros(data), { canOwn: true, mode: 0o600 });
    }
    this.#archive = null;
  }
}

const WORD_BYTES = 8;

/** A copy that occupies no memory for the zeros at its end: of a new segment of the log, 16 MB, that is nearly all. */
function withoutZeros(data: Uint8Array): Uint8Array {
  const copy = new Uint8Array(data.length);
  copy.set(data.subarray(0, lengthWithoutZeros(data)));
  return copy;
}

function lengthWithoutZeros(data: Uint8Array): number {
  const words = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let length = data.length;
  while (length >= WORD_BYTES && words.getBigUint64(length - WORD_BYTES) === 0n) length -= WORD_BYTES;
  return length;
}
