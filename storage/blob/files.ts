import type { StoredFile } from '../../engine/guild/guild.ts';
import type { ChannelId } from '../../protocol/ids.ts';

/** A file that no message has any longer. */
export interface GoneFile extends StoredFile {
  readonly channelId: ChannelId;
}

/** Hears of files whose messages are durably gone. It never rejects: what becomes of them is its own business. */
export type FilesListener = (files: readonly GoneFile[]) => Promise<void>;

/** What a statement answers that deletes or rewrites messages: files before, and files that stay. */
export interface FilesRow {
  readonly channel_id: ChannelId;
  readonly files: readonly StoredFile[] | null;
  readonly kept?: readonly StoredFile[] | null;
}

/** The files that such rows have lost. */
export const lostFiles = (rows: readonly FilesRow[]): GoneFile[] =>
  rows.flatMap(({ channel_id: channelId, files, kept }) =>
    (files ?? []).flatMap(({ id, filename }) =>
      kept?.some((one) => one.id === id) ? [] : { channelId, id, filename },
    ),
  );

/** What may be lost before anyone listens; beyond it files stay behind as waste. */
const HELD_MAX = 20_000;

/** Passes lost files on; those of before there was a listener are held for it. */
export class LostFiles {
  #held: GoneFile[] = [];
  #listener: FilesListener | null = null;
  #settled: Promise<void> = Promise.resolve();

  listen(listener: FilesListener): void {
    this.#listener = listener;
    void this.tell(this.#held.splice(0));
  }

  /** Resolves when the listener is done with them. */
  async tell(files: readonly GoneFile[]): Promise<void> {
    if (files.length === 0) return;
    if (!this.#listener) {
      this.#held.push(...files.slice(0, HELD_MAX - this.#held.length));
      return;
    }
    const told = this.#listener(files);
    const before = this.#settled;
    this.#settled = told.then(() => before);
    await told;
  }

  /** Resolves when the listener is done with all it was told of. */
  settled(): Promise<void> {
    return this.#settled;
  }
}
