import { DispatchBody } from '../../engine/fanout/body.ts';
import { directStream, isDirect, type SessionFilter, SINCE } from '../../engine/fanout/direct.ts';
import type { Cursor } from '../../engine/session/cursors.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import { present } from '../../protocol/present.ts';
import type { ClusterStore, DeliveryPosition, RecordedDispatch } from '../../storage/cluster/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { matchingSessions } from './notifier.ts';
import type { UserSession } from './user.shell.ts';

export interface UserDeliveryPorts {
  readonly users: {
    sessions(userId: string): readonly UserSession[];
    listeners(userId: string): readonly UserSession[];
  };
  readonly owns: (userId: string) => boolean;
  readonly store: Pick<ClusterStore, 'deliveriesTo' | 'recordsAt'>;
  /** Delivers to a session what it has not had. */
  readonly deliver: (session: UserSession, body: DispatchBody) => void;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the database keeps what was told. */
  readonly recordAgeMs: number;
  readonly onFault: (error: unknown) => void;
}

/** Whom of a user's sessions a dispatch is for: those with these ears, or one by its id. */
type SessionTarget = SessionFilter | string;

/** Clocks of shards differ by this much at most: what was told so long before a session began may be news to it. */
const SKEW_MS = 1_000;
/** Streams of which is kept up to where a user was told; of others it is looked up. */
const STREAMS_MAX = 256;
/** What may wait for one user; more is let go, and looked up with the rest. */
const QUEUED_MAX = 4_096;
/** Users in one question, and what one answer holds. */
const USERS_MAX = 1_000;
const PLACES_MAX = 20_000;
const RECORDS_MAX = 1_000;
/** Doubts are gathered for a moment: what raises them comes in swarms. */
const RECHECK_DELAY_MS = 50;
/** Before a look that has failed is taken again, and how often. */
const RETRY = { delayMs: 250, times: 20 };

interface QueuedDispatch {
  readonly target: SessionTarget;
  readonly body: DispatchBody;
}

/** A session that was open with another owner, or at another home: it has each stream up to its cursor. */
interface RejoiningSession {
  readonly session: UserSession;
  readonly cursors: ReadonlyMap<string, number>;
  /** False: some of what it has missed cannot be had any more. */
  readonly settle: (isWhole: boolean) => void;
}

/** What one user, who has sessions, is told here. */
interface UserQueue {
  /** Since when this shard tells the user, Unix milliseconds. */
  sinceMs: number;
  /** By stream: the last number that was told. */
  readonly lastDelivered: Map<string, number>;
  /** What waits until it is known what came before; null: nothing has to. */
  waiting: QueuedDispatch[] | null;
  /** Of what is held: how much is to go on whatever is found. */
  confirmed: number;
  rejoining: RejoiningSession[];
  /** Sessions that are about to join: until then nothing is told. */
  readonly entering: Set<UserSession>;
  /** More came than may wait: what is in a stream is to be looked up. */
  overflowed: boolean;
  failures: number;
}

/**
 * What people are told directly, each stream in order and without a gap, as long as the database has it. Whoever tells
 * may have died before it did, and what it told may have been lost on the way: a gap in a stream's numbers, and any
 * change of hands, has the owner of the user look up what was committed. Meanwhile the user is told nothing.
 *
 * What is told twice by that is sorted out at the homes of the sessions.
 */
export class UserDelivery {
  readonly #ports: UserDeliveryPorts;
  readonly #queues = new Map<string, UserQueue>();
  readonly #pending = new Set<string>();
  #isLookingUp = false;
  #isRecheckDue = false;

  constructor(ports: UserDeliveryPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#queues.size;
  }

  /** The user has a session from now on. */
  sessionOpened(userId: string): void {
    this.#queueOf(userId);
  }

  /** Tells a user of this shard. Answers whether there was a session to hear it, or one is on its way. */
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
   * Opens a session again by `enter`, and has it hear all that was told beyond its cursors. Answers also whether all of
   * that could be had.
   */
  async rejoin<T>(
    session: UserSession,
    cursors: readonly Cursor[],
    enter: () => Promise<T>,
  ): Promise<{ readonly entered: T; readonly isWhole: boolean }> {
    const { userId } = session;
    const queue = this.#queueOf(userId);
    queue.waiting ??= [];
    queue.entering.add(session);
    try {
      const entered = await enter();
      const isWhole = await new Promise<boolean>((settle) => {
        queue.rejoining.push({ session, cursors: new Map(cursors.filter(([id]) => isDirect(id))), settle });
        queue.entering.delete(session);
        this.#requestLookup(userId);
      });
      return { entered, isWhole };
    } catch (fault) {
      queue.entering.delete(session);
      this.#requestLookup(userId);
      throw fault;
    }
  }

  /** Something may have been committed and not told, whoever it is for. */
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
        ...{ sinceMs: this.#ports.clock.now(), lastDelivered: new Map(), waiting: null },
        ...{ confirmed: 0, rejoining: [], entering: new Set(), overflowed: false, failures: 0 },
      };
      this.#queues.set(userId, queue);
    }
    return queue;
  }

  #enqueue(queue: UserQueue, held: QueuedDispatch): void {
    if (queue.waiting && queue.waiting.length < QUEUED_MAX) queue.waiting.push(held);
    else queue.overflowed = true;
  }

  #hasGap({ lastDelivered }: UserQueue, { origin }: DispatchBody): boolean {
    return origin !== null && (origin.after ?? 0) > (lastDelivered.get(origin.ownerId) ?? 0);
  }

  #deliver(userId: string, queue: UserQueue, target: SessionTarget, body: DispatchBody): boolean {
    const { users, deliver } = this.#ports;
    const { origin } = body;
    if (origin) advance(queue, origin.ownerId, origin.n);
    if (typeof target === 'string') {
      const session = users.sessions(userId).find(({ sessionId }) => sessionId === target);
      if (!session || session.away) return false;
      deliver(session, body);
      return true;
    }
    for (const session of matchingSessions(users.listeners(userId), body.t as DispatchName, target))
      deliver(session, body);
    return true;
  }

  #requestLookup(userId: string): void {
    this.#pending.add(userId);
    if (this.#isLookingUp) return;
    this.#isLookingUp = true;
    void this.#runLookups();
  }

  /** One look after the other, each for all who want one by then. */
  async #runLookups(): Promise<void> {
    // Those who come in the same moment are looked up together.
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
        for (const lookup of lookups) this.#lookupFailed(lookup);
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
        inbox: queue,
        queued: queue.waiting.length,
        rejoining: [...queue.rejoining],
      },
    ];
  }

  /** Answers true when there was more than one answer holds, and nothing was done. @param isForced Not even then. */
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
      const positions = inOrder(byUser.get(lookup.userId) ?? []).filter((position) =>
        isWanted(position, lookup),
      );
      const missed: Missed[] = [];
      for (let from = 0; from < positions.length; from += RECORDS_MAX)
        missed.push(...(await this.#read(lookup.userId, positions.slice(from, from + RECORDS_MAX))));
      this.#deliverMissed(lookup, missed, isCut);
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
      (records.get(`${position.ownerId} ${position.n}`)?.dispatches ?? []).flatMap(({ t, d, n, to, ears }) =>
        ears && to.kind === 'users' && to.userIds.includes(userId)
          ? [{ t, d, n, ears, streamId: directStream(position.ownerId), atMs: position.atMs }]
          : [],
      ),
    );
  }

  #deliverMissed(lookup: Lookup, missed: readonly Missed[], isCut: boolean): void {
    const { userId, inbox: queue, rejoining } = lookup;
    const { users, clock } = this.#ports;
    const rejoiners = new Map(rejoining.map((each) => [each.session, each.cursors]));
    // Who came while this look was under way has missed what came before, and hears all of it in order by the next one.
    const listeners = users.listeners(userId).filter((session) => !isLate(queue, rejoining, session));
    for (const { t, d, n, ears, streamId, atMs } of missed) {
      const body = new DispatchBody(t, d, clock.monotonic(), { ownerId: streamId, n });
      for (const session of matchingSessions(listeners, t as DispatchName, ears)) {
        const cursors = rejoiners.get(session);
        const isMissing = cursors
          ? isMissed(cursors, streamId, n, atMs, cursors.get(SINCE) ?? 0)
          : isMissed(queue.lastDelivered, streamId, n, atMs, queue.sinceMs);
        if (isMissing) this.#ports.deliver(session, body);
      }
    }
    for (const { streamId, n } of missed) advance(queue, streamId, n);
    queue.rejoining = queue.rejoining.filter((each) => !rejoining.includes(each));
    queue.failures = 0;
    queue.confirmed = Math.max(queue.confirmed, lookup.queued);
    this.#flushQueue(userId, queue);
    for (const { settle } of rejoining) settle(!isCut);
  }

  /** What was held goes on, up to where the next gap is. */
  #flushQueue(userId: string, queue: UserQueue): void {
    if (queue.rejoining.length > 0 || queue.entering.size > 0) {
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

  /** The database does not answer: it is asked again, for as long as somebody may wait for it. */
  #lookupFailed({ userId, inbox: queue, rejoining, queued }: Lookup): void {
    queue.failures += 1;
    if (queue.failures < RETRY.times) this.#pending.add(userId);
    else this.#deliverMissed({ userId, inbox: queue, rejoining, queued }, [], true);
  }
}

const isLate = (
  { entering, rejoining }: UserQueue,
  looked: readonly RejoiningSession[],
  session: UserSession,
): boolean =>
  entering.has(session) || rejoining.some((each) => each.session === session && !looked.includes(each));

interface Lookup {
  readonly userId: UserId;
  readonly inbox: UserQueue;
  /** How much was held when it was begun: what came before that is among what is found. */
  readonly queued: number;
  readonly rejoining: readonly RejoiningSession[];
}

interface Missed extends Pick<RecordedDispatch, 't' | 'd' | 'n'> {
  readonly ears: SessionFilter;
  readonly streamId: string;
  readonly atMs: number;
}

function advance({ lastDelivered }: UserQueue, streamId: string, n: number): void {
  const last = lastDelivered.get(streamId) ?? 0;
  // The last that was told stands last, so that what goes is what nobody speaks in.
  lastDelivered.delete(streamId);
  lastDelivered.set(streamId, Math.max(last, n));
  if (lastDelivered.size <= STREAMS_MAX) return;
  const [oldest] = lastDelivered.keys();
  if (oldest !== undefined) lastDelivered.delete(oldest);
}

const isMissed = (
  cursors: ReadonlyMap<string, number>,
  streamId: string,
  n: number,
  atMs: number,
  sinceMs: number,
): boolean => {
  const last = cursors.get(streamId);
  return last === undefined ? atMs >= sinceMs - SKEW_MS : n > last;
};

/** Whether anyone of the user has yet to hear of it. */
const isWanted = ({ ownerId, n, atMs }: DeliveryPosition, { inbox: queue, rejoining }: Lookup): boolean => {
  const streamId = directStream(ownerId);
  return (
    isMissed(queue.lastDelivered, streamId, n, atMs, queue.sinceMs) ||
    rejoining.some(({ cursors }) => isMissed(cursors, streamId, n, atMs, cursors.get(SINCE) ?? 0))
  );
};

/** By time, and each stream by its numbers, though its owners' clocks differ. */
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
