import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { Cursor, StreamCursors } from '../../engine/session/cursors.ts';
import type { SessionClaim, SessionManner, SessionRecord } from '../../engine/session/record.ts';
import type { LiveSession } from './backend.ts';

/** A session as its shard's journal writes it down. */
export type JournalledSession = Omit<LiveSession, 'deliver'> &
  SessionManner & {
    /** Last number given out. */
    readonly seq: number;
  };

/**
 * Notes what becomes of the sessions of this shard, for whoever has to take them over: all of a tick is written before
 * any of it is sent. Cheap, and never throws: a session whose journal cannot be written goes on without.
 */
export interface SessionJournal {
  /** How far the sessions have the streams that they follow. */
  readonly cursors: StreamCursors;
  /** What it takes on disk. */
  readonly bytes: number;
  /** Whether what is noted outlives the process. */
  readonly outlives: boolean;
  /**
   * The session begins here, or its identity has changed.
   *
   * @param cursors How far it has streams that it is not told of yet.
   */
  opened(session: JournalledSession, cursors?: readonly Cursor[]): void;
  /** It has been given its next number, for this. On the hot path: an addition. */
  delivered(body: DispatchBody, handle: number): void;
  /** Its presence, or what it wants to hear, has changed. */
  changed(session: JournalledSession): void;
  /** From here on it hears the stream; it has everything up to `n`. */
  following(handle: number, ownerId: string, n: number): void;
  /** It does not follow the stream any more. */
  left(handle: number, ownerId: string): void;
  /** The stream is interrupted: until its followers are told `following` again, each has what it is told. */
  lagging(ownerId: string): void;
  /** It is over, or another home has it. */
  ended(handle: number): void;
  /** Writes down what has been noted. */
  flush(): void;
  /** Ends; nothing is noted any more, and what was is kept. */
  close(): void;
}

export type TakeResult =
  | { readonly kind: 'taken'; readonly record: SessionRecord }
  /** Nobody has it, or it is somebody else's. */
  | { readonly kind: 'unknown' }
  /** The client claims to have seen what was never sent. The session is over. */
  | { readonly kind: 'seqUnknown' }
  /** What the client misses is not kept any more. The session is over. */
  | { readonly kind: 'seqTooOld' };

/** Sessions that are at other homes, or in what is left of such. */
export interface SessionArchive {
  /**
   * Takes a session over, wherever it is: of all who ask for it, in the whole cluster, one gets it. Waits for a home that
   * neither answers nor is gone.
   */
  take(claim: SessionClaim): Promise<TakeResult>;
}
