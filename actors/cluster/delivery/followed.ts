import { DispatchBody } from '../../../engine/fanout/body.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { Owner, Ownership, Router, Subscribed } from '../../placement/ports.ts';
import type { Timer } from '../../runtime/clock.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { HomeSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

/** A session that is to hear a guild: from GUILD_CREATE on, or from behind the number `after`. */
export interface Subscription<Session> {
  readonly session: Session;
  readonly after: number | null;
}

interface FollowedPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly reference: (entered: HomeSession, peer: Peer) => SessionReference;
  /** Subscribes sessions to a guild of this shard; answers in their order, and calls `caughtUp` of those that hear it. */
  readonly subscribeHere: (
    guildId: string,
    wanted: readonly (Subscription<LiveSession> & { readonly caughtUp: (n: number) => void })[],
  ) => Promise<readonly Subscribed[]>;
  readonly unsubscribeHere: (guildId: string, session: LiveSession) => void;
  /** Until they are told `following` again, its followers have only what each is told. */
  readonly interrupted: (guildId: string) => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Subscriptions in one question, so that it is answered within some milliseconds, and guilds that are asked for at one time. */
const BATCH_MAX = 256;
const ASKED_MAX = 64;
const ASK_DEADLINE_MS = 30_000;
/** How long a guild may be out of reach before its sessions hear that it is. */
const PATIENCE_MS = 10_000;
/** First and longest wait before a guild that could not be had is asked for again. */
const RETRY_MS = { first: 100, most: 2500 };

/** A session that does not hear its guild yet, or not any more. */
interface Want {
  readonly entered: HomeSession;
  /** What it has of the stream; null: nothing, it is to be shown the guild. */
  after: number | null;
  /** It is being resumed: rather nothing than a gap, or the guild anew. */
  readonly strict: boolean;
  readonly sinceMs: number;
  /** Under which an actor of this shard tells it the stream, until that has ended: only then is it known up to where. */
  toldUnder?: number | undefined;
  /** The question that is under way for it. */
  asked: object | null;
  readonly settle: ((how: Subscribed) => void) | null;
  readonly fail: ((fault: Error) => void) | null;
}

/** The stream of one guild, of which sessions of this shard hear. */
interface Stream {
  readonly guildId: string;
  /** Who tells it: a peer, or this shard; null: nobody now. */
  from: Peer | 'here' | null;
  /** Under which it does. */
  tenure: Owner | null;
  /** The number of the newest dispatch that came. Who hears the stream has everything up to it that it may see. */
  n: number;
  readonly followers: Set<HomeSession>;
  readonly wants: Map<HomeSession, Want>;
  /** Sessions that were told that the guild is unavailable: to them it is shown anew. */
  readonly dark: Set<HomeSession>;
  asking: boolean;
  retryMs: number;
  waiting: Timer | null;
}

/** Which guilds the sessions of this shard follow, how far, and from whom; they go on over changes of owner. */
export class Followed {
  readonly #ports: FollowedPorts;
  readonly #streams = new Map<string, Stream>();
  readonly #turns = new Semaphore(ASKED_MAX);
  /** Since when partitions have had no owner, monotonic milliseconds. */
  readonly #ownerless = new Map<number, number>();
  readonly #unfollow: () => void;
  #closed = false;

  constructor(ports: FollowedPorts) {
    this.#ports = ports;
    this.#unfollow = ports.ownership.onChange(({ moved }) => this.#moved(new Set(moved)));
  }

  stream(guildId: string): Stream | undefined {
    return this.#streams.get(guildId);
  }

  /**
   * Subscribes a session and keeps it subscribed for as long as it lives and its user is a member. Resolves when it
   * hears the guild; rejects when the guild cannot be had for the time being, which goes on being tried.
   */
  follow(entered: HomeSession, guildId: string, after: number | null, strict = false): Promise<Subscribed> {
    const stream = this.#streamOf(guildId);
    const known = stream.wants.get(entered);
    const follows = stream.followers.has(entered) && !stream.dark.has(entered);
    // Who follows it has the guild, unless its user has left and come back: the owner says so to who asks from a cursor.
    if (follows && after === null && !known && stream.from === 'here') return Promise.resolve('member');
    const from = follows && after === null ? (known ? known.after : stream.n) : after;
    stream.followers.add(entered);
    entered.guildIds.add(guildId);
    // Whoever waits for the same session already hears it from the next answer on.
    known?.settle?.('member');
    return new Promise((settle, fail) => {
      const sinceMs = this.#sinceMs(guildId);
      stream.wants.set(entered, { entered, after: from, strict, sinceMs, asked: null, settle, fail });
      this.#ask(stream);
    });
  }

  /**
   * The session hears none of its guilds any more. One that goes on at another home stands with those of this shard for
   * as long as that may take (`keptMs`): who comes to see a channel meanwhile, and who does no longer, is reckoned with it.
   */
  leave(entered: HomeSession, keptMs: number | null): void {
    const { unsubscribeHere, wheel } = this.#ports;
    const here: string[] = [];
    for (const guildId of [...entered.guildIds]) {
      const stream = this.#streams.get(guildId);
      if (stream?.from === 'here') here.push(guildId);
      if (stream) this.#unfollowed(stream, entered, 'gone');
    }
    const end = (): void => {
      for (const guildId of here) unsubscribeHere(guildId, entered.session);
    };
    if (keptMs === null) end();
    else if (here.length > 0) wheel.after(end, keptMs);
  }

  /** The owner says that the session hears the stream from here on, and has everything up to `n`. */
  caughtUp(peer: Peer, entered: HomeSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    // Said under an earlier tenure of the same shard, it is no answer to what the session was asked for since.
    if (stream?.from !== peer || stream.tenure?.epoch !== epochOf(n)) return;
    this.#settled(stream, entered, n);
    entered.session.following(guildId, n);
  }

  /**
   * Notes a dispatch that has come. What it answers is to be asked of each session that it is for, and is false when the
   * session has had it; undefined, as nearly always, when there is nothing to ask.
   */
  heard(stream: Stream, n: number, body: DispatchBody): ((entered: HomeSession) => boolean) | undefined {
    if (n > stream.n) stream.n = n;
    if (body.t === 'GUILD_DELETE')
      return (entered) => {
        const isNew = isUnavailable(body) || this.#isNew(stream, entered, n);
        if (isNew) this.#deleted(stream, entered, body);
        return isNew;
      };
    if (stream.wants.size === 0 || n === 0) return undefined;
    return (entered) => this.#isNew(stream, entered, n);
  }

  /** False when a session that wants the stream from somewhere on has had this already. */
  #isNew({ wants }: Stream, entered: HomeSession, n: number): boolean {
    const want = wants.get(entered);
    if (!want || want.after === null) return true;
    // The last owner's late word, and the next one's for it, may be of the same shard.
    if (n <= want.after) return false;
    want.after = n;
    return true;
  }

  /** The actor of a guild of this shard has ended as the guild changes hands; it has told everything up to `n`. */
  departed(guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream) return;
    if (n > stream.n) stream.n = n;
    const epoch = epochOf(n);
    for (const want of stream.wants.values()) {
      if (want.toldUnder !== epoch) continue;
      want.toldUnder = undefined;
      if (want.after !== null && n > want.after) want.after = n;
    }
  }

  /** The actor of a guild of this shard has ended and its sessions were told that it is unavailable. */
  darkened(guildId: string, sessions: ReadonlySet<LiveSession>): void {
    const stream = this.#streams.get(guildId);
    for (const entered of stream?.followers ?? [])
      if (stream && sessions.has(entered.session)) this.#darken(stream, entered);
  }

  /**
   * The user has left a guild of this shard. Sessions here that hear it were told so, and hear nothing of it any more;
   * those that do not yet are told when they ask.
   */
  dismissed(guildId: string, userId: string): void {
    const stream = this.#streams.get(guildId);
    for (const entered of [...(stream?.followers ?? [])]) {
      if (!stream || entered.session.userId !== userId) continue;
      const want = stream.wants.get(entered);
      const wasTold = want ? want.toldUnder !== undefined : stream.from === 'here';
      if (wasTold) this.#unfollowed(stream, entered, 'gone');
    }
  }

  /**
   * Another stood for the session with the guild's owner, since `n`: a home that let it go had asked late. It wants the
   * stream again from there.
   */
  displaced(entered: HomeSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream?.followers.has(entered) || stream.wants.has(entered)) return;
    const rest = { strict: false, sinceMs: this.#ports.nowMs(), asked: null, settle: null, fail: null };
    stream.wants.set(entered, { entered, after: n, ...rest });
    this.#askOn(stream);
  }

  /** A peer's talk is over: what it told is to be had anew. */
  lost(peer: Peer): void {
    for (const stream of this.#streams.values()) if (stream.from === peer) this.#interrupt(stream);
  }

  close(): void {
    this.#closed = true;
    this.#unfollow();
    for (const { waiting } of this.#streams.values()) waiting?.cancel();
    this.#streams.clear();
  }

  #moved(partitions: ReadonlySet<number>): void {
    const { ownership, nowMs } = this.#ports;
    for (const partition of partitions) {
      if (ownership.view.owners[partition]) this.#ownerless.delete(partition);
      else if (!this.#ownerless.has(partition)) this.#ownerless.set(partition, nowMs());
    }
    if (partitions.size === 0) return;
    for (const stream of this.#streams.values()) {
      if (!partitions.has(ownership.partitionOf(stream.guildId))) continue;
      const owner = ownership.ownerOf(stream.guildId);
      if (stream.from === null || !isSameTenure(stream.tenure, owner)) this.#interrupt(stream);
    }
  }

  #interrupt(stream: Stream): void {
    this.#bind(stream, null, null);
    stream.retryMs = RETRY_MS.first;
    this.#ask(stream);
  }

  /** Another tells the stream from now on: whoever heard it wants it again, from where the stream is. */
  #bind(stream: Stream, from: Stream['from'], tenure: Owner | null): void {
    if (stream.from === from && (from === null || isSameTenure(stream.tenure, tenure))) return;
    const toldUnder = stream.from === 'here' ? stream.tenure?.epoch : undefined;
    stream.from = from;
    stream.tenure = tenure;
    this.#ports.interrupted(stream.guildId);
    for (const want of stream.wants.values()) want.asked = null;
    const sinceMs = this.#sinceMs(stream.guildId);
    for (const entered of stream.followers) {
      if (stream.wants.has(entered)) continue;
      const after = stream.dark.has(entered) ? null : stream.n;
      const rest = { strict: false, toldUnder, sinceMs, asked: null, settle: null, fail: null };
      stream.wants.set(entered, { entered, after, ...rest });
    }
  }

  #sinceMs(guildId: string): number {
    return this.#ownerless.get(this.#ports.ownership.partitionOf(guildId)) ?? this.#ports.nowMs();
  }

  #streamOf(guildId: string): Stream {
    let stream = this.#streams.get(guildId);
    if (!stream) {
      stream = {
        ...{ guildId, from: null, tenure: null, n: 0 },
        ...{ followers: new Set(), wants: new Map(), dark: new Set() },
        ...{ asking: false, retryMs: RETRY_MS.first, waiting: null },
      };
      this.#streams.set(guildId, stream);
    }
    return stream;
  }

  #ask(stream: Stream): void {
    if (stream.asking || this.#closed) return;
    stream.asking = true;
    stream.waiting?.cancel();
    stream.waiting = null;
    this.#turns
      .run(() => this.#askNow(stream))
      .catch((fault) => this.#ports.onFault(fault, stream.guildId))
      .finally(() => {
        stream.asking = false;
        this.#askOn(stream);
      });
  }

  /** Asks again, after a while, for those who still want. */
  #askOn(stream: Stream): void {
    if (this.#closed || stream.waiting) return;
    let unasked = false;
    for (const { asked } of stream.wants.values()) unasked ||= asked === null;
    if (!unasked) return;
    const delayMs = stream.retryMs;
    stream.waiting = this.#ports.wheel.add(() => {
      stream.waiting = null;
      this.#ask(stream);
    }, delayMs);
    stream.retryMs = Math.min(delayMs * 2, RETRY_MS.most);
  }

  async #askNow(stream: Stream): Promise<void> {
    const { ownership } = this.#ports;
    const { guildId } = stream;
    for (;;) {
      const owner = ownership.ownerOf(guildId);
      const here = ownership.owns(guildId);
      const other = owner && owner.instance !== ownership.self?.instance ? owner : null;
      const from = here ? 'here' : other && this.#ports.peer(other.shardId, other.instance);
      this.#bind(stream, from, owner);
      const wants = this.#unasked(stream);
      if (wants.length === 0) return;
      if (from === null) return this.#despair(stream, null);
      const question = {};
      for (const want of wants) want.asked = question;
      let answers: readonly Subscribed[] | null = null;
      try {
        answers = await this.#question(stream, from, wants, question);
      } catch (fault) {
        for (const want of wants) if (want.asked === question) want.asked = null;
        if (this.#closed) return;
        return this.#despair(stream, fault as Error);
      }
      stream.retryMs = RETRY_MS.first;
      for (const [index, want] of wants.entries())
        if (want.asked === question && stream.wants.get(want.entered) === want)
          this.#answered(stream, want, answers[index] ?? 'gone');
    }
  }

  #unasked(stream: Stream): Want[] {
    const wants: Want[] = [];
    for (const want of [...stream.wants.values()]) {
      if (want.asked !== null) continue;
      if (want.entered.session.over) this.#unfollowed(stream, want.entered, 'gone');
      else wants.push(want);
      if (wants.length === BATCH_MAX) break;
    }
    return wants;
  }

  #question(
    stream: Stream,
    from: Peer | 'here',
    wants: readonly Want[],
    question: object,
  ): Promise<readonly Subscribed[]> {
    const { router, reference, subscribeHere } = this.#ports;
    if (from === 'here') {
      const named = wants.map(({ entered, after }) => ({
        ...{ session: entered.session, after },
        caughtUp: (n: number) => this.#caughtUpHere(stream, entered, question, n),
      }));
      return subscribeHere(stream.guildId, named);
    }
    const named = wants.map(({ entered, after }) => ({ session: reference(entered, from), after }));
    // Under another tenure than this it would tell what is not listened to yet, and take it for heard.
    const args = [stream.guildId, named, stream.tenure?.epoch ?? 0] as const;
    const asked = router.askShard(from.shardId, 'remoteSessions.subscribe', args, ASK_DEADLINE_MS);
    return asked;
  }

  /** The same of an actor of this shard, which may be leaving: then it is heard until it has ended. */
  #caughtUpHere(stream: Stream, entered: HomeSession, question: object, n: number): void {
    const want = stream.wants.get(entered);
    if (!want) return;
    if (want.asked === question) {
      this.#settled(stream, entered, n);
      return;
    }
    stream.dark.delete(entered);
    stream.wants.set(entered, { ...want, after: n, toldUnder: epochOf(n) });
  }

  #answered(stream: Stream, want: Want, how: Subscribed): void {
    if (how === 'member') {
      // From elsewhere the owner's word for it is on its way, behind what was missed.
      if (stream.from === 'here') this.#settled(stream, want.entered, 0);
      else want.settle?.('member');
      return;
    }
    if (how === 'tooOld' && !want.strict) {
      this.#away(stream, want.entered);
      this.#darken(stream, want.entered);
      return;
    }
    // A live session that was not there when its user left has not heard of it; one that comes from elsewhere hears it there.
    const has = want.settle === null || (want.after !== null && !want.strict);
    if (how === 'gone' && has) this.#tell(want.entered, { id: stream.guildId });
    this.#unfollowed(stream, want.entered, how);
  }

  #settled(stream: Stream, entered: HomeSession, n: number): void {
    if (n > stream.n) stream.n = n;
    stream.dark.delete(entered);
    const want = stream.wants.get(entered);
    if (!want) return;
    stream.wants.delete(entered);
    want.settle?.('member');
  }

  #unfollowed(stream: Stream, entered: HomeSession, how: Subscribed): void {
    const want = stream.wants.get(entered);
    stream.wants.delete(entered);
    stream.dark.delete(entered);
    stream.followers.delete(entered);
    entered.guildIds.delete(stream.guildId);
    entered.session.left?.(stream.guildId);
    if (stream.followers.size === 0) {
      stream.waiting?.cancel();
      this.#streams.delete(stream.guildId);
    }
    want?.settle?.(how);
  }

  /** It could not be had. Who waits for the first time, and who has waited for long, hears so. */
  #despair(stream: Stream, fault: Error | null): void {
    const nowMs = this.#ports.nowMs();
    for (const want of [...stream.wants.values()]) {
      const late = nowMs - want.sinceMs >= PATIENCE_MS;
      const failed = fault !== null && !(fault instanceof NotServed) && fault.name !== 'LinkFault';
      if (want.asked !== null || !(late || failed)) continue;
      want.fail?.(fault ?? new NotServed(`Nobody serves the guild ${stream.guildId}.`));
      const has = want.after !== null || want.fail === null;
      if (has && !want.strict && !stream.dark.has(want.entered))
        this.#tell(want.entered, { id: stream.guildId, unavailable: true });
      // Who is being resumed is asked for once more by whoever has just heard of the failure.
      const after = want.strict ? want.after : null;
      if (!want.strict) this.#darken(stream, want.entered);
      stream.wants.set(want.entered, { ...want, after, strict: false, settle: null, fail: null });
    }
  }

  #deleted(stream: Stream, entered: HomeSession, body: DispatchBody): void {
    if (isUnavailable(body)) this.#darken(stream, entered);
    // Of who waits to be shown the guild the user was put out before, and has joined it again.
    else if (stream.wants.get(entered)?.after === null) entered.session.left?.(stream.guildId);
    // The answer to the question says whether its user has come back since.
    else if (!stream.wants.has(entered)) this.#unfollowed(stream, entered, 'gone');
  }

  /** It has the guild, and is to be shown it anew: clients take that for what they know already, unless it was away. */
  #away(stream: Stream, entered: HomeSession): void {
    this.#tell(entered, { id: stream.guildId, unavailable: true });
    stream.dark.add(entered);
    entered.session.left?.(stream.guildId);
  }

  /** The session has been told that the guild is unavailable: it is shown the guild when it is back. */
  #darken(stream: Stream, entered: HomeSession): void {
    stream.dark.add(entered);
    // Wherever it goes on, it has nothing of the stream.
    entered.session.left?.(stream.guildId);
    const rest = { sinceMs: this.#ports.nowMs(), settle: null, fail: null };
    const want = stream.wants.get(entered) ?? { entered, ...rest };
    stream.wants.set(entered, { ...want, after: null, strict: false, asked: null });
    this.#askOn(stream);
  }

  #tell({ session }: HomeSession, d: object): void {
    if (session.bot && (session.intents & INTENTS.GUILDS) === 0) return;
    session.deliver(new DispatchBody('GUILD_DELETE', d, this.#ports.nowMs()));
  }
}

const isUnavailable = ({ d }: DispatchBody): boolean =>
  (d as { readonly unavailable?: boolean }).unavailable === true;

/** Whether it is owned as it was: the same shard may have lost it and have it again, and then it knows nothing. */
export const isSameTenure = (before: Owner | null, now: Owner | null): boolean =>
  before !== null && now !== null && before.instance === now.instance && before.epoch === now.epoch;
