import { dropOldest } from '../../protocol/oldest.ts';
import { type Cursor, StreamCursors } from './cursors.ts';
import { ENTRY, type JournalEntry, readBatch, readHead, readStream } from './journal.ts';
import type { PlainIdentity, SessionPreferences } from './record.ts';

/** The content of a session's entry. A cursor's number is followed by whether the session lags. */
export interface SessionEntry extends SessionPreferences {
  readonly identity: PlainIdentity;
  readonly seq: number;
  readonly cursors: readonly (readonly [ownerId: string, n: number, lags: 0 | 1])[];
}

/** The position of a dispatch in the journal. */
interface RecordPosition {
  readonly segment: number;
  /** In bytes from the start of the segment. */
  readonly at: number;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** A session as a journal's reader knows it. */
export interface IndexedSession {
  readonly handle: number;
  identity: PlainIdentity;
  manner: SessionPreferences;
  /** The last sequence number; -1 while unknown after a loss. */
  seq: number;
  /** The last dispatches; the newest one has the number `seq`. */
  positions: RecordPosition[];
}

/** A session with its stream positions; of one that another shard claimed, as they were then. */
export interface RecoveredSession {
  readonly session: IndexedSession;
  readonly cursors: readonly Cursor[];
}

const UNKNOWN = -1;
/** Upper bound on the claimed sessions that are kept; the oldest are forgotten first. */
const CLAIMED_MAX = 4096;

/**
 * The sessions of a journal, built by reading its segments in order. Only the positions of dispatches are kept.
 *
 * Damage loses the sessions that the damaged part was for, or all sessions where that is unknown: their numbers stay
 * unknown until a later segment names them, and their earlier dispatches are lost.
 */
export class JournalIndex {
  readonly #framesMax: number;
  readonly #byHandle = new Map<number, IndexedSession>();
  readonly #bySession = new Map<string, IndexedSession>();
  readonly #cursors = new StreamCursors();
  /** By the key of the claim. */
  readonly #claimed = new Map<string, RecoveredSession>();
  /** Number of the last batch; null before the first. */
  #number: number | null = null;
  #lastMs = 0;
  #damages = 0;

  /** @param framesMax Dispatches of one session that are kept. */
  constructor(framesMax: number) {
    this.#framesMax = Math.max(1, framesMax);
  }

  get size(): number {
    return this.#bySession.size;
  }

  /** When the last batch was written, Unix milliseconds; 0 without a batch. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** Number of damaged or missing places. */
  get damages(): number {
    return this.#damages;
  }

  /** Null for a session that is not in the journal, has ended, or has lost dispatches. */
  find(sessionId: string): IndexedSession | null {
    const session = this.#bySession.get(sessionId);
    return session && session.seq !== UNKNOWN ? session : null;
  }

  /**
   * A session that moved under this claim: its record may have been lost on the way to the shard that claimed it, and only that
   * shard knows the key.
   */
  findClaimed(sessionId: string, claimKey: string): RecoveredSession | null {
    const claimed = this.#claimed.get(claimKey);
    return claimed?.session.identity.sessionId === sessionId ? claimed : null;
  }

  cursorsOf({ handle }: IndexedSession): Cursor[] {
    return this.#cursors.of(handle);
  }

  /** Reads a segment; yields after each batch, so that the caller can do other work in between. */
  *read(segment: number, words: Int32Array, content: Buffer): Generator<void> {
    for (let at: number | null = 0; at !== null && at < words.length; yield) {
      const batch = readBatch(words, at);
      if (batch.kind === 'lost') {
        // The rest of a segment may be a batch that was being written when the process died: none of it was sent. Had a
        // sent batch been lost, the next batch's number would show it. Any other remainder was a batch.
        at = batch.nextWord;
        if (at === null && !batch.torn) this.#loseAll();
        continue;
      }
      if (this.#number !== null && batch.number !== ((this.#number + 1) | 0)) this.#loseAll();
      this.#number = batch.number;
      if (batch.kind === 'damaged') this.#lose(batch.entries);
      else {
        this.#lastMs = batch.atMs;
        this.#applyAll(batch.entries, segment, batch.atMs, content);
      }
      at = batch.endWord;
    }
  }

  /** A batch with a valid checksum that cannot be parsed was written by another version; it counts as lost. */
  #applyAll(entries: readonly JournalEntry[], segment: number, atMs: number, content: Buffer): void {
    try {
      for (const entry of entries) this.#apply(entry, segment, atMs, content);
    } catch {
      this.#loseAll();
    }
  }

  #apply(entry: JournalEntry, segment: number, atMs: number, content: Buffer): void {
    const { kind, handles, at, bytes } = entry;
    if (kind === ENTRY.dispatch) {
      this.#dispatch(handles, { segment, at, bytes, atMs }, content);
      return;
    }
    const text = content.toString('utf8', at, at + bytes);
    const handle = handles[0] ?? 0;
    if (kind === ENTRY.lagging) this.#cursors.lagging(readStream(text)[0]);
    else if (kind === ENTRY.ended) this.#ended(handle, text);
    else if (kind === ENTRY.session) this.#session(handle, JSON.parse(text) as SessionEntry);
    else {
      const session = this.#byHandle.get(handle);
      if (!session || session.seq === UNKNOWN) return;
      if (kind === ENTRY.changed) session.manner = JSON.parse(text) as SessionPreferences;
      else {
        const [ownerId, n] = readStream(text);
        if (kind === ENTRY.following) this.#cursors.following(handle, ownerId, n);
        else this.#cursors.left(handle, ownerId);
      }
    }
  }

  #dispatch(handles: Int32Array, place: RecordPosition, content: Buffer): void {
    const { origin } = readHead(content.subarray(place.at, place.at + place.bytes));
    const laggards = origin && this.#cursors.advance(origin.ownerId, origin.n);
    for (let index = 0; index < handles.length; index += 1) {
      const session = this.#byHandle.get(handles[index] ?? 0);
      if (!session || session.seq === UNKNOWN) continue;
      session.seq += 1;
      session.positions.push(place);
      if (session.positions.length >= this.#framesMax * 2)
        session.positions = session.positions.slice(-this.#framesMax);
      if (laggards && origin) this.#cursors.advanceOne(laggards, session.handle, origin.n);
    }
  }

  /** Applies the session's entry. For a known session with the same number, its dispatches stay. */
  #session(handle: number, entry: SessionEntry): void {
    const { identity, presence, wantsAuthorizeRequests, seq, cursors } = entry;
    const { memberLists = null, lobbyVoice = null } = entry;
    const manner = { presence, wantsAuthorizeRequests, memberLists, lobbyVoice };
    const known = this.#byHandle.get(handle);
    if (known && known.seq === seq) {
      known.identity = identity;
      known.manner = manner;
      return;
    }
    this.#forget(handle);
    const session = { handle, identity, manner, seq, positions: [] };
    this.#byHandle.set(handle, session);
    this.#bySession.set(identity.sessionId, session);
    for (const [ownerId, n, lags] of cursors)
      if (lags === 1) this.#cursors.lag(handle, ownerId, n);
      else this.#cursors.following(handle, ownerId, n);
  }

  #ended(handle: number, claimKey: string): void {
    const session = this.#byHandle.get(handle);
    if (session && session.seq !== UNKNOWN && claimKey !== '') {
      this.#claimed.set(claimKey, { session, cursors: this.#cursors.of(handle) });
      dropOldest(this.#claimed, CLAIMED_MAX);
    }
    this.#forget(handle);
  }

  #forget(handle: number): void {
    const session = this.#byHandle.get(handle);
    if (!session) return;
    this.#byHandle.delete(handle);
    // A session that left and returned has another handle.
    const { sessionId } = session.identity;
    if (this.#bySession.get(sessionId) === session) this.#bySession.delete(sessionId);
    this.#cursors.ended(handle);
  }

  #lose(entries: readonly JournalEntry[]): void {
    this.#damages += 1;
    for (const { kind, handles } of entries) {
      // The interrupted stream is unknown, so every session may be affected.
      if (kind === ENTRY.lagging) {
        this.#loseAll();
        return;
      }
      for (const handle of handles) {
        const session = this.#byHandle.get(handle);
        if (session) this.#loseOne(session);
      }
    }
  }

  #loseAll(): void {
    this.#damages += 1;
    for (const session of this.#byHandle.values()) this.#loseOne(session);
  }

  #loseOne(session: IndexedSession): void {
    session.seq = UNKNOWN;
    session.positions = [];
    this.#cursors.ended(session.handle);
  }
}
