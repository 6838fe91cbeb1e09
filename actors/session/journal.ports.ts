import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { Cursor, StreamCursors } from '../../engine/session/cursors.ts';
import type { SessionClaim, SessionPreferences, SessionRecord } from '../../engine/session/record.ts';
import type { LiveSession } from './backend.ts';

/** A session as recorded in its shard's journal. */
export type JournalledSession = Omit<LiveSession, 'deliver'> &
  Pick<SessionPreferences, 'presence'> & {
    /** The last sequence number that was assigned. */
    readonly seq: number;
  };

/**
 * Records this shard's sessions, so that another shard or run can take them over. Everything of a tick is written
 * before any of it is sent. Cheap, and never throws: when the journal cannot be written, sessions continue without it.
 */
export interface SessionJournal {
  /** The stream positions of the sessions. */
  readonly cursors: StreamCursors;
  /** Disk space in bytes. */
  readonly bytes: number;
  /** Whether the records survive the process. */
  readonly outlives: boolean;
  /**
   * The session starts on this shard, or its identity changed.
   *
   * @param cursors Its stream positions from another shard.
   * @param missed Its last dispatches, which its client may not have received; they end with the session's number.
   */
  opened(session: JournalledSession, cursors?: readonly Cursor[], missed?: readonly DispatchBody[]): void;
  /** The session assigned its next sequence number to this dispatch. Hot path: an addition. */
  delivered(body: DispatchBody, handle: number): void;
  /** The session's presence or its opt-ins changed. */
  changed(session: JournalledSession): void;
  /** The session is subscribed to the stream and has everything up to `n`. */
  following(handle: number, ownerId: string, n: number): void;
  /** The session is no longer subscribed to the stream. */
  left(handle: number, ownerId: string): void;
  /** The stream is interrupted: until its subscribers receive `following` again, each has a position of its own. */
  lagging(ownerId: string): void;
  /**
   * The session ended, or another shard took it.
   *
   * @param claimKey Key of the claim under which another shard took it: that shard may take it from the journal if this one ends
   * before its answer arrives.
   */
  ended(handle: number, claimKey?: string): void;
  /** Writes the pending records. */
  flush(): void;
  /** Stops recording and keeps what was recorded. */
  close(): void;
}

export type TakeResult =
  | { readonly kind: 'taken'; readonly record: SessionRecord }
  /** No shard has the session, or it belongs to another principal. */
  | { readonly kind: 'unknown' }
  /** The client claims a sequence number that was never sent. The session has ended. */
  | { readonly kind: 'seqUnknown' }
  /** Some of the missed dispatches are no longer kept. The session has ended. */
  | { readonly kind: 'seqTooOld' };

/** Finds sessions on other shards, and in the journals of crashed ones. */
export interface SessionArchive {
  /** Whether this shard is in the cluster. If not, another shard may take its sessions from its journal. */
  readonly keepsSessions: boolean;
  /** This shard ends: its sessions can be taken from what the journal holds, once it has left the cluster. */
  close(): void;
  /**
   * Takes a session over, wherever it is: of all concurrent claims in the cluster, one succeeds. Waits, within a
   * deadline, for a shard that neither answers nor has left the cluster.
   */
  take(claim: SessionClaim): Promise<TakeResult>;
}
