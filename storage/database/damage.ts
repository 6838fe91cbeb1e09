import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/*
 * Finds the damaged files of an embedded database. PGlite reports only that it "failed to initialize", so after a failure
 * this module checks names, sizes, magic numbers and checksums.
 *
 * @source https://github.com/postgres/postgres; pg_control.h, relmapper.c, xlog_internal.h, slru.h, bufpage.h
 */

const PAGE_BYTES = 8192;
const SEGMENT_BYTES = 16 * 1024 * 1024;
const CONTROL_BYTES = 8192;
/** Bound of the control file's fields before its checksum: more than any version uses, and less than a page. */
const CONTROL_FIELDS_MAX = 512;
const MAP_MAGIC = 0x592717;
const MAP_ENTRIES_MAX = 64;
const PAGE_LAYOUT = 0x2004;
/** How much of a catalog file is read. */
const CATALOG_BYTES_MAX = 64 * 1024 * 1024;

/** A problem, in a sentence that begins with the file's name. */
type Finding = string;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1;
  return rest >>> 0;
});

/** CRC-32C (Castagnoli), the checksum that PostgreSQL uses in these files. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

interface Control {
  readonly systemId: bigint;
  /** The segment of the write-ahead log that a start reads first. */
  readonly segment: string;
  readonly segmentStart: bigint;
}

const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  );
const namesIn = (path: string): Promise<string[]> => readdir(path).catch(() => []);
const bytes = (count: number): string => (count === 0 ? 'is empty' : `has ${count} bytes`);

/** Checks a database that failed to open. @returns the problem of each damaged file; empty if none is found. */
export async function damageIn(directory: string): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  found.push(...(await versions(directory)), ...(await settings(directory)));
  const control = await readControl(directory, found);
  if (control) found.push(...(await writeAheadLog(directory, control)));
  for (const folder of ['pg_xact', 'pg_multixact/members', 'pg_multixact/offsets'])
    found.push(...(await statusLog(directory, folder)));
  const databases = (await namesIn(join(directory, 'base'))).filter((name) => /^\d+$/.test(name));
  if (!databases.includes(OWN)) found.push(`base/${OWN} is missing`);
  for (const folder of ['global', ...databases.map((name) => `base/${name}`)])
    found.push(...(await catalogs(directory, folder)));
  return found;
}

/** OID of the database that PGlite uses, fixed by PostgreSQL for "postgres". The others are templates. */
const OWN = '5';

async function versions(directory: string): Promise<Finding[]> {
  const found: Finding[] = [];
  const folders = (await namesIn(join(directory, 'base'))).filter((name) => /^\d+$/.test(name));
  const names = ['PG_VERSION', ...folders.map((name) => `base/${name}/PG_VERSION`)];
  const texts = new Map<string, string>();
  for (const name of names) {
    const text = await readFile(join(directory, name), 'latin1').catch(() => null);
    if (text === null) found.push(`${name} is missing`);
    else if (/^\d{1,3}\n?$/.test(text)) texts.set(name, text.trim());
    else found.push(`${name} ${text === '' ? 'is empty' : 'contains no version number'}`);
  }
  const [own, other] = [texts.get('PG_VERSION'), texts.get(`base/${OWN}/PG_VERSION`)];
  if (own !== undefined && other !== undefined && own !== other)
    found.push(`PG_VERSION says ${own} and base/${OWN}/PG_VERSION says ${other}`);
  return found;
}

async function settings(directory: string): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const name of ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf']) {
    const text = await readFile(join(directory, name)).catch(() => null);
    if (text === null) continue;
    if (text.includes(0)) found.push(`${name} is not a text file`);
    // The other files may be empty; this one lists permitted connections.
    else if (name === 'pg_hba.conf' && text.length === 0) found.push(`${name} is empty`);
  }
  return found;
}

async function readControl(directory: string, found: Finding[]): Promise<Control | null> {
  const name = 'global/pg_control';
  const file = await readFile(join(directory, name)).catch(() => null);
  if (file === null || file.length !== CONTROL_BYTES) {
    found.push(file === null ? `${name} is missing` : `${name} ${bytes(file.length)} of ${CONTROL_BYTES}`);
    return null;
  }
  if (!isGuarded(file)) {
    found.push(`${name} has a wrong checksum`);
    return null;
  }
  const redo = file.readBigUInt64LE(40);
  const number = redo / BigInt(SEGMENT_BYTES);
  const hex = (value: bigint | number): string => value.toString(16).toUpperCase().padStart(8, '0');
  return {
    systemId: file.readBigUInt64LE(0),
    segment: `${hex(file.readUInt32LE(48))}${hex(number / 256n)}${hex(number % 256n)}`,
    segmentStart: number * BigInt(SEGMENT_BYTES),
  };
}

/** Whether the checksum matches. It follows the last field, whose offset depends on the version. */
function isGuarded(control: Buffer): boolean {
  for (let at = 128; at < CONTROL_FIELDS_MAX; at += 4)
    if (control.readUInt32LE(at) === crc32c(control.subarray(0, at))) return true;
  return false;
}

async function writeAheadLog(directory: string, control: Control): Promise<Finding[]> {
  const name = `pg_wal/${control.segment}`;
  const size = await sizeOf(join(directory, name));
  if (size === null) return [`${name} is missing; a start reads the log from it`];
  if (size !== SEGMENT_BYTES) return [`${name} ${bytes(size)} of ${SEGMENT_BYTES}`];
  const head = await firstBytes(join(directory, name), 32);
  if (
    head.length < 32 ||
    head.readUInt16LE(0) >> 8 !== 0xd1 ||
    head.readBigUInt64LE(8) !== control.segmentStart
  )
    return [`${name} has no valid header of a log segment`];
  return head.readBigUInt64LE(24) === control.systemId ? [] : [`${name} belongs to another database`];
}

async function firstBytes(path: string, count: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Checks the pages that record which transactions were committed. */
async function statusLog(directory: string, folder: string): Promise<Finding[]> {
  const names = (await namesIn(join(directory, folder))).filter((name) => /^[0-9A-F]{4,}$/.test(name));
  if (names.length === 0) return [`${folder} is empty`];
  const found: Finding[] = [];
  for (const name of names) {
    const size = (await sizeOf(join(directory, folder, name))) ?? 0;
    if (size === 0 || size % PAGE_BYTES !== 0) found.push(`${folder}/${name} ${bytes(size)}`);
  }
  return found;
}

/** Checks the map of a folder's catalogs, and the files that it names. */
async function catalogs(directory: string, folder: string): Promise<Finding[]> {
  const name = `${folder}/pg_filenode.map`;
  const map = await readFile(join(directory, name)).catch(() => null);
  if (map === null) return [`${name} is missing`];
  const end = 8 + MAP_ENTRIES_MAX * 8;
  if (map.length < end + 4) return [`${name} ${bytes(map.length)} of ${end + 4}`];
  const count = map.readInt32LE(4);
  if (map.readInt32LE(0) !== MAP_MAGIC || count < 0 || count > MAP_ENTRIES_MAX)
    return [`${name} is not a valid map of files`];
  if (map.readUInt32LE(end) !== crc32c(map.subarray(0, end))) return [`${name} has a wrong checksum`];
  const found: Finding[] = [];
  for (let at = 0; at < count; at += 1) {
    const file = `${folder}/${map.readUInt32LE(8 + at * 8 + 4)}`;
    const wrong = await catalogFault(join(directory, file));
    if (wrong !== null) found.push(`${file} ${wrong}`);
  }
  return found;
}

async function catalogFault(path: string): Promise<string | null> {
  const size = await sizeOf(path);
  if (size === null) return 'is missing';
  if (size % PAGE_BYTES !== 0) return bytes(size);
  if (size > CATALOG_BYTES_MAX) return null;
  const pages = await readFile(path);
  for (let at = 0; at < pages.length; at += PAGE_BYTES) {
    const layout = pages.readUInt16LE(at + 18);
    if (layout !== PAGE_LAYOUT && pages.subarray(at, at + PAGE_BYTES).some((byte) => byte !== 0))
      return `has no page at ${at}`;
  }
  return null;
}
