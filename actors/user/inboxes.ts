import { DispatchBody } from '../../engine/fanout/body.ts';
import { directStream, type Ears, isDirect, SINCE } from '../../engine/fanout/direct.ts';
import type { Cursor } from '../../engine/session/cursors.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import { present } from '../../protocol/present.ts';
import type { ClusterStore, RecordedDispatch, ToldPlace } from '../../storage/cluster/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import { hearersOf } from './telling.ts';
import type { UserSession } from './user.shell.ts';

export interface InboxPorts {
  readonly users: {
    sessions(userId: string): readonly UserSession[];
    listeners(userId: string): readonly UserSession[];
  };
  readonly owns: (userId: string) => boolean;
  readonly store: Pick<ClusterStore, 'toldTo' | 'recordsAt'>;
  /** Delivers to a session what it has not had. */
  readonly deliver: (session: UserSession, body: DispatchBody) => void;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the database keeps what was told. */
  readonly recordAgeMs: number;
  readonly onFault: (error: unknown) => void;
}

/** Whom of a user's sessions a dispatch is for: those with these ears, or one by its id. */
type Which = Ears | string;

/** Clocks of shards differ by this much at most: what was told so long before a session began may be news to it. */
const SKEW_MS = 1_000;
/** Streams of which is kept up to where a user was told; of others it is looked up. */
const STREAMS_MAX = 256;
/** What may wait for one user; more is let go, and looked up with the rest. */
const HELD_MAX = 4_096;
/** Users in one question, and what one answer holds. */
const USERS_MAX = 1_000;
const PLACES_MAX = 20_000;
const RECORDS_MAX = 1_000;
/** Doubts are gathered for a moment: what raises them comes in swarms. */
const DOUBT_MS = 50;
/** Before a look that has failed is taken again, and how often. */
const AGAIN = { delayMs: 250, times: 20 };

interface Held {
  readonly which: Which;
  readonly body: DispatchBody;
}

/** A session that was open with another owner, or at another home: it has each stream up to its cursor. */
interface Joining {
  readonly session: UserSession;
  readonly cursors: ReadonlyMap<string, number>;
  /** False: some of what it has missed cannot be had any more. */
  readonly done: (isWhole: boolean) => void;
}

/** What one user, who has sessions, is told here. */
interface Inbox {
  /** Since when this shard tells the user, Unix milliseconds. */
  sinceMs: number;
  /** By stream: the last number that was told. */
  readonly told: Map<string, number>;
  /** What waits until it is known what came before; null: nothing has to. */
  held: Held[] | null;
  /** Of what is held: how much is to go on whatever is found. */
  sure: number;
  joining: Joining[];
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
export class Inboxes {
  readonly #ports: InboxPorts;
  readonly #inboxes = new Map<string, Inbox>();
  readonly #wanted = new Set<string>();
  #looking = false;
  #doubting = false;

  constructor(ports: InboxPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#inboxes.size;
  }

  /** The user has a session from now on. */
  opened(userId: string): void {
    this.#of(userId);
  }

  /** Tells a user of this shard. Answers whether there was a session to hear it, or one is on its way. */
  tell(userId: string, which: Which, body: DispatchBody): boolean {
    const { users } = this.#ports;
    const known = this.#inboxes.get(userId);
    if (!known?.held && users.sessions(userId).length === 0) {
      this.#inboxes.delete(userId);
      return false;
    }
    const inbox = known ?? this.#of(userId);
    if (inbox.held) this.#hold(inbox, { which, body });
    else if (this.#hasGap(inbox, body)) {
      inbox.held = [{ which, body }];
      this.#look(userId);
    } else return this.#deliver(userId, inbox, which, body);
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
    const inbox = this.#of(userId);
    inbox.held ??= [];
    inbox.entering.add(session);
    try {
      const entered = await enter();
      const isWhole = await new Promise<boolean>((done) => {
        inbox.joining.push({ session, cursors: new Map(cursors.filter(([id]) => isDirect(id))), done });
        inbox.entering.delete(session);
        this.#look(userId);
      });
      return { entered, isWhole };
    } catch (fault) {
      inbox.entering.delete(session);
      this.#look(userId);
      throw fault;
    }
  }

  /** Something may have been committed and not told, whoever it is for. */
  doubt(): void {
    if (this.#doubting) return;
    this.#doubting = true;
    this.#ports.wheel.after(() => {
      this.#doubting = false;
      const { users, owns } = this.#ports;
      for (const [userId, inbox] of this.#inboxes) {
        if (inbox.held === null && (!owns(userId) || users.sessions(userId).length === 0))
          this.#inboxes.delete(userId);
        else {
          inbox.held ??= [];
          this.#look(userId);
        }
      }
    }, DOUBT_MS);
  }

  #of(userId: string): Inbox {
    let inbox = this.#inboxes.get(userId);
    if (!inbox) {
      inbox = {
        ...{ sinceMs: this.#ports.clock.now(), told: new Map(), held: null },
        ...{ sure: 0, joining: [], entering: new Set(), overflowed: false, failures: 0 },
      };
      this.#inboxes.set(userId, inbox);
    }
    return inbox;
  }

  #hold(inbox: Inbox, held: Held): void {
    if (inbox.held && inbox.held.length < HELD_MAX) inbox.held.push(held);
    else inbox.overflowed = true;
  }

  #hasGap({ told }: Inbox, { origin }: DispatchBody): boolean {
    return origin !== null && (origin.after ?? 0) > (told.get(origin.ownerId) ?? 0);
  }

  #deliver(userId: string, inbox: Inbox, which: Which, body: DispatchBody): boolean {
    const { users, deliver } = this.#ports;
    const { origin } = body;
    if (origin) note(inbox, origin.ownerId, origin.n);
    if (typeof which === 'string') {
      const session = users.sessions(userId).find(({ sessionId }) => sessionId === which);
      if (!session || session.away) return false;
      deliver(session, body);
      return true;
    }
    for (const session of hearersOf(users.listeners(userId), body.t as DispatchName, which))
      deliver(session, body);
    return true;
  }

  #look(userId: string): void {
    this.#wanted.add(userId);
    if (this.#looking) return;
    this.#looking = true;
    void this.#lookOn();
  }

  /** One look after the other, each for all who want one by then. */
  async #lookOn(): Promise<void> {
    // Those who come in the same moment are looked up together.
    await Promise.resolve();
    for (let most = USERS_MAX; this.#wanted.size > 0; ) {
      const userIds = [...this.#wanted].slice(0, most);
      for (const userId of userIds) this.#wanted.delete(userId);
      const looks = userIds.flatMap((userId) => this.#begin(userId));
      try {
        const isCut = await this.#lookUp(looks, most === 1);
        most = isCut ? 1 : USERS_MAX;
        if (isCut) for (const { userId } of looks) this.#wanted.add(userId);
      } catch (fault) {
        this.#ports.onFault(fault);
        for (const look of looks) this.#failed(look);
        if (!(await this.#ports.wheel.pause(AGAIN.delayMs))) return;
      }
    }
    this.#looking = false;
  }

  #begin(userId: string): Look[] {
    const inbox = this.#inboxes.get(userId);
    if (!inbox?.held) return [];
    return [{ userId: userId as UserId, inbox, held: inbox.held.length, joining: [...inbox.joining] }];
  }

  /** Answers true when there was more than one answer holds, and nothing was done. @param anyway Not even then. */
  async #lookUp(looks: readonly Look[], anyway: boolean): Promise<boolean> {
    if (looks.length === 0) return false;
    const { store, clock, recordAgeMs } = this.#ports;
    const userIds = looks.map(({ userId }) => userId);
    const found = await store.toldTo(userIds, clock.now() - recordAgeMs, PLACES_MAX);
    const isCut = found.length >= PLACES_MAX;
    if (isCut && !anyway) return true;
    const byUser = new Map<string, ToldPlace[]>();
    for (const place of found) byUser.set(place.userId, [...(byUser.get(place.userId) ?? []), place]);
    for (const look of looks) {
      const places = inOrder(byUser.get(look.userId) ?? []).filter((place) => isNews(place, look));
      const missed: Missed[] = [];
      for (let from = 0; from < places.length; from += RECORDS_MAX)
        missed.push(...(await this.#read(look.userId, places.slice(from, from + RECORDS_MAX))));
      this.#finish(look, missed, isCut);
    }
    return false;
  }

  async #read(userId: UserId, places: readonly ToldPlace[]): Promise<Missed[]> {
    const records = new Map(
      (await this.#ports.store.recordsAt(places)).map((record) => [`${record.ownerId} ${record.n}`, record]),
    );
    return places.flatMap((place) =>
      (records.get(`${place.ownerId} ${place.n}`)?.dispatches ?? []).flatMap(({ t, d, n, to, ears }) =>
        ears && to.kind === 'users' && to.userIds.includes(userId)
          ? [{ t, d, n, ears, streamId: directStream(place.ownerId), atMs: place.atMs }]
          : [],
      ),
    );
  }

  #finish(look: Look, missed: readonly Missed[], isCut: boolean): void {
    const { userId, inbox, joining } = look;
    const { users, clock } = this.#ports;
    const joiners = new Map(joining.map((each) => [each.session, each.cursors]));
    // Who came while this look was under way has missed what came before, and hears all of it in order by the next one.
    const listeners = users.listeners(userId).filter((session) => !isLate(inbox, joining, session));
    for (const { t, d, n, ears, streamId, atMs } of missed) {
      const body = new DispatchBody(t, d, clock.monotonic(), { ownerId: streamId, n });
      for (const session of hearersOf(listeners, t as DispatchName, ears)) {
        const cursors = joiners.get(session);
        const isMissing = cursors
          ? isBeyond(cursors, streamId, n, atMs, cursors.get(SINCE) ?? 0)
          : isBeyond(inbox.told, streamId, n, atMs, inbox.sinceMs);
        if (isMissing) this.#ports.deliver(session, body);
      }
    }
    for (const { streamId, n } of missed) note(inbox, streamId, n);
    inbox.joining = inbox.joining.filter((each) => !joining.includes(each));
    inbox.failures = 0;
    inbox.sure = Math.max(inbox.sure, look.held);
    this.#release(userId, inbox);
    for (const { done } of joining) done(!isCut);
  }

  /** What was held goes on, up to where the next gap is. */
  #release(userId: string, inbox: Inbox): void {
    if (inbox.joining.length > 0 || inbox.entering.size > 0) {
      if (inbox.joining.length > 0) this.#look(userId);
      return;
    }
    const held = inbox.held ?? [];
    let at = 0;
    for (; at < held.length; at += 1) {
      const { which, body } = present(held[at]);
      if (at >= inbox.sure && this.#hasGap(inbox, body)) break;
      this.#deliver(userId, inbox, which, body);
    }
    inbox.sure = 0;
    inbox.held = at < held.length || inbox.overflowed ? held.slice(at) : null;
    inbox.overflowed = false;
    if (inbox.held) this.#look(userId);
  }

  /** The database does not answer: it is asked again, for as long as somebody may wait for it. */
  #failed({ userId, inbox, joining, held }: Look): void {
    inbox.failures += 1;
    if (inbox.failures < AGAIN.times) this.#wanted.add(userId);
    else this.#finish({ userId, inbox, joining, held }, [], true);
  }
}

const isLate = ({ entering, joining }: Inbox, looked: readonly Joining[], session: UserSession): boolean =>
  entering.has(session) || joining.some((each) => each.session === session && !looked.includes(each));

interface Look {
  readonly userId: UserId;
  readonly inbox: Inbox;
  /** How much was held when it was begun: what came before that is among what is found. */
  readonly held: number;
  readonly joining: readonly Joining[];
}

interface Missed extends Pick<RecordedDispatch, 't' | 'd' | 'n'> {
  readonly ears: Ears;
  readonly streamId: string;
  readonly atMs: number;
}

function note({ told }: Inbox, streamId: string, n: number): void {
  const last = told.get(streamId) ?? 0;
  // The last that was told stands last, so that what goes is what nobody speaks in.
  told.delete(streamId);
  told.set(streamId, Math.max(last, n));
  if (told.size <= STREAMS_MAX) return;
  const [oldest] = told.keys();
  if (oldest !== undefined) told.delete(oldest);
}

const isBeyond = (
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
const isNews = ({ ownerId, n, atMs }: ToldPlace, { inbox, joining }: Look): boolean => {
  const streamId = directStream(ownerId);
  return (
    isBeyond(inbox.told, streamId, n, atMs, inbox.sinceMs) ||
    joining.some(({ cursors }) => isBeyond(cursors, streamId, n, atMs, cursors.get(SINCE) ?? 0))
  );
};

/** By time, and each stream by its numbers, though its owners' clocks differ. */
function inOrder(places: readonly ToldPlace[]): ToldPlace[] {
  const latest = new Map<string, number>();
  return [...places]
    .sort((a, b) => a.n - b.n)
    .map((place) => {
      const atMs = Math.max(place.atMs, latest.get(place.ownerId) ?? 0);
      latest.set(place.ownerId, atMs);
      return { place, atMs };
    })
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ place }) => place);
}
