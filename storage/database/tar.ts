/** A file or folder of an archive; `data` shares the archive's memory. */
export interface TarEntry {
  /** Relative path without leading or trailing slashes. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly data: Uint8Array;
}

const BLOCK = 512;
const FOLDER = '5';
const FILE = new Set(['0', '\0', '']);

const textOf = (bytes: Uint8Array): string => {
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end === -1 ? bytes.length : end)).toString('utf8');
};

/**
 * Reads a tar archive of files and folders (ustar).
 *
 * @throws RangeError for any other content, and for names that lead outside the folder of extraction.
 */
export function untar(archive: Uint8Array): TarEntry[] {
  const entries: TarEntry[] = [];
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK);
    at += BLOCK;
    if (header.every((byte) => byte === 0)) break;
    const field = (from: number, to: number): string => textOf(header.subarray(from, to));
    const [prefix, own, type] = [field(345, 500), field(0, 100), field(156, 157)];
    const name = (prefix ? `${prefix}/${own}` : own).replace(/^(\.?\/)+|\/+$/g, '');
    const size = Number.parseInt(field(124, 136).trim() || '0', 8);
    if (!Number.isSafeInteger(size) || size < 0 || at + size > archive.length)
      throw new RangeError(`The archive is truncated within ${name}.`);
    if (type !== FOLDER && !FILE.has(type)) throw new RangeError(`${name} is neither a file nor a folder.`);
    if (name.split('/').some((part) => part === '..' || part.includes('\\')))
      throw new RangeError(`${name} leads outside the archive.`);
    if (name !== '' && name !== '.')
      entries.push({ name, isFolder: type === FOLDER, data: archive.subarray(at, at + size) });
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
  return entries;
}
