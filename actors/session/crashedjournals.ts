import type { IndexedSession, RecoveredSession } from '../../engine/session/journal.index.ts';
import { JournalIndex } from '../../engine/session/journal.index.ts';
import { readDispatch, wordsOf } from '../../engine/session/journal.ts';
import { isSamePrincipal, type MissedFrame, type SessionClaim } from '../../engine/session/record.ts';
import { NotServed } from '../../protocol/faults.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { ClaimedSession, JournalFolder, JournalStore } from '../../storage/journal/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TakeResult } from './journal.ports.ts';

interface CrashedJournalPorts {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly settings: {
    readonly framesMax: number;
    /** Maximum age of a dispatch that is still replayed. */
    readonly ageMs: number;
  };
  /** Whether the run that wrote the journal has ended, so that its sessions may be taken. */
  readonly hasCrashed: (folder: JournalFolder) => Promise<boolean>;
  /** Receives the number of damaged places in a journal. */
  readonly onDamage: (folder: JournalFolder, damages: number) => void;
}

/** How long reading may block the event loop at a time. */
const SLICE_MS = 4;
/** Upper bound on the cached segments, for sessions that missed the same dispatches; about 16 MiB each. */
const SEGMENTS_MAX = 4;
/** How long a list of folders is cached. */
const LISTED_MS = 250;
const UNKNOWN: TakeResult = { kind: 'unknown' };

interface IndexedJournal {
  readonly index: JournalIndex;
  /** Sessions that were taken from it, by `markOf`. */
  readonly taken: Set<string>;
}

/** The journals of ended runs. Each session goes to the first shard that resumes it. */
export class CrashedJournals {
  readonly #ports: CrashedJournalPorts;
  readonly #journals = new Map<
    string,
    { readonly instance: string; readonly reading: Promise<IndexedJournal> }
  >();
  readonly #segments = new Map<string, Promise<Buffer>>();
  #listing: Promise<readonly JournalFolder[]> | null = null;
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor(ports: CrashedJournalPorts) {
    this.#ports = ports;
  }

  /**
   * Takes a session from a journal written on this shard's store (`copy` false), or from a replica. A replica may lack
   * the end, so it does not know a session whose client has seen more.
   *
   * @param claimKey Finds also a session that its shard gave away under this key, before it ended.
   */
  async take(claim: SessionClaim, claimKey: string, copy: boolean): Promise<TakeResult> {
    for (const folder of await this.#folders()) {
      if (folder.copy !== copy || !(await this.#ports.hasCrashed(folder))) continue;
      const journal = await this.#readUpTo(folder, claim);
      const found = this.#find(journal.index, claim.sessionId, claimKey);
      if (!found || journal.taken.has(markOf(takenOf(found.session)))) continue;
      if (!isSamePrincipal(found.session.identity.principal, claim.principal)) continue;
      const result = await this.#takeFrom(folder, journal, found, claim);
      // A session that moved between shards appears in several journals; another one may know more.
      if (result.kind !== 'unknown') return result;
    }
    return UNKNOWN;
  }

  #find(index: JournalIndex, sessionId: string, claimKey: string): RecoveredSession | null {
    const session = index.find(sessionId);
    return session ? { session, cursors: index.cursorsOf(session) } : index.findClaimed(sessionId, claimKey);
  }

  /** Deletes journals that are too old for any of their sessions to be resumed, and forgets deleted ones. */
  async clean(): Promise<void> {
    const { store, clock, settings } = this.#ports;
    const folders = await store.folders();
    const names = new Set(folders.map(nameOf));
    for (const name of [...this.#journals.keys()]) if (!names.has(name)) this.#journals.delete(name);
    for (const folder of folders) {
      // A journal in use is never this old, because it names its sessions periodically.
      if (clock.now() - folder.writtenMs <= settings.ageMs * 2 || !(await this.#ports.hasCrashed(folder)))
        continue;
      this.#journals.delete(nameOf(folder));
      await store.remove(folder);
    }
  }

  /** Forgets the cached journals of a run that turned out to be alive. */
  forget(instance: string): void {
    for (const [name, journal] of this.#journals)
      if (journal.instance === instance) this.#journals.delete(name);
    this.#listedMs = Number.NEGATIVE_INFINITY;
  }

  /** Lists the folders once for concurrent callers. */
  #folders(): Promise<readonly JournalFolder[]> {
    const nowMs = this.#ports.clock.monotonic();
    if (!this.#listing || nowMs - this.#listedMs > LISTED_MS) {
      this.#listedMs = nowMs;
      this.#listing = this.#ports.store.folders();
    }
    return this.#listing;
  }

  /**
   * Reads the journal again when the client has seen more than the cached index: a suspended shard that was taken for crashed may
   * continue to write.
   */
  async #readUpTo(folder: JournalFolder, { sessionId, seq }: SessionClaim): Promise<IndexedJournal> {
    const journal = await this.#read(folder);
    const known = journal.index.find(sessionId);
    if (!known || known.seq >= seq) return journal;
    this.#journals.delete(nameOf(folder));
    return this.#read(folder);
  }

  #read(folder: JournalFolder): Promise<IndexedJournal> {
    const name = nameOf(folder);
    let journal = this.#journals.get(name);
    if (!journal) {
      journal = { instance: folder.instance, reading: this.#readNow(folder) };
      this.#journals.set(name, journal);
      journal.reading.catch(() => this.#journals.delete(name));
    }
    return journal.reading;
  }

  async #readNow(folder: JournalFolder): Promise<IndexedJournal> {
    const { store, clock, settings, onDamage } = this.#ports;
    const index = new JournalIndex(settings.framesMax);
    for (const segment of await store.segments(folder)) {
      const bytes = await store.read(folder, segment);
      let untilMs = clock.monotonic() + SLICE_MS;
      for (const _ of index.read(segment, wordsOf(bytes), bytes)) {
        if (clock.monotonic() < untilMs) continue;
        await new Promise<void>((resolve) => clock.defer(resolve));
        untilMs = clock.monotonic() + SLICE_MS;
      }
    }
    if (index.damages > 0) onDamage(folder, index.damages);
    return { index, taken: new Set((await store.taken(folder)).map(markOf)) };
  }

  async #takeFrom(
    folder: JournalFolder,
    { index, taken }: IndexedJournal,
    { session, cursors }: RecoveredSession,
    { seq }: SessionClaim,
  ): Promise<TakeResult> {
    const { store, clock, settings } = this.#ports;
    const nowMs = clock.now();
    const wanted = session.seq - seq;
    // The journal was last written too long ago to resume any session, or the client has seen more than this replica
    // holds.
    if (nowMs - index.lastMs > settings.ageMs || (wanted < 0 && folder.copy)) return UNKNOWN;
    const places = wanted > 0 ? session.positions.slice(-wanted) : [];
    const isKept =
      Number.isInteger(seq) &&
      seq >= 0 &&
      places.length === Math.max(0, wanted) &&
      places.every(({ atMs }) => nowMs - atMs <= settings.ageMs);
    const missed: MissedFrame[] = [];
    if (isKept)
      for (const { segment, at, bytes, atMs } of places) {
        const content = await this.#content(folder, segment, at, at + bytes);
        missed.push({ ...readDispatch(content), ageMs: nowMs - atMs });
      }
    const mark = takenOf(session);
    const isOurs = await store.take(folder, mark);
    taken.add(markOf(mark));
    if (!isOurs) return UNKNOWN;
    if (wanted < 0 || !Number.isInteger(seq) || seq < 0) return { kind: 'seqUnknown' };
    if (!isKept) return { kind: 'seqTooOld' };
    const { identity, manner } = session;
    const record = { identity, manner, seq: session.seq, missed, cursors };
    return { kind: 'taken', record };
  }

  /**
   * Reads a cached segment again when it is shorter than the index: a shard that was considered crashed may still write.
   *
   * @throws NotServed when that shard has deleted the segment since: the journal is read again for the next request.
   */
  async #content(folder: JournalFolder, segment: number, from: number, to: number): Promise<Buffer> {
    const cached = await this.#segment(folder, segment);
    if (cached.length >= to) return cached.subarray(from, to);
    this.#segments.delete(`${nameOf(folder)}/${segment}`);
    const read = await this.#segment(folder, segment);
    if (read.length >= to) return read.subarray(from, to);
    this.#journals.delete(nameOf(folder));
    throw new NotServed('The journal of the session has changed.');
  }

  #segment(folder: JournalFolder, segment: number): Promise<Buffer> {
    const name = `${nameOf(folder)}/${segment}`;
    let bytes = this.#segments.get(name);
    if (!bytes) {
      bytes = this.#ports.store.read(folder, segment);
      this.#segments.set(name, bytes);
      bytes.catch(() => this.#segments.delete(name));
      dropOldest(this.#segments, SEGMENTS_MAX);
    }
    return bytes;
  }
}

const takenOf = ({ identity, handle }: IndexedSession): ClaimedSession => ({
  sessionId: identity.sessionId,
  handle,
});
const markOf = ({ sessionId, handle }: ClaimedSession): string => `${sessionId}.${handle}`;
const nameOf = ({ shardId, instance, copy }: JournalFolder): string => `${shardId}.${instance}.${copy}`;
