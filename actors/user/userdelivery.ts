import { DispatchBody } from '../../engine/fanout/body.ts';
import {
  directOwner,
  directStream,
  isDirect,
  type SessionFilter,
  SINCE,
} from '../../engine/fanout/direct.ts';
import type { Cursor } from '../../engine/session/cursors.ts';
import { type DispatchName, dispatchRow } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import { present } from '../../protocol/present.ts';
import type { ClusterStore, DeliveryPosition, RecordedDispatch } from '../../storage/cluster/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { asError } from '../runtime/work.ts';
import { matchingSessions } from './notifier.ts';
import type { UserSession } from './user.shell.ts';

export interface UserDeliveryPorts {
  readonly users: {
    sessions(userId: string): readonly UserSession[];
    listeners(userId: string): readonly UserSession[];
  };
  readonly owns: (userId: string) => boolean;
  readonly store: Pick<ClusterStore, 'deliveriesTo' | 'recordsAt'>;
  /** Delivers to a session a dispatch that it has not received. */
  readonly deliver: (session: UserSession, body: DispatchBody) => void;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the database keeps records of dispatches. */
  readonly recordAgeMs: number;
  readonly onFault: (error: unknown) => void;
}

/** The target among a user's sessions: a filter, or one session by its id. */
type SessionTarget = SessionFilter | string;

/**
 * Largest difference between the clocks of two shards. A dispatch sent this long before a session began may still be
 * new to the session.
 */
const SKEW_MS = 1_000;
/** Streams per user whose last delivered number is kept; for other streams the number is looked up. */
const STREAMS_MAX = 256;
/** Most dispatches queued for one user. Further ones are dropped here and read from the database. */
const QUEUED_MAX = 4_096;
/** Bounds of one look-up: users, positions and records. */
const USERS_MAX = 1_000;
const PLACES_MAX = 20_000;
const RECORDS_MAX = 1_000;
/** Delay before a recheck, to batch its causes, which come in bursts. */
const RECHECK_DELAY_MS = 50;
/** Delay before a failed look-up is retried, and for how many attempts a session that rejoins waits. */
const RETRY = { delayMs: 250, times: 20 };

interface QueuedDispatch {
  readonly target: SessionTarget;
  readonly body: DispatchBody;
}

/** A session that was open at another owner or shard. It has received each stream up to its cursor. */
interface RejoiningSession {
  readonly session: UserSession;
  readonly cursors: ReadonlyMap<string, number>;
  /** False when some missed dispatches are no longer stored. */
  readonly settle: (isWhole: boolean) => void;
  readonly fail: (fault: Error) => void;
}

/** Delivery state of one user with sessions. */
interface UserQueue {
  /** Since when this shard delivers to the user, Unix milliseconds. */
  sinceMs: number;
  /** The last delivered number by stream; null before the first delivery, which few of many users receive. */
  lastDelivered: Map<string, number> | null;
  /** The last delivered number by stream that changed more than messages, which no state shows; null before the first. */
  lastChanged: Map<string, number> | null;
  /** Dispatches queued until the missed ones before them are looked up. Null when nothing is queued. */
  waiting: QueuedDispatch[] | null;
  /** How many queued dispatches a finished look-up covers; they are delivered whatever it found. */
  confirmed: number;
  rejoining: RejoiningSession[];
  /** Sessions about to rejoin; nothing is delivered until they have. */
  readonly entering: UserSession[];
  /** The queue was full: dispatches of streams must be looked up. */
  overflowed: boolean;
  failures: number;
}

/**
 * Delivers direct notifications: each stream in order and without a gap, as long as the database keeps its records. The
 * sender may crash before it sends, and dispatches may be lost on the way. So a gap in a stream's numbers, or any
 * change of ownership, makes the owner of the user look up what was committed; until then deliveries to the user are
 * queued.
 *
 * Sessions drop the duplicates that this produces.
 */
export class UserDelivery {
  readonly #ports: UserDeliveryPorts;
  readonly #queues = new Map<string, UserQueue>();
  readonly #pending = new Set<string>();
  #isLookingUp = false;
  #isRecheckDue = false;
  #onOutdated: ((ownerId: string, sessions: readonly UserSession[]) => void) | null = null;

  constructor(ports: UserDeliveryPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#queues.size;
  }

  /**
   * Registers what is called when sessions were not sent a state of this owner, because they have a later change of it: that
   * change need not show all of the state.
   */
  onOutdated(run: (ownerId: string, sessions: readonly UserSession[]) => void): void {
    this.#onOutdated = run;
  }

  /** The user has an open session from now on. */
  sessionOpened(userId: string): void {
    this.#queueOf(userId);
  }

  /** Delivers to a user of this shard. Returns whether a session received the dispatch or is about to open. */
  deliver(userId: string, target: SessionTarget, body: DispatchBody): boolean {
    const { users } = this.#ports;
    const known = this.#queues.get(userId);
    if (!known?.waiting && users.sessions(userId).length === 0) {
      this.#queues.delete(userId);
      return false;
    }
    const queue = known ?? this.#queueOf(userId);
    if (queue.waiting) this.#enqueue(queue, { target, body });
    else if (this.#hasGap(queue, body)) {
      queue.waiting = [{ target, body }];
      this.#requestLookup(userId);
    } else return this.#deliver(userId, queue, target, body);
    return true;
  }

  /**
   * Reopens a session with `enter` and delivers everything beyond its cursors. `isWhole` is false when some of it is no
   * longer stored.
   *
   * @throws what `enter` throws, or the failure of the database: the session may be reopened again.
   */
  async rejoin<T>(
    session: UserSession,
    cursors: readonly Cursor[],
    enter: () => Promise<T>,
  ): Promise<{ readonly entered: T; readonly isWhole: boolean }> {
    const { userId } = session;
    const queue = this.#queueOf(userId);
    queue.waiting ??= [];
    queue.entering.push(session);
    try {
      const entered = await enter();
      const isWhole = await new Promise<boolean>((settle, fail) => {
        const own = new Map(cursors.filter(([id]) => isDirect(id)));
        queue.rejoining.push({ session, cursors: own, settle, fail });
        removeFrom(queue.entering, session);
        this.#requestLookup(userId);
      });
      return { entered, isWhole };
    } catch (fault) {
      removeFrom(queue.entering, session);
      this.#requestLookup(userId);
      throw fault;
    }
  }

  /** Dispatches may have been committed and not delivered, to any user: looks up every user. */
  recheckAll(): void {
    if (this.#isRecheckDue) return;
    this.#isRecheckDue = true;
    this.#ports.wheel.after(() => {
      this.#isRecheckDue = false;
      const { users, owns } = this.#ports;
      for (const [userId, queue] of this.#queues) {
        if (queue.waiting === null && (!owns(userId) || users.sessions(userId).length === 0))
          this.#queues.delete(userId);
        else {
          queue.waiting ??= [];
          this.#requestLookup(userId);
        }
      }
    }, RECHECK_DELAY_MS);
  }

  #queueOf(userId: string): UserQueue {
    let queue = this.#queues.get(userId);
    if (!queue) {
      queue = {
        ...{ sinceMs: this.#ports.clock.now(), lastDelivered: null, lastChanged: null },
        waiting: null,
        ...{ confirmed: 0, rejoining: [], entering: [], overflowed: false, failures: 0 },
      };
      this.#queues.set(userId, queue);
    }
    return queue;
  }

  #enqueue(queue: UserQueue, held: QueuedDispatch): void {
    if (queue.waiting && queue.waiting.length < QUEUED_MAX) queue.waiting.push(held);
    else queue.overflowed = true;
  }

  #hasGap({ lastDelivered }: UserQueue, { origin, asOf }: DispatchBody): boolean {
    const position = origin ?? asOf;
    return position !== null && (position.after ?? 0) > (lastDelivered?.get(position.ownerId) ?? 0);
  }

  #deliver(userId: string, queue: UserQueue, target: SessionTarget, body: DispatchBody): boolean {
    const { origin, asOf } = body;
    const sessions = this.#addressed(userId, target, body.t as DispatchName);
    const isReceived = typeof target !== 'string' || sessions.length > 0;
    if (origin) advanceBy(queue, origin.ownerId, origin.n, body.t);
    if (asOf) {
      // The user has received a later change of this state.
      if ((queue.lastChanged?.get(asOf.ownerId) ?? 0) > asOf.n) {
        if (sessions.length > 0) this.#onOutdated?.(directOwner(asOf.ownerId), sessions);
        return isReceived;
      }
      queue.lastDelivered ??= new Map();
      advance(queue.lastDelivered, asOf.ownerId, asOf.after ?? 0);
    }
    for (const session of sessions) this.#ports.deliver(session, body);
    return isReceived;
  }

  #addressed(userId: string, target: SessionTarget, t: DispatchName): readonly UserSession[] {
    const { users } = this.#ports;
    if (typeof target !== 'string') return matchingSessions(users.listeners(userId), t, target);
    const session = users.sessions(userId).find(({ sessionId }) => sessionId === target);
    return !session || session.away ? [] : [session];
  }

  #requestLookup(userId: string): void {
    this.#pending.add(userId);
    if (this.#isLookingUp) return;
    this.#isLookingUp = true;
    void this.#runLookups();
  }

  /** Runs look-ups one after another; each covers all users that requested one by then. */
  async #runLookups(): Promise<void> {
    // Requests of one turn share a look-up.
    await Promise.resolve();
    for (let batchMax = USERS_MAX; this.#pending.size > 0; ) {
      const userIds = [...this.#pending].slice(0, batchMax);
      for (const userId of userIds) this.#pending.delete(userId);
      const lookups = userIds.flatMap((userId) => this.#lookupOf(userId));
      try {
        const isCut = await this.#lookUp(lookups, batchMax === 1);
        batchMax = isCut ? 1 : USERS_MAX;
        if (isCut) for (const { userId } of lookups) this.#pending.add(userId);
      } catch (fault) {
        this.#ports.onFault(fault);
        for (const lookup of lookups) this.#lookupFailed(lookup, asError(fault));
        if (!(await this.#ports.wheel.pause(RETRY.delayMs))) return;
      }
    }
    this.#isLookingUp = false;
  }

  #lookupOf(userId: string): Lookup[] {
    const queue = this.#queues.get(userId);
    if (!queue?.waiting) return [];
    return [
      {
        userId: userId as UserId,
        queue,
        queued: queue.waiting.length,
        rejoining: [...queue.rejoining],
      },
    ];
  }

  /** Returns true when the result exceeds the bound and nothing was delivered. @param isForced Deliver even then. */
  async #lookUp(lookups: readonly Lookup[], isForced: boolean): Promise<boolean> {
    if (lookups.length === 0) return false;
    const { store, clock, recordAgeMs } = this.#ports;
    const userIds = lookups.map(({ userId }) => userId);
    const found = await store.deliveriesTo(userIds, clock.now() - recordAgeMs, PLACES_MAX);
    const isCut = found.length >= PLACES_MAX;
    if (isCut && !isForced) return true;
    const byUser = new Map<string, DeliveryPosition[]>();
    for (const position of found)
      byUser.set(position.userId, [...(byUser.get(position.userId) ?? []), position]);
    for (const lookup of lookups) {
      const queuedFrom = firstQueued(lookup.queue);
      const positions = inOrder(byUser.get(lookup.userId) ?? []).filter((position) =>
        isWanted(position, lookup, queuedFrom),
      );
      const missed: Missed[] = [];
      for (let from = 0; from < positions.length; from += RECORDS_MAX)
        missed.push(...(await this.#read(lookup.userId, positions.slice(from, from + RECORDS_MAX))));
      this.#deliverMissed(lookup, missed, queuedFrom, isCut);
    }
    return false;
  }

  async #read(userId: UserId, positions: readonly DeliveryPosition[]): Promise<Missed[]> {
    const records = new Map(
      (await this.#ports.store.recordsAt(positions)).map((record) => [
        `${record.ownerId} ${record.n}`,
        record,
      ]),
    );
    return positions.flatMap((position) =>
      (records.get(`${position.ownerId} ${position.n}`)?.dispatches ?? []).flatMap(
        ({ t, d, n, to, filter }) =>
          filter && to.kind === 'users' && to.userIds.includes(userId)
            ? [{ t, d, n, filter, streamId: directStream(position.ownerId), atMs: position.atMs }]
            : [],
      ),
    );
  }

  #deliverMissed(
    lookup: Lookup,
    missed: readonly Missed[],
    queuedFrom: ReadonlyMap<string, number>,
    isCut: boolean,
  ): void {
    const { userId, queue, rejoining } = lookup;
    const { users, clock } = this.#ports;
    const rejoiners = new Map(rejoining.map((each) => [each.session, each.cursors]));
    // A session that began rejoining during this look-up is skipped; the next look-up delivers everything to it in
    // order.
    const listeners = users.listeners(userId).filter((session) => !isLate(queue, rejoining, session));
    for (const { t, d, n, filter, streamId, atMs } of missed) {
      const body = new DispatchBody(t, d, clock.monotonic(), { ownerId: streamId, n });
      for (const session of matchingSessions(listeners, t as DispatchName, filter)) {
        const cursors = rejoiners.get(session);
        const last = cursors ?? queue.lastDelivered ?? NOTHING_DELIVERED;
        const sinceMs = cursors ? (cursors.get(SINCE) ?? 0) : queue.sinceMs;
        if (!isMissed(last, streamId, n, atMs, sinceMs, queuedFrom)) continue;
        // The lobby that the session began with may be newer.
        if (dispatchRow(t).showsAll && !last.has(streamId))
          this.#onOutdated?.(directOwner(streamId), [session]);
        else this.#ports.deliver(session, body);
      }
    }
    // They have each stream up to their positions, so what follows is missed however long before its commit it was decided.
    for (const { cursors } of rejoining)
      for (const [streamId, n] of cursors) if (streamId !== SINCE) advanceBy(queue, streamId, n);
    for (const { streamId, n, t } of missed) advanceBy(queue, streamId, n, t);
    queue.rejoining = queue.rejoining.filter((each) => !rejoining.includes(each));
    queue.failures = 0;
    queue.confirmed = Math.max(queue.confirmed, lookup.queued);
    this.#flushQueue(userId, queue);
    for (const { settle } of rejoining) settle(!isCut);
  }

  /** Delivers the queue up to its next gap. */
  #flushQueue(userId: string, queue: UserQueue): void {
    if (queue.rejoining.length > 0 || queue.entering.length > 0) {
      if (queue.rejoining.length > 0) this.#requestLookup(userId);
      return;
    }
    const held = queue.waiting ?? [];
    let at = 0;
    for (; at < held.length; at += 1) {
      const { target, body } = present(held[at]);
      if (at >= queue.confirmed && this.#hasGap(queue, body)) break;
      this.#deliver(userId, queue, target, body);
    }
    queue.confirmed = 0;
    queue.waiting = at < held.length || queue.overflowed ? held.slice(at) : null;
    queue.overflowed = false;
    if (queue.waiting) this.#requestLookup(userId);
  }

  /** The database failed: what is queued waits for it, as what was missed before would be lost otherwise. */
  #lookupFailed({ userId, queue, rejoining }: Lookup, fault: Error): void {
    this.#pending.add(userId);
    queue.failures += 1;
    if (queue.failures < RETRY.times) return;
    queue.failures = 0;
    queue.rejoining = queue.rejoining.filter((each) => !rejoining.includes(each));
    for (const { fail } of rejoining) fail(fault);
  }
}

const isLate = (
  { entering, rejoining }: UserQueue,
  looked: readonly RejoiningSession[],
  session: UserSession,
): boolean =>
  entering.includes(session) || rejoining.some((each) => each.session === session && !looked.includes(each));

interface Lookup {
  readonly userId: UserId;
  readonly queue: UserQueue;
  /** Length of the queue when the look-up began; the look-up covers these dispatches. */
  readonly queued: number;
  readonly rejoining: readonly RejoiningSession[];
}

interface Missed extends Pick<RecordedDispatch, 't' | 'd' | 'n'> {
  readonly filter: SessionFilter;
  readonly streamId: string;
  readonly atMs: number;
}

function advance(lastOf: Map<string, number>, streamId: string, n: number): void {
  const last = lastOf.get(streamId) ?? 0;
  // Most recently used last; eviction takes the front.
  lastOf.delete(streamId);
  lastOf.set(streamId, Math.max(last, n));
  dropOldest(lastOf, STREAMS_MAX);
}

const OF_MESSAGES = /(^|_)MESSAGE_/;

/** The dispatch of this number was delivered. Without `t` it may be any. */
function advanceBy(queue: UserQueue, streamId: string, n: number, t = ''): void {
  queue.lastDelivered ??= new Map();
  advance(queue.lastDelivered, streamId, n);
  if (OF_MESSAGES.test(t)) return;
  queue.lastChanged ??= new Map();
  advance(queue.lastChanged, streamId, n);
}

function removeFrom(sessions: UserSession[], session: UserSession): void {
  const at = sessions.indexOf(session);
  if (at !== -1) sessions.splice(at, 1);
}

const NOTHING_DELIVERED: ReadonlyMap<string, number> = new Map();

const isMissed = (
  cursors: ReadonlyMap<string, number>,
  streamId: string,
  n: number,
  atMs: number,
  sinceMs: number,
  queuedFrom: ReadonlyMap<string, number>,
): boolean => {
  const last = cursors.get(streamId);
  if (last !== undefined) return n > last;
  return atMs >= sinceMs - SKEW_MS || n >= (queuedFrom.get(streamId) ?? Number.POSITIVE_INFINITY);
};

/**
 * The first queued number of each stream. It is delivered in any case, so it and what follows it count as missed although they
 * were decided long before their commit: a later one that is delivered first would have sessions drop it.
 */
function firstQueued({ waiting }: UserQueue): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { body } of waiting ?? [])
    if (body.origin && !first.has(body.origin.ownerId)) first.set(body.origin.ownerId, body.origin.n);
  return first;
}

/** Whether any session of the user has not received the dispatch. */
const isWanted = (
  { ownerId, n, atMs }: DeliveryPosition,
  { queue, rejoining }: Lookup,
  queuedFrom: ReadonlyMap<string, number>,
): boolean => {
  const streamId = directStream(ownerId);
  return (
    isMissed(queue.lastDelivered ?? NOTHING_DELIVERED, streamId, n, atMs, queue.sinceMs, queuedFrom) ||
    rejoining.some(({ cursors }) => isMissed(cursors, streamId, n, atMs, cursors.get(SINCE) ?? 0, queuedFrom))
  );
};

/** Sorted by time, and within each stream by number, because the owners' clocks differ. */
function inOrder(positions: readonly DeliveryPosition[]): DeliveryPosition[] {
  const latest = new Map<string, number>();
  return [...positions]
    .sort((a, b) => a.n - b.n)
    .map((position) => {
      const atMs = Math.max(position.atMs, latest.get(position.ownerId) ?? 0);
      latest.set(position.ownerId, atMs);
      return { place: position, atMs };
    })
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ place: position }) => position);
}
