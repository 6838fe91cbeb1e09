/** A journal of one run of a shard, on disk. */
export interface JournalFolder {
  readonly shardId: string;
  /** Of the run. */
  readonly instance: string;
  /** Whether it was received from another shard, which may have written more than came here. */
  readonly copy: boolean;
  /** When its newest segment was written to, Unix milliseconds; 0 when it has none. */
  readonly writtenMs: number;
}

/** The journal of this run, while it is written. Its segments are numbered from 1. */
export interface JournalWriter {
  /** On disk, over all segments. */
  readonly bytes: number;
  /** The segment that is written to, and how large it has become; number 0 before the first. */
  readonly segment: { readonly number: number; readonly bytes: number };
  /** Begins the next segment. @throws StorageFault */
  rotate(): void;
  /** Hands a batch to the kernel: from then on it outlives the process. @throws StorageFault when the disk takes no more. */
  append(batch: Uint8Array): void;
  /** Deletes the oldest segment; the one being written stays. False: there is no other. */
  drop(): boolean;
  /** Deletes all segments, as when they can no longer be continued. */
  clear(): void;
  /** Ends writing; what is there stays. */
  close(): void;
}

/** A session that is no more in a journal. One that came back to the run has another handle there, and is. */
export interface TakenSession {
  readonly sessionId: string;
  readonly handle: number;
}

/** Where journals lie: those that this process writes, and those that it may take sessions from. */
export interface JournalStore {
  /** Names the place: two shards that find the same name share it. */
  readonly id: string;
  /**
   * Begins the journal of a run, or the copy of another's.
   *
   * @throws StorageFault when the folder exists already: no two runs write one journal.
   */
  open(shardId: string, instance: string, copy: boolean): Promise<JournalWriter>;
  /** All that lie here. */
  folders(): Promise<JournalFolder[]>;
  /** Whether a living process of this machine writes it. */
  isWritten(folder: JournalFolder): Promise<boolean>;
  /** Numbers of its segments, ascending. */
  segments(folder: JournalFolder): Promise<number[]>;
  /** Empty when the segment is gone. */
  read(folder: JournalFolder, segment: number): Promise<Buffer>;
  /** Sessions that were taken from it. */
  taken(folder: JournalFolder): Promise<TakenSession[]>;
  /** Takes a session for good: true for exactly one of those who ask, in whatever process. Its id is of lowercase letters and digits. */
  take(folder: JournalFolder, session: TakenSession): Promise<boolean>;
  remove(folder: JournalFolder): Promise<void>;
}

/** Where this run writes its journal, and where those of others lie. */
export interface Journals {
  readonly store: JournalStore;
  readonly writer: JournalWriter;
}
