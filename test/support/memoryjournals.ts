import { StorageFault } from '../../storage/database/driver.ts';
import type {
  ClaimedSession,
  JournalFolder,
  JournalStore,
  JournalWriter,
} from '../../storage/journal/port.ts';

interface Folder extends Pick<JournalFolder, 'shardId' | 'instance' | 'copy'> {
  writtenMs: number;
  isWritten: boolean;
  readonly segments: Map<number, Buffer[]>;
  readonly taken: Map<string, ClaimedSession>;
}

type Named = Pick<JournalFolder, 'shardId' | 'instance' | 'copy'>;
const keyOf = ({ shardId, instance, copy }: Named): string => `${shardId}.${instance}.${copy}`;
const sizeOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);

/** Journals in memory: what was appended is there, whatever becomes of who wrote it. */
export class MemoryJournals implements JournalStore {
  readonly id: string;
  readonly made = new Map<string, Folder>();
  /** The disk takes nothing more while it is set. */
  full = false;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, id = 'memory') {
    this.id = id;
    this.#nowMs = nowMs;
  }

  async open(shardId: string, instance: string, copy: boolean): Promise<JournalWriter> {
    return this.begin(shardId, instance, copy);
  }

  begin(shardId: string, instance: string, copy = false): JournalWriter {
    const named = { shardId, instance, copy };
    const left = this.made.get(keyOf(named));
    if (left && (!copy || left.isWritten)) throw new StorageFault('The journal is there already.');
    if (left) {
      left.isWritten = true;
      return this.#writerOf(left);
    }
    const folder: Folder = {
      ...named,
      ...{ writtenMs: this.#nowMs(), isWritten: true, segments: new Map(), taken: new Map() },
    };
    this.made.set(keyOf(named), folder);
    return this.#writerOf(folder);
  }

  async folders(): Promise<JournalFolder[]> {
    return [...this.made.values()].map(({ shardId, instance, copy, writtenMs }) => ({
      ...{ shardId, instance, copy, writtenMs },
    }));
  }

  async isWritten(folder: JournalFolder): Promise<boolean> {
    return this.made.get(keyOf(folder))?.isWritten ?? false;
  }

  async segments(folder: JournalFolder): Promise<number[]> {
    return [...(this.made.get(keyOf(folder))?.segments.keys() ?? [])];
  }

  async read(folder: JournalFolder, segment: number): Promise<Buffer> {
    return Buffer.concat(this.made.get(keyOf(folder))?.segments.get(segment) ?? []);
  }

  async taken(folder: JournalFolder): Promise<ClaimedSession[]> {
    return [...(this.made.get(keyOf(folder))?.taken.values() ?? [])];
  }

  async take(folder: JournalFolder, session: ClaimedSession): Promise<boolean> {
    const taken = this.made.get(keyOf(folder))?.taken;
    const mark = `${session.sessionId}.${session.handle}`;
    if (!taken || taken.has(mark)) return false;
    taken.set(mark, session);
    return true;
  }

  async remove(folder: JournalFolder): Promise<void> {
    this.made.delete(keyOf(folder));
  }

  #writerOf(folder: Folder): JournalWriter {
    const { segments } = folder;
    const guard = (): void => {
      if (this.full) throw new StorageFault('The disk is full.');
    };
    let last = Math.max(0, ...segments.keys());
    return {
      get segments() {
        return segments.size;
      },
      get bytes() {
        return [...segments.values()].reduce((sum, parts) => sum + sizeOf(parts), 0);
      },
      get segment() {
        return { number: last, bytes: sizeOf(segments.get(last) ?? []) };
      },
      rotate() {
        guard();
        last += 1;
        segments.set(last, []);
      },
      append: (batch) => {
        guard();
        segments.get(last)?.push(Buffer.from(batch));
        folder.writtenMs = this.#nowMs();
      },
      drop() {
        const [oldest] = segments.keys();
        return oldest !== undefined && oldest !== last && segments.delete(oldest);
      },
      clear: () => segments.clear(),
      close: () => {
        folder.isWritten = false;
      },
    };
  }
}
