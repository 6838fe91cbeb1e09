import fs from 'node:fs';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { codeOf } from '../../protocol/thrown.ts';
import { StorageFault } from './driver.ts';

/** The parts of Emscripten's file system that this module uses. */
interface FileStream {
  readonly node: object;
  readonly nfd: number | undefined;
}
/** An operation of Emscripten; its arguments are passed on unchanged. */
type Operation = (...args: never[]) => unknown;
interface Module {
  readonly NODEFS: {
    readonly stream_ops: Record<string, Operation | undefined>;
    readonly node_ops: Record<string, Operation | undefined>;
    realPath(node: object): string;
    tryFSOperation<T>(run: () => T): T;
  };
}

type InitOptions = Parameters<NodeFS['init']>[1];

/** Path of a segment of the write-ahead log. */
const SEGMENT = /[\\/]pg_wal[\\/][0-9A-F]{24}$/;

/** Operations other than a stream's `write` that change files or names. */
const CHANGES = ['setattr', 'rename', 'unlink', 'rmdir', 'symlink', 'mknod'];

/**
 * PGlite's directory with syncing: its own file system accepts every `fsync` and does nothing.
 *
 * The write-ahead log is synced asynchronously: `fsync` returns at once, and `settled` resolves when the sync is done; no
 * result may be returned before. All other files are synced synchronously, and they are written only while the log is
 * synced: no page of a table reaches the disk before the log that describes it.
 */
export class SyncedFs extends NodeFS {
  /** Number of syncs of the log that PostgreSQL requested, and how many of them are done. */
  #wanted = 0;
  #synced = 0;
  #segment: { readonly path: string; readonly fd: number } | null = null;
  #running: Promise<void> | null = null;
  #fault: StorageFault | null = null;

  override async init(...[pg, options]: Parameters<NodeFS['init']>) {
    const { emscriptenOpts } = await super.init(pg, options);
    const hook = (module: unknown): void => this.#hook(module as Module);
    const preRun = [...(emscriptenOpts.preRun ?? []), hook];
    return { emscriptenOpts: { ...emscriptenOpts, preRun } as InitOptions };
  }

  /**
   * Resolves when all syncs requested so far are done; null when they already are.
   *
   * @throws StorageFault when a sync failed: the content of the disk is unknown from then on.
   */
  settled(): Promise<void> | null {
    if (this.#fault) return Promise.reject(this.#fault);
    return this.#synced >= this.#wanted ? null : this.#until(this.#wanted);
  }

  override async closeFs(): Promise<void> {
    this.#syncNow();
    await this.#running;
    await super.closeFs();
    if (this.#segment) fs.closeSync(this.#segment.fd);
    this.#segment = null;
  }

  async #until(wanted: number): Promise<void> {
    while (this.#synced < wanted) {
      this.#running ??= this.#sync();
      await this.#running;
      if (this.#fault) throw this.#fault;
    }
  }

  #sync(): Promise<void> {
    const wanted = this.#wanted;
    const { fd } = this.#segment as { fd: number };
    return new Promise((resolve) => {
      fs.fdatasync(fd, (error) => {
        this.#running = null;
        if (error) this.#fail(error);
        else this.#synced = Math.max(this.#synced, wanted);
        resolve();
      });
    });
  }

  #syncNow(): void {
    if (this.#fault) throw this.#fault;
    if (this.#synced >= this.#wanted || this.#segment === null) return;
    try {
      fs.fdatasyncSync(this.#segment.fd);
    } catch (error) {
      throw this.#fail(error as Error);
    }
    this.#synced = this.#wanted;
  }

  #fail(cause: Error): StorageFault {
    this.#fault ??= new StorageFault(
      `Syncing the log of the embedded database failed: ${cause.message}. Stop the server and check the disk.`,
      { cause },
    );
    return this.#fault;
  }

  #hook({ NODEFS }: Module): void {
    const { stream_ops: streams, node_ops: nodes } = NODEFS;
    const isLog = (stream: FileStream): boolean => SEGMENT.test(NODEFS.realPath(stream.node));
    const before = (
      table: Record<string, Operation | undefined>,
      name: string,
      check: (...args: never[]) => boolean,
    ): void => {
      const operation = table[name];
      if (operation === undefined) return;
      table[name] = (...args) => {
        if (this.#synced < this.#wanted && check(...args)) NODEFS.tryFSOperation(() => this.#syncNow());
        return operation(...args);
      };
    };
    before(streams, 'write', (stream: FileStream) => !isLog(stream));
    before(streams, 'setattr', () => true);
    for (const name of CHANGES) before(nodes, name, () => true);
    streams.fsync = (stream: FileStream) => {
      NODEFS.tryFSOperation(() => {
        const path = NODEFS.realPath(stream.node);
        if (SEGMENT.test(path)) this.#want(path);
        else this.#syncOther(stream);
      });
      return 0;
    };
  }

  #want(path: string): void {
    if (this.#segment?.path !== path) {
      this.#syncNow();
      const last = this.#segment;
      this.#segment = { path, fd: fs.openSync(path, 'r+') };
      // Another thread may still be syncing the previous segment.
      if (last) void Promise.resolve(this.#running).then(() => fs.closeSync(last.fd));
    }
    this.#wanted += 1;
  }

  #syncOther({ nfd }: FileStream): void {
    this.#syncNow();
    if (nfd === undefined) return;
    try {
      fs.fsyncSync(nfd);
    } catch (error) {
      // Windows syncs no directories, and no files that are open to be read.
      if (process.platform !== 'win32' || codeOf(error) !== 'EPERM') throw error;
    }
  }
}
