import type { DispatchBody } from '../../engine/fanout/body.ts';
import { type Cursor, StreamCursors } from '../../engine/session/cursors.ts';
import type { SessionEntry } from '../../engine/session/journal.index.ts';
import { BatchWriter, ENTRY, streamText } from '../../engine/session/journal.ts';
import { NO_PREFERENCES, type PlainIdentity, type SessionPreferences } from '../../engine/session/record.ts';
import { present } from '../../protocol/present.ts';
import type { JournalWriter } from '../../storage/journal/port.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { JournalledSession, SessionJournal } from './journal.ports.ts';
import { plainOf } from './record.ts';

interface JournalSettings {
  /** Upper bound on the journal's disk space; or twice the names of all sessions, where that is more. */
  readonly bytesMax: number;
  /** Maximum age of a dispatch that is still replayed. */
  readonly ageMs: number;
}

interface JournalPorts {
  readonly settings: JournalSettings;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** Receives every batch with its segment and offset; the bytes are valid only during the call. */
  readonly tap?: (batch: Uint8Array, segment: number, at: number) => void;
  /** Journalling stopped after a fault; it is retried later. */
  readonly onFault: (error: unknown) => void;
}

/** Upper bound on the records of one tick; beyond it they are written before the tick ends. */
const BATCH_BYTES_MAX = 8 << 20;
const SEGMENT_BYTES_MAX = 16 << 20;
/** Number of segments into which the size bound is divided, so that little expired data is kept. */
const SEGMENTS = 8;
/** Number of segments into which the maximum age is divided: few, because each segment names all sessions. */
const SEGMENTS_OF_AGE = 2;
/** How often in one maximum age segments are checked, and a journal without traffic is written. */
const TICKS = 16;
/** Upper bound on the sessions that a new segment names in one batch: naming all of them would block a tick. */
const NAMED_PER_BATCH = 256;
/** Until then a crash loses the sessions; each attempt names them all. */
const RETRY_MS = 5_000;
/** Upper bound on the missed dispatches that are written for a session that moves here. */
const MISSED_BYTES_MAX = 256 << 10;

/**
 * The journal of this shard's sessions: collects the records of a tick into one batch and appends it.
 *
 * A segment names every session within its first batches; after that, segments older than the maximum age may be
 * deleted. Without files (`journal: off`) it only keeps the cursors.
 */
export class Journal implements SessionJournal {
  readonly cursors = new StreamCursors();
  readonly #ports: JournalPorts;
  readonly #files: JournalWriter | null;
  readonly #batch = new BatchWriter();
  readonly #sessions = new Map<number, JournalledSession>();
  /** When each kept segment ended, by number, in monotonic milliseconds; the current one is absent. */
  readonly #endedMs = new Map<number, number>();
  /**
   * Progress of the current segment: `left` iterates over the sessions that it has not named yet and is null when it has named
   * all; `bytes` is its size at that moment; `needed` counts the ended segments that a reader needs until then.
   */
  readonly #naming: { left: Iterator<JournalledSession> | null; bytes: number; needed: number } = {
    left: null,
    bytes: 0,
    needed: 0,
  };
  /** The dispatch whose record is open, and the sessions with a stream position of their own (`StreamCursors.advance`). */
  #body: DispatchBody | null = null;
  #laggards: Map<number, number> | null = null;
  #number = 0;
  #writing = false;
  /** The current segment: when it began, and whether nothing was written since the last tick. */
  readonly #current = { beganMs: 0, isQuiet: false };
  #scheduled = false;
  #timer: Timer | null = null;
  #faults = 0;

  constructor(files: JournalWriter | null, ports: JournalPorts) {
    this.#files = files;
    this.#ports = ports;
    if (files) this.#resume();
  }

  /** Disk space in bytes. */
  get bytes(): number {
    return this.#files?.bytes ?? 0;
  }

  /** Number of failed writes. */
  get faults(): number {
    return this.#faults;
  }

  get outlives(): boolean {
    return this.#files !== null;
  }

  opened(
    session: JournalledSession,
    cursors: readonly Cursor[] = [],
    missed: readonly DispatchBody[] = [],
  ): void {
    this.#sessions.set(session.handle, session);
    for (const [ownerId, n] of cursors) this.cursors.lag(session.handle, ownerId, n);
    const bytes = missed.reduce((sum, { weightBytes }) => sum + weightBytes, 0);
    this.#name(session, bytes <= MISSED_BYTES_MAX ? missed : []);
  }

  delivered(body: DispatchBody, handle: number): void {
    if (body !== this.#body) this.#begin(body);
    if (this.#laggards && body.origin) this.cursors.advanceOne(this.#laggards, handle, body.origin.n);
    if (this.#writing) this.#batch.add(handle);
  }

  changed(session: JournalledSession): void {
    if (this.#sessions.has(session.handle))
      this.#note(ENTRY.changed, session.handle, JSON.stringify(mannerOf(session)));
  }

  following(handle: number, ownerId: string, n: number): void {
    if (!this.#sessions.has(handle)) return;
    this.cursors.following(handle, ownerId, n);
    this.#note(ENTRY.following, handle, streamText(ownerId, n));
  }

  left(handle: number, ownerId: string): void {
    this.cursors.left(handle, ownerId);
    this.#note(ENTRY.left, handle, streamText(ownerId));
  }

  lagging(ownerId: string): void {
    this.cursors.lagging(ownerId);
    this.#note(ENTRY.lagging, 0, streamText(ownerId));
  }

  ended(handle: number, claimKey = ''): void {
    if (!this.#sessions.delete(handle)) return;
    this.cursors.ended(handle);
    this.#note(ENTRY.ended, handle, claimKey);
  }

  flush(): void {
    this.#body = null;
    this.#laggards = null;
    if (!this.#writing) return;
    if (this.#naming.left) this.#nameSome(this.#naming.left);
    if (!this.#batch.isEmpty) this.#append();
    // Naming has scheduled it already: a second one would double the names of each round.
    if (this.#naming.left && !this.#scheduled) this.#flushLater();
  }

  /** Starts a new segment, which names every session, so that a reader can start there. */
  rotate(): void {
    if (this.#writing) this.#guarded(() => this.#rotate());
  }

  /** Writes pending records and stops. The files are kept. */
  close(): void {
    this.flush();
    this.#timer?.cancel();
    this.#writing = false;
    this.#files?.close();
  }

  #begin(body: DispatchBody): void {
    this.#body = body;
    const { origin } = body;
    this.#laggards = origin && this.cursors.advance(origin.ownerId, origin.n);
    if (this.#hasRoom()) this.#batch.dispatch(body.t, body.json, origin);
  }

  #note(kind: (typeof ENTRY)[keyof typeof ENTRY], handle: number, text: string): void {
    // Closes the open dispatch record, because this record follows it.
    this.#body = null;
    if (this.#hasRoom()) this.#batch.note(kind, handle, text);
  }

  /**
   * Writes the state of a session.
   *
   * @param missed The last dispatches, which its client may not have received: a later shard must still be able to replay them.
   */
  #name(session: JournalledSession, missed: readonly DispatchBody[] = []): void {
    if (!this.#writing) return;
    const { handle } = session;
    const seq = session.seq - missed.length;
    const cursors: SessionEntry['cursors'] = this.cursors
      .of(handle)
      .map(([ownerId, n]) => [ownerId, n, this.cursors.lags(handle, ownerId) ? 1 : 0]);
    const entry = { identity: identityOf(session), ...mannerOf(session), seq, cursors };
    this.#note(ENTRY.session, handle, JSON.stringify(entry));
    for (const { t, json } of missed) {
      if (!this.#hasRoom()) return;
      // Without an origin: the cursors of the session include these dispatches already.
      this.#batch.dispatch(t, json, null);
      this.#batch.add(handle);
    }
  }

  #nameSome(unnamed: Iterator<JournalledSession>): void {
    for (let named = 0; named < NAMED_PER_BATCH; named += 1) {
      const { value, done } = unnamed.next();
      if (done) {
        this.#naming.left = null;
        this.#naming.needed = 0;
        this.#naming.bytes = present(this.#files).segment.bytes + this.#batch.bytes;
        return;
      }
      if (this.#sessions.get(value.handle) === value) this.#name(value);
    }
  }

  /** False when nothing can be written now. */
  #hasRoom(): boolean {
    if (this.#batch.bytes > BATCH_BYTES_MAX) this.#guarded(() => this.#write());
    if (this.#writing && !this.#scheduled) this.#flushLater();
    return this.#writing;
  }

  #flushLater(): void {
    this.#scheduled = true;
    this.#ports.clock.defer(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  #append(): void {
    this.#guarded(() => {
      this.#write();
      const { bytesMax } = this.#ports.settings;
      const files = present(this.#files);
      // A segment that has not named every session yet is not a valid place to start reading, so it continues.
      // The names alone may exceed the share of a segment: it has room for as many records as names at least.
      const segmentMax = Math.max(Math.min(SEGMENT_BYTES_MAX, bytesMax / SEGMENTS), this.#naming.bytes * 2);
      if (!this.#naming.left && files.segment.bytes >= segmentMax) this.#rotate();
      while (files.bytes > bytesMax && this.#endedMs.size > this.#naming.needed && this.#drop());
    });
  }

  #write(): void {
    this.#current.isQuiet = false;
    this.#number = (this.#number + 1) | 0;
    const batch = this.#batch.finish(this.#number, this.#ports.clock.now());
    const files = present(this.#files);
    files.append(batch);
    const { number, bytes } = files.segment;
    this.#ports.tap?.(batch, number, bytes - batch.length);
    this.#batch.shrink(BATCH_BYTES_MAX * 2);
  }

  #rotate(): void {
    const files = present(this.#files);
    const nowMs = this.#ports.clock.monotonic();
    if (files.segments > 0) this.#endedMs.set(files.segment.number, nowMs);
    files.rotate();
    this.#current.beganMs = nowMs;
    // The last segment that has named every session is kept, with those after it, until the current one has.
    this.#naming.needed = this.#naming.left ? this.#naming.needed + 1 : 1;
    this.#naming.left = [...this.#sessions.values()].values();
    if (!this.#scheduled) this.#flushLater();
  }

  #drop(): boolean {
    const [oldest] = this.#endedMs.keys();
    if (oldest === undefined || !present(this.#files).drop()) return false;
    this.#endedMs.delete(oldest);
    return true;
  }

  /**
   * Rotates and deletes segments by age. After a crash the sessions can be claimed for as long as the maximum age after the
   * last batch, so a journal without traffic writes an empty one.
   */
  #tick(): void {
    const { clock, settings } = this.#ports;
    const nowMs = clock.monotonic();
    if (this.#sessions.size > 0) {
      if (nowMs - this.#current.beganMs >= settings.ageMs / SEGMENTS_OF_AGE) this.rotate();
      else {
        // The record of a dispatch that is open ends with its batch.
        this.flush();
        if (this.#current.isQuiet) this.#append();
      }
    }
    this.#current.isQuiet = true;
    this.#guarded(() => {
      for (const endedMs of [...this.#endedMs.values()])
        if (this.#naming.left || endedMs > nowMs - settings.ageMs || !this.#drop()) break;
    });
    this.#tickLater();
  }

  #tickLater(): void {
    const { settings, wheel } = this.#ports;
    if (this.#writing) this.#timer = wheel.add(() => this.#tick(), settings.ageMs / TICKS);
  }

  #resume(): void {
    this.#writing = true;
    this.#body = null;
    this.#guarded(() => {
      // Files that could not be deleted before are not among `#endedMs`, so nothing else would delete them.
      this.#files?.clear();
      this.#rotate();
    });
    this.#tickLater();
  }

  /**
   * Deletes the journal when writing fails, and starts again later: a journal with a gap could give clients wrong
   * state, and one on a full disk would keep the disk full.
   */
  #guarded(run: () => void): void {
    if (!this.#writing) return;
    try {
      run();
    } catch (error) {
      this.#writing = false;
      this.#faults += 1;
      this.#batch.finish(0, 0);
      this.#endedMs.clear();
      this.#naming.left = null;
      this.#naming.needed = 0;
      this.#timer?.cancel();
      this.#timer = this.#ports.wheel.add(() => this.#resume(), RETRY_MS);
      this.#ports.onFault(error);
      this.#clear();
    }
  }

  #clear(): void {
    try {
      this.#files?.clear();
    } catch (error) {
      this.#ports.onFault(error);
    }
  }
}

/** Not kept as text: a segment names some sessions a turn, and each would keep most of a kilobyte until then. */
const identityOf = ({
  sessionId,
  principal,
  intents,
  shard,
  largeThreshold,
}: JournalledSession): PlainIdentity => ({
  sessionId: sessionId as PlainIdentity['sessionId'],
  principal: plainOf(principal),
  ...{ intents, shard, largeThreshold },
});

const mannerOf = ({
  presence,
  memberLists = null,
  forUser = NO_PREFERENCES,
}: JournalledSession): SessionPreferences => ({ presence, memberLists, ...forUser });
