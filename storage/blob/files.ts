import type { StoredFile } from '../../engine/guild/guild.ts';
import type { ChannelId } from '../../protocol/ids.ts';

/** A file that no message refers to any more. */
export interface GoneFile extends StoredFile {
  readonly channelId: ChannelId;
}

/** Receives files whose messages are durably deleted. Must not reject; it handles its own errors. */
export type FilesListener = (files: readonly GoneFile[]) => Promise<void>;

/** Result row of a statement that deletes or rewrites messages: the files before, and those the message keeps. */
export interface FilesRow {
  readonly channel_id: ChannelId;
  readonly files: readonly StoredFile[] | null;
  readonly kept?: readonly StoredFile[] | null;
}

/** The files that the messages of these rows no longer have. */
export const lostFiles = (rows: readonly FilesRow[]): GoneFile[] =>
  rows.flatMap(({ channel_id: channelId, files, kept }) =>
    (files ?? []).flatMap(({ id, filename }) =>
      kept?.some((one) => one.id === id) ? [] : { channelId, id, filename },
    ),
  );

/** Most files held before a listener is set; further files are never deleted. */
const HELD_MAX = 20_000;

/** Passes unreferenced files to a listener; holds those found before the listener is set. */
export class LostFiles {
  #held: GoneFile[] = [];
  #listener: FilesListener | null = null;
  #settled: Promise<void> = Promise.resolve();

  listen(listener: FilesListener): void {
    this.#listener = listener;
    void this.notify(this.#held.splice(0));
  }

  /** Passes on files. Resolves when the listener is done with them. */
  async notify(files: readonly GoneFile[]): Promise<void> {
    if (files.length === 0) return;
    if (!this.#listener) {
      this.#held.push(...files.slice(0, HELD_MAX - this.#held.length));
      return;
    }
    const removed = this.#listener(files);
    const before = this.#settled;
    this.#settled = removed.then(() => before);
    await removed;
  }

  /** Resolves when the listener is done with all files so far. */
  settled(): Promise<void> {
    return this.#settled;
  }
}
