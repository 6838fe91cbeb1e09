/** The journal of one run of a shard, on disk. */
export interface JournalFolder {
  readonly shardId: string;
  /** Instance of the run. */
  readonly instance: string;
  /** Whether it is a replica of another shard's journal, which may have more data than arrived here. */
  readonly copy: boolean;
  /** When its newest segment was last written, Unix milliseconds; 0 without segments. */
  readonly writtenMs: number;
}

/** The journal of this run, being written. Segments are numbered from 1. */
export interface JournalWriter {
  /** Bytes on disk in all segments. */
  readonly bytes: number;
  /** How many segments there are. */
  readonly segments: number;
  /** The segment being written, and its size; number 0 before the first. */
  readonly segment: { readonly number: number; readonly bytes: number };
  /** Starts the next segment. @throws StorageFault */
  rotate(): void;
  /** Writes a batch to the kernel, so that it outlives the process. @throws StorageFault when the write fails. */
  append(batch: Uint8Array): void;
  /** Deletes the oldest segment but not the current one. @returns false if there is no other. */
  drop(): boolean;
  /** Deletes all segments, when they can no longer be continued. */
  clear(): void;
  /** Stops writing; the segments are kept. */
  close(): void;
}

/** A session that was claimed from a journal. If it returned to the journal's run, it has another handle there. */
export interface ClaimedSession {
  readonly sessionId: string;
  readonly handle: number;
}

/** The journals of this machine: journals that this process writes, and journals from which it may claim sessions. */
export interface JournalStore {
  /** Identifies the directory: shards with the same id share it. */
  readonly id: string;
  /**
   * Creates the journal of a run, or the replica of another shard's. A replica that an earlier run of this shard has left is
   * continued after its last segment.
   *
   * @throws StorageFault when the folder already exists: two runs never write one journal, and two processes no replica.
   */
  open(shardId: string, instance: string, copy: boolean): Promise<JournalWriter>;
  /** All journals in the directory. */
  folders(): Promise<JournalFolder[]>;
  /** Whether a living process of this machine writes the journal. */
  isWritten(folder: JournalFolder): Promise<boolean>;
  /** Numbers of its segments, ascending. */
  segments(folder: JournalFolder): Promise<number[]>;
  /** The segment's content; empty if the segment was deleted. */
  read(folder: JournalFolder, segment: number): Promise<Buffer>;
  /** Sessions that were claimed from the journal. */
  taken(folder: JournalFolder): Promise<ClaimedSession[]>;
  /** Claims a session: true for exactly one caller among all processes. Session ids consist of lowercase letters and digits. */
  take(folder: JournalFolder, session: ClaimedSession): Promise<boolean>;
  remove(folder: JournalFolder): Promise<void>;
}

/** The journal of this run, and the store with the journals of other runs. */
export interface Journals {
  readonly store: JournalStore;
  readonly writer: JournalWriter;
}
