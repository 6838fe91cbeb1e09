import assert from 'node:assert/strict';
import type { ApplicationId } from '../protocol/ids.ts';
import { type FilesRow, type GoneFile, lostFiles } from './blob/files.ts';
import { recordStatements } from './cluster/cluster.ts';
import { fencing, staleAmong } from './cluster/fence.ts';
import {
  type Driver,
  type Fence,
  isStale,
  messageOf,
  rowText,
  type Sql,
  StaleEpoch,
  StorageFault,
} from './database/driver.ts';
import type { Retry } from './database/patience.ts';
import { rows, type Statement } from './database/statement.ts';
import { Flushes } from './flushes.ts';
import type { Commit, IdSource, Writer } from './ports.ts';
import { STATEMENTS } from './tables.ts';
import { OutcomeUnknown, Transactions } from './transactions.ts';

export interface WriterOptions {
  /** Most commits in one transaction. */
  readonly groupCommitsMax?: number;
  /** Most characters of row text in one transaction; a single commit may exceed it. */
  readonly groupCharsMax?: number;
  /** Most waiting commits; the next one faults. */
  readonly depthMax?: number;
  /** Most characters of waiting row text; the next commit faults. */
  readonly waitingCharsMax?: number;
  /** How a group is repeated after the connection to a database server was lost. Without it the group fails. */
  readonly retry?: Retry | null;
  /** Called with what a `done` throws, which is a bug of its owner. Without it the exception reaches the process. */
  readonly onBug?: (error: unknown) => void;
  /** Id marks, written with the commits that would exceed them. */
  readonly marks?: IdMarks;
  /** Called with the files of messages that are durably deleted. */
  readonly onFilesGone?: (files: readonly GoneFile[]) => void;
  /** Called after a commit that deleted a channel, a guild or a lobby: its messages are left for the purge. */
  readonly onMessagesLeft?: () => void;
  /** Called with the applications of webhook events that are durably queued. */
  readonly onEventsQueued?: (ids: readonly ApplicationId[]) => void;
}

/** Consecutive rows with the same statement. */
interface Batch {
  readonly sql: string;
  readonly rows: string[];
}

interface LaterBatch extends Batch {
  readonly rank: number;
}

/** Records for the next owner are written before statements marked `later`. */
const RECORDS_RANK = 0;

interface QueuedCommit {
  readonly ownerId: string;
  readonly done: Commit['done'];
  readonly fence: Fence | null;
  readonly batches: readonly Batch[];
  /** Rows that may be written after the others of the group; kept apart, so that facts of the same kind share a statement. */
  readonly later: readonly LaterBatch[];
  readonly chars: number;
  /** Set when the commit failed or must not be tried. */
  fault: Error | null;
  /** Whether it is counted in the owner's faults. */
  marked: boolean;
}

/** Facts that leave messages for the purge. */
const LEAVES_MESSAGES: ReadonlySet<string> = new Set(['channelDeleted', 'guildDeleted', 'lobbyDeleted']);
/** Facts whose commits somebody waits for besides their owner. */
const AWAITED: ReadonlySet<string> = new Set([...LEAVES_MESSAGES, 'webhookEventQueued']);

/** Wraps the `done` of a commit: the purge and the senders of webhook events are notified before the owner. */
function notifying({ facts, done }: Commit, options: Required<WriterOptions>): Commit['done'] {
  if (!facts.some(({ type }) => AWAITED.has(type))) return done;
  return (fault) => {
    const queued = facts.flatMap((fact) =>
      fact.type === 'webhookEventQueued' ? [fact.event.applicationId] : [],
    );
    if (facts.some(({ type }) => LEAVES_MESSAGES.has(type))) options.onMessagesLeft();
    if (fault === null && queued.length > 0) options.onEventsQueued(queued);
    done(fault);
  };
}

/** Serializes a commit's rows at once, so that an object that cannot be serialized fails only its own commit. */
function entryOf(
  { ownerId, facts, fence, record }: Commit,
  done: Commit['done'],
  refused: StorageFault | null,
): QueuedCommit {
  const common = { ownerId, done, fence: fence ?? null, fault: refused, marked: false };
  const entry = { ...common, batches: [], later: [], chars: 0 };
  if (refused) return entry;
  try {
    const statements = statementsOf({ ownerId, facts });
    const batches = batchesOf(statements.filter(({ later }) => later === undefined));
    const later: LaterBatch[] = [];
    for (const { sql, row, later: rank } of statements)
      if (rank !== undefined) later.push({ sql, rows: [rowText(row)], rank });
    for (const batch of record ? batchesOf(recordStatements(ownerId, record)) : [])
      later.push({ ...batch, rank: RECORDS_RANK });
    return { ...entry, batches, later, chars: charsOf(batches) + charsOf(later) };
  } catch (error) {
    const fault = new StorageFault(`The commit's rows cannot be serialized: ${messageOf(error)}`, {
      cause: error,
    });
    return { ...entry, fault };
  }
}

/** The statements of a commit, in the order of its facts. */
function statementsOf({ ownerId, facts }: Pick<Commit, 'ownerId' | 'facts'>): readonly Statement[] {
  return facts.flatMap((fact) => {
    const write = STATEMENTS[fact.type];
    assert(write, `no table for the fact ${fact.type}`);
    return write(ownerId, fact);
  });
}

const charsOf = (batches: readonly Batch[]): number =>
  batches.reduce((sum, { rows }) => rows.reduce((s, row) => s + row.length, sum), 0);

function batchesOf(statements: readonly Statement[]): Batch[] {
  const batches: Batch[] = [];
  for (const { sql, row } of statements) {
    const last = batches.at(-1);
    if (last?.sql === sql) last.rows.push(rowText(row));
    else batches.push({ sql, rows: [rowText(row)] });
  }
  return batches;
}

function merge(entries: readonly QueuedCommit[]): Batch[] {
  const merged: Batch[] = [];
  const add = ({ sql, rows }: Batch): void => {
    const last = merged.at(-1);
    if (last?.sql === sql) for (const row of rows) last.rows.push(row);
    else merged.push({ sql, rows: [...rows] });
  };
  for (const { batches } of entries) for (const batch of batches) add(batch);
  const later = new Map<string, LaterBatch>();
  for (const entry of entries)
    for (const { sql, rows, rank } of entry.later) {
      const known = later.get(sql);
      if (known) for (const row of rows) known.rows.push(row);
      else later.set(sql, { sql, rows: [...rows], rank });
    }
  for (const batch of [...later.values()].sort((a, b) => a.rank - b.rank)) merged.push(batch);
  return merged;
}

/** The fences of entries with rows; facts that are not stored need no fence. */
const fencesOf = (entries: readonly QueuedCommit[]): Fence[] =>
  entries.flatMap(({ fence, chars }) => (fence && chars > 0 ? [fence] : []));

/** @returns The files that no message refers to after this write. */
async function write(
  transactions: Transactions,
  entries: readonly QueuedCommit[],
  marks: IdMarks,
): Promise<GoneFile[]> {
  const batches = merge(entries);
  if (batches.length === 0) return [];
  const mark = marks.due();
  const fences = fencing(fencesOf(entries));
  const statements = (mark ? [...batches, mark] : batches).map(({ sql, rows }) => ({
    text: sql,
    values: [`[${rows.join(',')}]`],
  }));
  const results = await transactions.run<FilesRow>([...fences, ...statements]);
  mark?.written();
  // The answer that named the files was lost: they stay in the store.
  return results === null ? [] : lost(results.slice(fences.length).flat());
}

/** Most statements return no rows: only those that delete or rewrite messages do. */
const lost = (rows: readonly FilesRow[]): GoneFile[] => (rows.length === 0 ? [] : lostFiles(rows));

const faultOf = (error: unknown): StorageFault =>
  new StorageFault(
    error instanceof OutcomeUnknown
      ? `The connection to the database was lost during a commit: ${error.message}`
      : `The database refused a commit: ${messageOf(error)}`,
    { cause: error },
  );

/**
 * Writes facts as rows; nothing else does. Runs one transaction at a time; commits submitted meanwhile form the next group.
 *
 * A group that the database refuses was rolled back and is retried commit by commit. If it was refused because of a
 * superseded epoch, the commits under that epoch are excluded. After a lost connection the group is repeated, and written
 * once, for as long as `retry` allows. After that the outcome is unknown, so every owner must reload its state; `flush`
 * resolves when no group can be committed late any more.
 *
 * After a fault, the owner's later commits that were already submitted fail too, because they were decided on a state that
 * never became durable. Commits that the owner submits after it was notified of the fault are tried again.
 */
class GroupCommit implements Writer {
  readonly #driver: Driver;
  readonly #transactions: Transactions;
  readonly #options: Required<WriterOptions>;
  readonly #queue: QueuedCommit[] = [];
  /** Number of failed commits, by owner, that the owner was not yet notified of. */
  readonly #faulted = new Map<string, number>();
  readonly #flushes: Flushes;
  #waitingChars = 0;
  #handedIn = 0;
  #settled = 0;
  #running = false;
  #closed = false;

  constructor(driver: Driver, options: Required<WriterOptions>) {
    this.#driver = driver;
    this.#transactions = new Transactions(driver, options.retry);
    this.#flushes = new Flushes(this.#transactions, faultOf);
    this.#options = options;
  }

  get depth(): number {
    return this.#handedIn - this.#settled;
  }

  commit(commit: Commit): void {
    const refused = this.#refusal(commit.ownerId);
    const entry = entryOf(commit, notifying(commit, this.#options), refused);
    this.#handedIn++;
    this.#waitingChars += entry.chars;
    if (entry.fault) this.#mark(entry, entry.fault);
    this.#queue.push(entry);
    this.#start();
  }

  flush(): Promise<void> {
    if (this.depth === 0 && !this.#transactions.isUnresolved) return Promise.resolve();
    this.#start();
    return this.#flushes.add(this.#handedIn);
  }

  /** Commits what was submitted, if the database answers; later commits fault. */
  close(): Promise<void> {
    this.#closed = true;
    this.#transactions.end();
    return this.flush().catch(() => undefined);
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    // Commits submitted during this turn of the event loop form one group.
    queueMicrotask(() => void this.#run());
  }

  /** Why a commit of this owner is refused now; null if it is accepted. */
  #refusal(ownerId: string): StorageFault | null {
    if (this.#closed) return new StorageFault('The storage is closed.');
    if (this.#faulted.has(ownerId)) return new StorageFault('An earlier commit of the same owner failed.');
    const { depthMax, waitingCharsMax } = this.#options;
    if (this.depth < depthMax && this.#waitingChars < waitingCharsMax) return null;
    return new StorageFault(`The commit queue is full: ${this.depth} commits wait for the database.`);
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0 || this.#flushes.size > 0)
      if (this.#queue.length > 0) await this.#commitGroup(this.#take());
      else await this.#flushes.resolve();
    this.#running = false;
  }

  #take(): QueuedCommit[] {
    const { groupCommitsMax, groupCharsMax } = this.#options;
    let count = 0;
    let chars = 0;
    for (const entry of this.#queue) {
      chars += entry.chars;
      if (count > 0 && (count >= groupCommitsMax || chars > groupCharsMax)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #commitGroup(group: readonly QueuedCommit[]): Promise<void> {
    const live = group.filter((entry) => entry.fault === null);
    try {
      const gone = await write(this.#transactions, live, this.#options.marks);
      if (gone.length > 0) this.#options.onFilesGone(gone);
    } catch (error) {
      if (isStale(error) && (await this.#failStale(live))) return this.#commitGroup(group);
      if (live.length > 1 && !(error instanceof OutcomeUnknown)) return this.#commitOneByOne(group);
      this.#fail(live, [], faultOf(error));
    }
    for (const entry of group) this.#settle(entry);
  }

  /** Fails commits of partitions that other shards own now. @returns false if there are none, or the database is lost. */
  async #failStale(entries: readonly QueuedCommit[]): Promise<boolean> {
    const stale = await staleAmong(this.#driver, fencesOf(entries)).catch(() => []);
    for (const fence of stale) {
      const under = ({ fence: its }: QueuedCommit) =>
        its?.partition === fence.partition && its.epoch === fence.epoch;
      this.#fail(entries.filter(under), entries, new StaleEpoch(fence));
    }
    return stale.length > 0;
  }

  async #commitOneByOne(group: readonly QueuedCommit[]): Promise<void> {
    for (const [index, entry] of group.entries()) {
      if (entry.fault === null)
        try {
          const gone = await write(this.#transactions, [entry], this.#options.marks);
          if (gone.length > 0) this.#options.onFilesGone(gone);
        } catch (error) {
          const later = group.slice(index + 1);
          // Its partition may have been taken over since the group was refused.
          const isToldStale = isStale(error) && (await this.#failStale([entry, ...later]));
          if (!isToldStale && error instanceof OutcomeUnknown)
            this.#fail([entry, ...later], [], faultOf(error));
          else if (!isToldStale) this.#fail([entry], later, faultOf(error));
        }
      this.#settle(entry);
    }
  }

  /** Fails `entries`, and all entries of the same owners in `later` and in the queue. */
  #fail(entries: readonly QueuedCommit[], later: readonly QueuedCommit[], fault: Error): void {
    const owners = new Set(entries.map(({ ownerId }) => ownerId));
    for (const entry of entries) this.#mark(entry, fault);
    for (const list of [later, this.#queue])
      for (const entry of list) if (owners.has(entry.ownerId)) this.#mark(entry, fault);
  }

  #mark(entry: QueuedCommit, fault: Error): void {
    if (entry.marked) return;
    entry.marked = true;
    entry.fault = fault;
    this.#faulted.set(entry.ownerId, (this.#faulted.get(entry.ownerId) ?? 0) + 1);
  }

  #settle(entry: QueuedCommit): void {
    this.#settled++;
    this.#waitingChars -= entry.chars;
    if (entry.marked) {
      const open = (this.#faulted.get(entry.ownerId) ?? 1) - 1;
      if (open > 0) this.#faulted.set(entry.ownerId, open);
      else this.#faulted.delete(entry.ownerId);
    }
    try {
      entry.done(entry.fault);
    } catch (error) {
      this.#options.onBug(error);
    }
    this.#flushes.settled(this.#settled);
  }
}

/** Opens the group-commit writer. The default bounds hold about a second of a busy server's writes. */
export const openWriter = (
  driver: Driver,
  options: WriterOptions = {},
): Writer & { close(): Promise<void> } =>
  new GroupCommit(driver, {
    groupCommitsMax: options.groupCommitsMax ?? 512,
    groupCharsMax: options.groupCharsMax ?? 4_000_000,
    retry: options.retry ?? null,
    depthMax: options.depthMax ?? 20_000,
    waitingCharsMax: options.waitingCharsMax ?? 64_000_000,
    marks: options.marks ?? new IdMarks(),
    onFilesGone: options.onFilesGone ?? (() => undefined),
    onMessagesLeft: options.onMessagesLeft ?? (() => undefined),
    onEventsQueued: options.onEventsQueued ?? (() => undefined),
    onBug:
      options.onBug ??
      ((error) => {
        queueMicrotask(() => {
          throw error;
        });
      }),
  });

/**
 * How far a mark is ahead of the ids it is written for, so that it is written about once a second. After a crash, ids may
 * carry a time up to this much ahead of the clock, if the server restarts at once.
 */
const AHEAD_MS = 1000;

const MARK = { worker: 'integer', ms: 'bigint' };

/** Two shards may have used the same worker number in succession, so a stored mark only increases. */
const WRITE_MARK = `
INSERT INTO id_marks AS m (worker, ms) SELECT worker, max(ms) FROM ${rows(MARK)} GROUP BY worker
ON CONFLICT (worker) DO UPDATE SET ms = GREATEST(m.ms, EXCLUDED.ms)`;

/** A mark that must be written together with ids. */
interface DueMark {
  readonly sql: string;
  readonly rows: string[];
  /** Call it once the mark is durable. */
  written(): void;
}

/**
 * Keeps durable upper bounds of the ids in use, so that new ids are above all ids ever written, whatever the clock says at
 * the next start or at the next owner. A mark is written in the same transaction as the first id above the previous mark, so
 * an id is never durable without its mark.
 */
export class IdMarks {
  /** For each source, the time (Unix milliseconds) up to which its ids are covered. */
  readonly #coveredMs = new Map<IdSource, number>();

  /** Raises the source above all ids ever written, and keeps its marks from now on. */
  async follow(source: IdSource, sql: Sql): Promise<void> {
    this.#coveredMs.set(source, 0);
    await this.raise(sql);
  }

  /** Raises all sources above the marks that other shards have written. */
  async raise(sql: Sql): Promise<void> {
    if (this.#coveredMs.size === 0) return;
    const [row] = await sql.query<{ ms: string | null }>('SELECT max(ms) AS ms FROM id_marks');
    if (row?.ms != null) for (const source of this.#coveredMs.keys()) source.raise(Number(row.ms));
  }

  /** The marks to write with the next commit; null while all ids are covered. */
  due(): DueMark | null {
    const ahead = [...this.#coveredMs].flatMap(([source, coveredMs]) =>
      source.lastMs() > coveredMs ? [{ source, ms: source.lastMs() + AHEAD_MS }] : [],
    );
    if (ahead.length === 0) return null;
    return {
      sql: WRITE_MARK,
      rows: ahead.map(({ source, ms }) => rowText({ worker: source.worker(), ms })),
      written: () => {
        for (const { source, ms } of ahead) this.#coveredMs.set(source, ms);
      },
    };
  }
}
