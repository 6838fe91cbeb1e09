import { DispatchBody } from '../../../engine/fanout/body.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { Owner, Ownership, Router, Subscribed } from '../../placement/ports.ts';
import type { Timer } from '../../runtime/clock.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

/** A session that is to hear a guild: from GUILD_CREATE on, or from behind the number `after`. */
export interface GuildSubscription<Session> {
  readonly session: Session;
  readonly after: number | null;
}

interface GuildSubscriptionPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly reference: (local: LocalSession, peer: Peer) => SessionReference;
  /** Subscribes sessions to a guild of this shard; answers in their order, and calls `caughtUp` of those that hear it. */
  readonly subscribeHere: (
    guildId: string,
    wanted: readonly (GuildSubscription<LiveSession> & { readonly caughtUp: (n: number) => void })[],
  ) => Promise<readonly Subscribed[]>;
  readonly unsubscribeHere: (guildId: string, session: LiveSession) => void;
  /** Until they are told `following` again, its followers have only what each is told. */
  readonly streamInterrupted: (guildId: string) => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Subscriptions in one question, so that it is answered within some milliseconds, and guilds that are asked for at one time. */
const BATCH_MAX = 256;
const REQUESTS_MAX = 64;
const ASK_DEADLINE_MS = 30_000;
/** How long a guild may be out of reach before its sessions hear that it is. */
const UNAVAILABLE_AFTER_MS = 10_000;
/** First and longest wait before a guild that could not be had is asked for again. */
const RETRY_MS = { first: 100, most: 2500 };

/** A session that does not hear its guild yet, or not any more. */
interface PendingSubscription {
  readonly local: LocalSession;
  /** What it has of the stream; null: nothing, it is to be shown the guild. */
  after: number | null;
  /** It is being resumed: rather nothing than a gap, or the guild anew. */
  readonly strict: boolean;
  readonly sinceMs: number;
  /** Under which an actor of this shard tells it the stream, until that has ended: only then is it known up to where. */
  deliveredUnder?: number | undefined;
  /** The question that is under way for it. */
  request: object | null;
  readonly settle: ((how: Subscribed) => void) | null;
  readonly fail: ((fault: Error) => void) | null;
}

/** The stream of one guild, of which sessions of this shard hear. */
interface GuildStream {
  readonly guildId: string;
  /** Who tells it: a peer, or this shard; null: nobody now. */
  source: Peer | 'here' | null;
  /** Under which it does. */
  owner: Owner | null;
  /** The number of the newest dispatch that came. Who hears the stream has everything up to it that it may see. */
  n: number;
  readonly followers: Set<LocalSession>;
  readonly pending: Map<LocalSession, PendingSubscription>;
  /** Sessions that were told that the guild is unavailable: to them it is shown anew. */
  readonly unavailable: Set<LocalSession>;
  isRequesting: boolean;
  retryMs: number;
  retry: Timer | null;
}

/** Which guilds the sessions of this shard follow, how far, and from whom; they go on over changes of owner. */
export class GuildSubscriptions {
  readonly #ports: GuildSubscriptionPorts;
  readonly #streams = new Map<string, GuildStream>();
  readonly #requestSlots = new Semaphore(REQUESTS_MAX);
  /** Since when partitions have had no owner, monotonic milliseconds. */
  readonly #ownerless = new Map<number, number>();
  readonly #stopListening: () => void;
  #closed = false;

  constructor(ports: GuildSubscriptionPorts) {
    this.#ports = ports;
    this.#stopListening = ports.ownership.onChange(({ moved }) => this.#ownersChanged(new Set(moved)));
  }

  stream(guildId: string): GuildStream | undefined {
    return this.#streams.get(guildId);
  }

  /**
   * Subscribes a session and keeps it subscribed for as long as it lives and its user is a member. Resolves when it
   * hears the guild; rejects when the guild cannot be had for the time being, which goes on being tried.
   */
  subscribe(local: LocalSession, guildId: string, after: number | null, strict = false): Promise<Subscribed> {
    const stream = this.#streamOf(guildId);
    const known = stream.pending.get(local);
    const follows = stream.followers.has(local) && !stream.unavailable.has(local);
    // Who follows it has the guild, unless its user has left and come back: the owner says so to who asks from a cursor.
    if (follows && after === null && !known && stream.source === 'here') return Promise.resolve('member');
    const resumeAfter = follows && after === null ? (known ? known.after : stream.n) : after;
    stream.followers.add(local);
    local.guildIds.add(guildId);
    // Whoever waits for the same session already hears it from the next answer on.
    known?.settle?.('member');
    return new Promise((settle, fail) => {
      const sinceMs = this.#sinceMs(guildId);
      stream.pending.set(local, { local, after: resumeAfter, strict, sinceMs, request: null, settle, fail });
      this.#request(stream);
    });
  }

  /**
   * The session hears none of its guilds any more. One that goes on at another home stands with those of this shard for
   * as long as that may take (`keptMs`): who comes to see a channel meanwhile, and who does no longer, is reckoned with it.
   */
  leave(local: LocalSession, keptMs: number | null): void {
    const { unsubscribeHere, wheel } = this.#ports;
    const here: string[] = [];
    for (const guildId of [...local.guildIds]) {
      const stream = this.#streams.get(guildId);
      if (stream?.source === 'here') here.push(guildId);
      if (stream) this.#unsubscribed(stream, local, 'gone');
    }
    const end = (): void => {
      for (const guildId of here) unsubscribeHere(guildId, local.session);
    };
    if (keptMs === null) end();
    else if (here.length > 0) wheel.after(end, keptMs);
  }

  /** The owner says that the session hears the stream from here on, and has everything up to `n`. */
  caughtUp(peer: Peer, local: LocalSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    // Said under an earlier ownership of the same shard, it is no answer to what the session was asked for since.
    if (stream?.source !== peer || stream.owner?.epoch !== epochOf(n)) return;
    this.#caughtUp(stream, local, n);
    local.session.following(guildId, n);
  }

  /**
   * Notes a dispatch that has come. What it answers is to be asked of each session that it is for, and is false when the
   * session has had it; undefined, as nearly always, when there is nothing to ask.
   */
  noteDispatch(
    stream: GuildStream,
    n: number,
    body: DispatchBody,
  ): ((local: LocalSession) => boolean) | undefined {
    if (n > stream.n) stream.n = n;
    if (body.t === 'GUILD_DELETE')
      return (local) => {
        const isNew = isUnavailable(body) || this.#isNew(stream, local, n);
        if (isNew) this.#guildDeleted(stream, local, body);
        return isNew;
      };
    if (stream.pending.size === 0 || n === 0) return undefined;
    return (local) => this.#isNew(stream, local, n);
  }

  /** False when a session that wants the stream from somewhere on has had this already. */
  #isNew({ pending }: GuildStream, local: LocalSession, n: number): boolean {
    const subscription = pending.get(local);
    if (!subscription || subscription.after === null) return true;
    // The last owner's late word, and the next one's for it, may be of the same shard.
    if (n <= subscription.after) return false;
    subscription.after = n;
    return true;
  }

  /** The actor of a guild of this shard has ended as the guild changes hands; it has told everything up to `n`. */
  guildReleased(guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream) return;
    if (n > stream.n) stream.n = n;
    const epoch = epochOf(n);
    for (const subscription of stream.pending.values()) {
      if (subscription.deliveredUnder !== epoch) continue;
      subscription.deliveredUnder = undefined;
      if (subscription.after !== null && n > subscription.after) subscription.after = n;
    }
  }

  /** The actor of a guild of this shard has ended and its sessions were told that it is unavailable. */
  guildUnavailable(guildId: string, sessions: ReadonlySet<LiveSession>): void {
    const stream = this.#streams.get(guildId);
    for (const local of stream?.followers ?? [])
      if (stream && sessions.has(local.session)) this.#markUnavailable(stream, local);
  }

  /**
   * The user has left a guild of this shard. Sessions here that hear it were told so, and hear nothing of it any more;
   * those that do not yet are told when they ask.
   */
  memberRemoved(guildId: string, userId: string): void {
    const stream = this.#streams.get(guildId);
    for (const local of [...(stream?.followers ?? [])]) {
      if (!stream || local.session.userId !== userId) continue;
      const subscription = stream.pending.get(local);
      const wasTold = subscription ? subscription.deliveredUnder !== undefined : stream.source === 'here';
      if (wasTold) this.#unsubscribed(stream, local, 'gone');
    }
  }

  /**
   * Another stood for the session with the guild's owner, since `n`: a home that let it go had asked late. It wants the
   * stream again from there.
   */
  sessionReplaced(local: LocalSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream?.followers.has(local) || stream.pending.has(local)) return;
    const rest = { strict: false, sinceMs: this.#ports.nowMs(), request: null, settle: null, fail: null };
    stream.pending.set(local, { local, after: n, ...rest });
    this.#retryLater(stream);
  }

  /** A peer's talk is over: what it told is to be had anew. */
  peerLost(peer: Peer): void {
    for (const stream of this.#streams.values()) if (stream.source === peer) this.#resubscribe(stream);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    for (const { retry } of this.#streams.values()) retry?.cancel();
    this.#streams.clear();
  }

  #ownersChanged(partitions: ReadonlySet<number>): void {
    const { ownership, nowMs } = this.#ports;
    for (const partition of partitions) {
      if (ownership.view.owners[partition]) this.#ownerless.delete(partition);
      else if (!this.#ownerless.has(partition)) this.#ownerless.set(partition, nowMs());
    }
    if (partitions.size === 0) return;
    for (const stream of this.#streams.values()) {
      if (!partitions.has(ownership.partitionOf(stream.guildId))) continue;
      const owner = ownership.ownerOf(stream.guildId);
      if (stream.source === null || !isSameOwner(stream.owner, owner)) this.#resubscribe(stream);
    }
  }

  #resubscribe(stream: GuildStream): void {
    this.#setSource(stream, null, null);
    stream.retryMs = RETRY_MS.first;
    this.#request(stream);
  }

  /** Another tells the stream from now on: whoever heard it wants it again, from where the stream is. */
  #setSource(stream: GuildStream, source: GuildStream['source'], owner: Owner | null): void {
    if (stream.source === source && (source === null || isSameOwner(stream.owner, owner))) return;
    const deliveredUnder = stream.source === 'here' ? stream.owner?.epoch : undefined;
    stream.source = source;
    stream.owner = owner;
    this.#ports.streamInterrupted(stream.guildId);
    for (const subscription of stream.pending.values()) subscription.request = null;
    const sinceMs = this.#sinceMs(stream.guildId);
    for (const local of stream.followers) {
      if (stream.pending.has(local)) continue;
      const after = stream.unavailable.has(local) ? null : stream.n;
      const rest = { strict: false, deliveredUnder, sinceMs, request: null, settle: null, fail: null };
      stream.pending.set(local, { local, after, ...rest });
    }
  }

  #sinceMs(guildId: string): number {
    return this.#ownerless.get(this.#ports.ownership.partitionOf(guildId)) ?? this.#ports.nowMs();
  }

  #streamOf(guildId: string): GuildStream {
    let stream = this.#streams.get(guildId);
    if (!stream) {
      stream = {
        ...{ guildId, source: null, owner: null, n: 0 },
        ...{ followers: new Set(), pending: new Map(), unavailable: new Set() },
        ...{ isRequesting: false, retryMs: RETRY_MS.first, retry: null },
      };
      this.#streams.set(guildId, stream);
    }
    return stream;
  }

  #request(stream: GuildStream): void {
    if (stream.isRequesting || this.#closed) return;
    stream.isRequesting = true;
    stream.retry?.cancel();
    stream.retry = null;
    this.#requestSlots
      .run(() => this.#requestPending(stream))
      .catch((fault) => this.#ports.onFault(fault, stream.guildId))
      .finally(() => {
        stream.isRequesting = false;
        this.#retryLater(stream);
      });
  }

  /** Asks again, after a while, for those who still want. */
  #retryLater(stream: GuildStream): void {
    if (this.#closed || stream.retry) return;
    let isUnrequested = false;
    for (const { request } of stream.pending.values()) isUnrequested ||= request === null;
    if (!isUnrequested) return;
    const delayMs = stream.retryMs;
    stream.retry = this.#ports.wheel.add(() => {
      stream.retry = null;
      this.#request(stream);
    }, delayMs);
    stream.retryMs = Math.min(delayMs * 2, RETRY_MS.most);
  }

  async #requestPending(stream: GuildStream): Promise<void> {
    const { ownership } = this.#ports;
    const { guildId } = stream;
    for (;;) {
      const owner = ownership.ownerOf(guildId);
      const here = ownership.owns(guildId);
      const other = owner && owner.instance !== ownership.self?.instance ? owner : null;
      const source = here ? 'here' : other && this.#ports.peer(other.shardId, other.instance);
      this.#setSource(stream, source, owner);
      const pending = this.#unrequested(stream);
      if (pending.length === 0) return;
      if (source === null) return this.#requestFailed(stream, null);
      const request = {};
      for (const subscription of pending) subscription.request = request;
      let answers: readonly Subscribed[] | null = null;
      try {
        answers = await this.#send(stream, source, pending, request);
      } catch (fault) {
        for (const subscription of pending) if (subscription.request === request) subscription.request = null;
        if (this.#closed) return;
        return this.#requestFailed(stream, fault as Error);
      }
      stream.retryMs = RETRY_MS.first;
      for (const [index, subscription] of pending.entries())
        if (subscription.request === request && stream.pending.get(subscription.local) === subscription)
          this.#handleAnswer(stream, subscription, answers[index] ?? 'gone');
    }
  }

  #unrequested(stream: GuildStream): PendingSubscription[] {
    const pending: PendingSubscription[] = [];
    for (const subscription of [...stream.pending.values()]) {
      if (subscription.request !== null) continue;
      if (subscription.local.session.over) this.#unsubscribed(stream, subscription.local, 'gone');
      else pending.push(subscription);
      if (pending.length === BATCH_MAX) break;
    }
    return pending;
  }

  #send(
    stream: GuildStream,
    source: Peer | 'here',
    pending: readonly PendingSubscription[],
    request: object,
  ): Promise<readonly Subscribed[]> {
    const { router, reference, subscribeHere } = this.#ports;
    if (source === 'here') {
      const requested = pending.map(({ local, after }) => ({
        ...{ session: local.session, after },
        caughtUp: (n: number) => this.#caughtUpHere(stream, local, request, n),
      }));
      return subscribeHere(stream.guildId, requested);
    }
    const requested = pending.map(({ local, after }) => ({ session: reference(local, source), after }));
    // Under another ownership than this it would tell what is not listened to yet, and take it for heard.
    const args = [stream.guildId, requested, stream.owner?.epoch ?? 0] as const;
    const asked = router.askShard(source.shardId, 'remoteSessions.subscribe', args, ASK_DEADLINE_MS);
    return asked;
  }

  /** The same of an actor of this shard, which may be leaving: then it is heard until it has ended. */
  #caughtUpHere(stream: GuildStream, local: LocalSession, request: object, n: number): void {
    const subscription = stream.pending.get(local);
    if (!subscription) return;
    if (subscription.request === request) {
      this.#caughtUp(stream, local, n);
      return;
    }
    stream.unavailable.delete(local);
    stream.pending.set(local, { ...subscription, after: n, deliveredUnder: epochOf(n) });
  }

  #handleAnswer(stream: GuildStream, subscription: PendingSubscription, how: Subscribed): void {
    if (how === 'member') {
      // From elsewhere the owner's word for it is on its way, behind what was missed.
      if (stream.source === 'here') this.#caughtUp(stream, subscription.local, 0);
      else subscription.settle?.('member');
      return;
    }
    if (how === 'tooOld' && !subscription.strict) {
      this.#showAgain(stream, subscription.local);
      this.#markUnavailable(stream, subscription.local);
      return;
    }
    // A live session that was not there when its user left has not heard of it; one that comes from elsewhere hears it there.
    const has = subscription.settle === null || (subscription.after !== null && !subscription.strict);
    if (how === 'gone' && has) this.#sendGuildDelete(subscription.local, { id: stream.guildId });
    this.#unsubscribed(stream, subscription.local, how);
  }

  #caughtUp(stream: GuildStream, local: LocalSession, n: number): void {
    if (n > stream.n) stream.n = n;
    stream.unavailable.delete(local);
    const subscription = stream.pending.get(local);
    if (!subscription) return;
    stream.pending.delete(local);
    subscription.settle?.('member');
  }

  #unsubscribed(stream: GuildStream, local: LocalSession, how: Subscribed): void {
    const subscription = stream.pending.get(local);
    stream.pending.delete(local);
    stream.unavailable.delete(local);
    stream.followers.delete(local);
    local.guildIds.delete(stream.guildId);
    local.session.left?.(stream.guildId);
    if (stream.followers.size === 0) {
      stream.retry?.cancel();
      this.#streams.delete(stream.guildId);
    }
    subscription?.settle?.(how);
  }

  /** It could not be had. Who waits for the first time, and who has waited for long, hears so. */
  #requestFailed(stream: GuildStream, fault: Error | null): void {
    const nowMs = this.#ports.nowMs();
    for (const subscription of [...stream.pending.values()]) {
      const late = nowMs - subscription.sinceMs >= UNAVAILABLE_AFTER_MS;
      const failed = fault !== null && !(fault instanceof NotServed) && fault.name !== 'LinkFault';
      if (subscription.request !== null || !(late || failed)) continue;
      subscription.fail?.(fault ?? new NotServed(`Nobody serves the guild ${stream.guildId}.`));
      const has = subscription.after !== null || subscription.fail === null;
      if (has && !subscription.strict && !stream.unavailable.has(subscription.local))
        this.#sendGuildDelete(subscription.local, { id: stream.guildId, unavailable: true });
      // Who is being resumed is asked for once more by whoever has just heard of the failure.
      const after = subscription.strict ? subscription.after : null;
      if (!subscription.strict) this.#markUnavailable(stream, subscription.local);
      stream.pending.set(subscription.local, {
        ...subscription,
        after,
        strict: false,
        settle: null,
        fail: null,
      });
    }
  }

  #guildDeleted(stream: GuildStream, local: LocalSession, body: DispatchBody): void {
    if (isUnavailable(body)) this.#markUnavailable(stream, local);
    // Of who waits to be shown the guild the user was put out before, and has joined it again.
    else if (stream.pending.get(local)?.after === null) local.session.left?.(stream.guildId);
    // The answer to the question says whether its user has come back since.
    else if (!stream.pending.has(local)) this.#unsubscribed(stream, local, 'gone');
  }

  /** It has the guild, and is to be shown it anew: clients take that for what they know already, unless it was away. */
  #showAgain(stream: GuildStream, local: LocalSession): void {
    this.#sendGuildDelete(local, { id: stream.guildId, unavailable: true });
    stream.unavailable.add(local);
    local.session.left?.(stream.guildId);
  }

  /** The session has been told that the guild is unavailable: it is shown the guild when it is back. */
  #markUnavailable(stream: GuildStream, local: LocalSession): void {
    stream.unavailable.add(local);
    // Wherever it goes on, it has nothing of the stream.
    local.session.left?.(stream.guildId);
    const rest = { sinceMs: this.#ports.nowMs(), settle: null, fail: null };
    const subscription = stream.pending.get(local) ?? { local, ...rest };
    stream.pending.set(local, { ...subscription, after: null, strict: false, request: null });
    this.#retryLater(stream);
  }

  #sendGuildDelete({ session }: LocalSession, d: object): void {
    if (session.bot && (session.intents & INTENTS.GUILDS) === 0) return;
    session.deliver(new DispatchBody('GUILD_DELETE', d, this.#ports.nowMs()));
  }
}

const isUnavailable = ({ d }: DispatchBody): boolean =>
  (d as { readonly unavailable?: boolean }).unavailable === true;

/** Whether it is owned as it was: the same shard may have lost it and have it again, and then it knows nothing. */
export const isSameOwner = (before: Owner | null, now: Owner | null): boolean =>
  before !== null && now !== null && before.instance === now.instance && before.epoch === now.epoch;
