import { StorageFault } from '../../storage/database/driver.ts';
import type {
  ClaimedSession,
  JournalFolder,
  JournalStore,
  JournalWriter,
} from '../../storage/journal/port.ts';
import { planted } from './planting.ts';
import type { Host, World } from './world.ts';

interface Folder {
  readonly shardId: string;
  readonly instance: string;
  readonly copy: boolean;
  /** The process that writes it. */
  writer: Host | null;
  writtenMs: number;
  readonly segments: Map<number, Buffer[]>;
  readonly taken: Map<string, ClaimedSession>;
}

const keyOf = ({ shardId, instance, copy }: Pick<JournalFolder, 'shardId' | 'instance' | 'copy'>): string =>
  `${copy ? 'copy/' : ''}${shardId}.${instance}`;

/** The disk of a machine. Bytes that a process has written to its kernel survive the process. */
export class SimDisk {
  readonly id: string;
  readonly #world: World;
  readonly #folders = new Map<string, Folder>();

  constructor(id: string, world: World) {
    this.id = id;
    this.#world = world;
  }

  /** A process has died; the bytes that it had written to its kernel are kept. */
  died(host: Host): void {
    if (planted.name !== 'journal-lost') return;
    for (const { writer, segments } of this.#folders.values())
      if (writer === host) [...segments.values()].at(-1)?.splice(-2);
  }

  /** Begins the journal of a run. */
  begin(shardId: string, instance: string, host: Host, nowMs: () => number): JournalWriter {
    const folder = { shardId, instance, copy: false, writtenMs: nowMs(), writer: host };
    const made: Folder = { ...folder, segments: new Map(), taken: new Map() };
    this.#folders.set(keyOf(folder), made);
    return writerOf(made, nowMs);
  }

  /** The store as one process of the machine sees it. */
  store(host: Host, nowMs: () => number): JournalStore {
    const world = this.#world;
    const folders = this.#folders;
    const soon = <T>(answer: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const run = () => {
          try {
            resolve(answer());
          } catch (error) {
            reject(error);
          }
        };
        world.after(world.between(0.05, 1), run, host);
      });
    const bytesOf = (folder: JournalFolder, segment: number) =>
      Buffer.concat(folders.get(keyOf(folder))?.segments.get(segment) ?? []);
    return {
      id: this.id,
      open: (shardId, instance, copy) =>
        soon(() => {
          const key = keyOf({ shardId, instance, copy });
          if (folders.has(key)) throw new StorageFault(`The folder ${key} is there already.`);
          const folder = { shardId, instance, copy, writtenMs: nowMs(), writer: host };
          const made: Folder = { ...folder, segments: new Map(), taken: new Map() };
          folders.set(key, made);
          return writerOf(made, nowMs);
        }),
      folders: () =>
        soon(() =>
          [...folders.values()].map(({ shardId, instance, copy, writtenMs }) => ({
            ...{ shardId, instance, copy, writtenMs },
          })),
        ),
      isWritten: (folder) => soon(() => folders.get(keyOf(folder))?.writer?.alive ?? false),
      segments: (folder) => soon(() => [...(folders.get(keyOf(folder))?.segments.keys() ?? [])]),
      read: (folder, segment) => soon(() => bytesOf(folder, segment)),
      taken: (folder) => soon(() => [...(folders.get(keyOf(folder))?.taken.values() ?? [])]),
      take: (folder, session) =>
        soon(() => {
          const taken = folders.get(keyOf(folder))?.taken;
          const mark = `${session.sessionId}.${session.handle}`;
          if (!taken || taken.has(mark)) return false;
          taken.set(mark, session);
          return true;
        }),
      remove: (folder) => soon(() => void folders.delete(keyOf(folder))),
    };
  }
}

function writerOf(folder: Folder, nowMs: () => number): JournalWriter {
  const { segments } = folder;
  const sizeOf = (parts: readonly Buffer[] = []) => parts.reduce((sum, { length }) => sum + length, 0);
  let last = 0;
  return {
    get segments() {
      return folder.segments.size;
    },
    get bytes() {
      return [...segments.values()].reduce((sum, parts) => sum + sizeOf(parts), 0);
    },
    get segment() {
      return { number: last, bytes: sizeOf(segments.get(last)) };
    },
    rotate() {
      last += 1;
      segments.set(last, []);
    },
    append(batch) {
      segments.get(last)?.push(Buffer.from(batch));
      folder.writtenMs = nowMs();
    },
    drop() {
      const [oldest] = segments.keys();
      if (oldest === undefined || oldest === last) return false;
      return segments.delete(oldest);
    },
    clear: () => segments.clear(),
    close: () => {
      folder.writer = null;
    },
  };
}
