import fs from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** A file, apart from its names: what is on the disk, and what was written since and not synced. */
interface Inode {
  durable: Buffer;
  unsynced: ({ readonly at: number; readonly bytes: Buffer } | { readonly size: number })[];
}

type Names = Map<string, Inode | 'folder'>;
type NameChange = (names: Names) => void;
type Call = (...args: never[]) => unknown;

const SECTOR = 512;

/** Contents of a file after some of its unsynced changes reached the disk; `base` is written over. */
function written(base: Buffer, changes: Inode['unsynced']): Buffer {
  let now = base;
  for (const change of changes) {
    const size = 'size' in change ? change.size : Math.max(now.length, change.at + change.bytes.length);
    if (size < now.length) now = now.subarray(0, size);
    else if (size > now.length) now = Buffer.concat([now, Buffer.alloc(size - now.length)]);
    if ('bytes' in change) change.bytes.copy(now, change.at);
  }
  return now;
}

/** `change` as the sectors of it that reached the disk, which is any of them. */
function torn(change: Inode['unsynced'][number], random: () => number): Inode['unsynced'] {
  if ('size' in change) return random() < 0.5 ? [change] : [];
  const sectors: Inode['unsynced'] = [];
  for (let from = 0; from < change.bytes.length; from += SECTOR)
    if (random() < 0.5)
      sectors.push({ at: change.at + from, bytes: change.bytes.subarray(from, from + SECTOR) });
  return sectors;
}

/**
 * A disk under `node:fs` that keeps only what was synced: what is written to files of a directory is noted, and
 * `lose` makes a copy of the directory as a loss of power would leave it. Names become durable in their order with any
 * sync after them, as file systems with a journal do it.
 */
export class Disk {
  readonly #root: string;
  readonly #names: Names = new Map();
  readonly #durableNames: Names;
  readonly #open = new Map<number, Inode>();
  readonly #real = new Map<string, Call>();
  #changes: NameChange[] = [];

  constructor(root: string) {
    this.#root = root;
    for (const name of fs.readdirSync(root, { recursive: true }) as string[]) {
      const isFolder = fs.statSync(join(root, name)).isDirectory();
      const durable = isFolder ? Buffer.alloc(0) : fs.readFileSync(join(root, name));
      this.#names.set(name, isFolder ? 'folder' : { durable, unsynced: [] });
    }
    this.#durableNames = new Map(this.#names);
    this.#hook();
  }

  /** Gives `node:fs` back. */
  remove(): void {
    Object.assign(fs, Object.fromEntries(this.#real));
  }

  lose(target: string, random: () => number): void {
    const names = new Map(this.#durableNames);
    for (const change of this.#changes.slice(0, Math.floor(random() * (this.#changes.length + 1))))
      change(names);
    fs.mkdirSync(target, { recursive: true });
    for (const [name, file] of names)
      if (file === 'folder') fs.mkdirSync(join(target, name), { recursive: true });
    for (const [name, file] of names) {
      if (file === 'folder') continue;
      const reached = file.unsynced.flatMap((change) => torn(change, random));
      fs.mkdirSync(dirname(join(target, name)), { recursive: true });
      fs.writeFileSync(join(target, name), written(Buffer.from(file.durable), reached));
    }
  }

  #nameOf(path: unknown): string | null {
    const name = relative(this.#root, String(path));
    return name.startsWith('..') ? null : name;
  }

  #rename(change: NameChange): void {
    change(this.#names);
    this.#changes.push(change);
  }

  #synced(fd: number, count = Number.POSITIVE_INFINITY): void {
    const file = this.#open.get(fd);
    if (file) {
      file.durable = written(file.durable, file.unsynced.slice(0, count));
      file.unsynced = file.unsynced.slice(count === Number.POSITIVE_INFINITY ? file.unsynced.length : count);
    }
    for (const change of this.#changes.splice(0)) change(this.#durableNames);
  }

  #after(name: string, note: (result: never, ...args: never[]) => void): void {
    const real = (fs as unknown as Record<string, Call>)[name] as Call;
    this.#real.set(name, real);
    const hooked = (...args: never[]) => {
      const result = real(...args) as never;
      note(result, ...args);
      return result;
    };
    Object.assign(fs, { [name]: hooked });
  }

  #hook(): void {
    this.#after('openSync', (fd: number, path: string, flags: number | string) => {
      const name = this.#nameOf(path);
      if (name === null) return;
      let file = this.#names.get(name);
      if (file === undefined) {
        const made: Inode = { durable: Buffer.alloc(0), unsynced: [] };
        this.#rename((names) => names.set(name, made));
        file = made;
      }
      if (file === 'folder') return;
      if (typeof flags === 'number' && flags & fs.constants.O_TRUNC) file.unsynced.push({ size: 0 });
      this.#open.set(fd, file);
    });
    this.#after(
      'writeSync',
      (count: number, fd: number, ...[bytes, from, , at]: [Uint8Array, number, number, number]) => {
        this.#open.get(fd)?.unsynced.push({ at, bytes: Buffer.from(bytes.subarray(from, from + count)) });
      },
    );
    this.#after('ftruncateSync', (_: never, fd: number, size: number) => {
      this.#open.get(fd)?.unsynced.push({ size });
    });
    this.#after('truncateSync', (_: never, path: string, size: number) => {
      const file = this.#names.get(this.#nameOf(path) ?? '..');
      if (file && file !== 'folder') file.unsynced.push({ size });
    });
    this.#after('closeSync', (_: never, fd: number) => void this.#open.delete(fd));
    this.#after('mkdirSync', (_: never, path: string) => {
      const name = this.#nameOf(path);
      if (name) this.#rename((names) => names.set(name, 'folder'));
    });
    for (const removal of ['unlinkSync', 'rmdirSync'])
      this.#after(removal, (_: never, path: string) => {
        const name = this.#nameOf(path);
        if (name) this.#rename((names) => names.delete(name));
      });
    this.#after('renameSync', (_: never, path: string, to: string) => {
      const [from, into] = [this.#nameOf(path), this.#nameOf(to)];
      if (from === null || into === null) return;
      this.#rename((names) => {
        const file = names.get(from);
        names.delete(from);
        if (file) names.set(into, file);
      });
    });
    this.#after('fsyncSync', (_: never, fd: number) => this.#synced(fd));
    this.#after('fdatasyncSync', (_: never, fd: number) => this.#synced(fd));
    const real = fs.fdatasync;
    this.#real.set('fdatasync', real as Call);
    const hooked = (fd: number, callback: (error: Error | null) => void): void => {
      const count = this.#open.get(fd)?.unsynced.length ?? 0;
      real(fd, (error) => {
        if (!error) this.#synced(fd, count);
        callback(error);
      });
    };
    Object.assign(fs, { fdatasync: hooked });
  }
}
