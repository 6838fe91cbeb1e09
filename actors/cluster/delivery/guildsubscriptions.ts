import { DispatchBody } from '../../../engine/fanout/body.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { Owner, Ownership, Router, Subscribed } from '../../placement/ports.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import {
  type GuildStream,
  type GuildSubscription,
  isBeingAnswered,
  isNewTo,
  isSameOwner,
  isUnavailable,
  newGuildStream,
  type PendingSubscription,
  peerOf,
} from './guildstream.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

interface GuildSubscriptionPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly reference: (local: LocalSession, peer: Peer) => SessionReference;
  /**
   * Subscribes sessions to a local guild, with outcomes in their order; `caughtUp` runs for each subscribed session.
   */
  readonly subscribeHere: (
    guildId: GuildId,
    wanted: readonly (GuildSubscription<LiveSession> & { readonly caughtUp: (n: number) => void })[],
  ) => Promise<readonly Subscribed[]>;
  readonly unsubscribeHere: (guildId: string, session: LiveSession) => void;
  /** Until subscribers receive `following` again, each session has a stream position of its own. */
  readonly streamInterrupted: (guildId: string) => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Upper bounds on the subscriptions of one request, which keeps replies short, and on concurrent requests. */
const BATCH_MAX = 256;
const REQUESTS_MAX = 64;
const ASK_DEADLINE_MS = 30_000;
/** How long a guild may be unreachable before its sessions receive GUILD_DELETE as unavailable. */
const UNAVAILABLE_AFTER_MS = 10_000;
/** First and longest delay before a failed request is retried. */
const RETRY_MS = { first: 100, most: 2500 };

/** Guild subscriptions of local sessions, with stream positions and sources; they survive changes of owner. */
export class GuildSubscriptions {
  readonly #ports: GuildSubscriptionPorts;
  readonly #streams = new Map<string, GuildStream>();
  readonly #requestSlots = new Semaphore(REQUESTS_MAX);
  /** When partitions lost their owner, in monotonic milliseconds. */
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
   * Subscribes a session and keeps it subscribed as long as it lives and its user is a member. Resolves when the
   * session is subscribed; rejects when the guild is unreachable for now, while retries continue.
   */
  subscribe(
    local: LocalSession,
    guildId: GuildId,
    after: number | null,
    strict = false,
  ): Promise<Subscribed> {
    const stream = this.#streamOf(guildId);
    const known = stream.pending.get(local);
    const follows = stream.followers.has(local) && !stream.unavailable.has(local);
    // A subscribed session has the guild, unless its user left and rejoined. A request with a position lets the owner
    // detect that.
    if (follows && after === null && !known && stream.source === 'here') return Promise.resolve('member');
    const resumeAfter = follows && after === null ? (known ? known.after : stream.n) : after;
    stream.followers.add(local);
    local.guildIds.add(guildId);
    // An earlier caller for the same session is answered: the session is subscribed once the next request succeeds.
    known?.settle?.('member');
    return new Promise((settle, fail) => {
      if (known && isBeingAnswered(stream, known) && after === null) {
        // The owner may still be answering the request in flight; that answer must not pass for the answer to the next one.
        stream.pending.set(local, { ...known, strict, asksAgain: true, settle, fail });
        return;
      }
      const sinceMs = this.#sinceMs(guildId);
      stream.pending.set(local, { local, after: resumeAfter, strict, sinceMs, request: null, settle, fail });
      this.#request(stream);
    });
  }

  /**
   * Ends all subscriptions of the session. A session that moves to another shard stays subscribed with guilds of this
   * shard for `keptMs`, so that changes of channel access in the meantime are computed for it too.
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

  /** The owner reports that the session is subscribed and has everything up to `n`. */
  caughtUp(peer: Peer, local: LocalSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    // A report under an earlier epoch of the same owner does not answer the current request.
    if (stream?.source !== peer || stream.owner?.epoch !== epochOf(n)) return;
    this.#caughtUp(stream, local, n);
    local.session.following(guildId, n);
  }

  /**
   * Updates the stream's position. Returns a filter that is false for sessions that already have the dispatch;
   * undefined, as in nearly all cases, when no session can have it.
   */
  noteDispatch(
    stream: GuildStream,
    n: number,
    body: DispatchBody,
  ): ((local: LocalSession) => boolean) | undefined {
    if (n > stream.n) stream.n = n;
    if (body.t === 'GUILD_DELETE')
      return (local) => {
        const isNew = isUnavailable(body) || isNewTo(local, stream, n, body);
        if (isNew) this.#guildDeleted(stream, local, body);
        return isNew;
      };
    if (stream.pending.size === 0 || n === 0) return undefined;
    return (local) => isNewTo(local, stream, n, body);
  }

  /** A session was sent GUILD_CREATE: it is resumed from there, also when its owner is lost before it sends `following`. */
  guildCreated({ guildId, source, owner }: GuildStream, { session }: LocalSession, n: number): void {
    session.following(guildId, n);
    // From an owner that was lost: dispatches for others do not move the session's position.
    if (source === null || owner?.epoch !== epochOf(n)) this.#ports.streamInterrupted(guildId);
  }

  /** The actor of a guild ended as the guild moved to another owner; it delivered everything up to `n`. */
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

  /** The actor of a guild ended, and its sessions received GUILD_DELETE as unavailable. */
  guildUnavailable(guildId: string, sessions: ReadonlySet<LiveSession>): void {
    const stream = this.#streams.get(guildId);
    for (const local of stream?.followers ?? [])
      if (stream && sessions.has(local.session)) this.#markUnavailable(stream, local);
  }

  /**
   * The user left a local guild: ends subscriptions that received GUILD_DELETE from the actor that removed the member,
   * known by its position `n`; the reply ends the others, also those that only an actor before it delivers to.
   */
  memberRemoved(guildId: string, userId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    const epoch = epochOf(n);
    for (const local of [...(stream?.followers ?? [])]) {
      if (!stream || local.session.userId !== userId) continue;
      const subscription = stream.pending.get(local);
      const deliveredUnder = stream.source === 'here' ? stream.owner?.epoch : undefined;
      if ((subscription ? subscription.deliveredUnder : deliveredUnder) === epoch)
        this.#unsubscribed(stream, local, 'gone');
    }
  }

  /**
   * The guild's owner has another object for the session since position `n`, because the session's previous shard sent
   * a late request. Requests the stream again from there.
   */
  sessionReplaced(local: LocalSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream?.followers.has(local) || stream.pending.has(local)) return;
    const rest = { strict: false, sinceMs: this.#ports.nowMs(), request: null, settle: null, fail: null };
    stream.pending.set(local, { local, after: n, ...rest });
    this.#retryLater(stream);
  }

  /** The peer epoch ended: subscriptions to its streams are requested again. */
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

  /** Changes the source of the stream: its subscribers request it again, from the stream's position. */
  #setSource(stream: GuildStream, source: GuildStream['source'], owner: Owner | null): void {
    if (stream.source === source && (source === null || isSameOwner(stream.owner, owner))) return;
    const deliveredUnder = stream.source === 'here' ? stream.owner?.epoch : undefined;
    const lastSource = source === null ? peerOf(stream) : null;
    Object.assign(stream, { source, lastSource, owner });
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

  #streamOf(guildId: GuildId): GuildStream {
    let stream = this.#streams.get(guildId);
    if (!stream) {
      stream = newGuildStream(guildId, RETRY_MS.first);
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

  /** Retries, after a delay, subscriptions that no request in flight contains. */
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
      for (const subscription of pending) {
        subscription.request = request;
        subscription.asksAgain = false;
        if (!subscription.isRemoved) continue;
        subscription.isRemoved = false;
        subscription.after = null;
      }
      let answers: readonly Subscribed[] | null = null;
      try {
        answers = await this.#send(stream, source, pending, request);
      } catch (fault) {
        for (const subscription of stream.pending.values())
          if (subscription.request === request) subscription.request = null;
        if (this.#closed) return;
        return this.#requestFailed(stream, fault as Error);
      }
      stream.retryMs = RETRY_MS.first;
      for (const [index, { local }] of pending.entries()) {
        const subscription = stream.pending.get(local);
        if (subscription?.request === request)
          this.#handleAnswer(stream, subscription, answers[index] ?? 'gone');
      }
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
      const wanted = pending.map(({ local, after }) => ({
        ...{ session: local.session, after },
        caughtUp: (n: number) => this.#caughtUpHere(stream, local, request, n),
      }));
      return subscribeHere(stream.guildId, wanted);
    }
    const requested = pending.map(({ local, after }) => ({ session: reference(local, source), after }));
    // The owner rejects a request that names another epoch: otherwise it would deliver dispatches that this shard still
    // drops, and count them as received.
    const args = [stream.guildId, requested, stream.owner?.epoch ?? 0] as const;
    return router.askShard(source.shardId, 'remoteSessions.subscribe', args, ASK_DEADLINE_MS);
  }

  /** Handles `caughtUp` of a local actor, which delivers until it ends, also when it answers an outdated request. */
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
      if (stream.source === 'here') {
        this.#caughtUp(stream, subscription.local, 0);
        return;
      }
      if (subscription.asksAgain) return;
      // A remote owner sends `following` after the missed dispatches; only that ends the request. Nobody waits for it:
      // should the owner change before, what the next one answers has to reach the session itself.
      stream.pending.set(subscription.local, { ...subscription, strict: false, settle: null, fail: null });
      subscription.settle?.('member');
      return;
    }
    if (how === 'tooOld' && !subscription.strict) {
      this.#showAgain(stream, subscription.local);
      this.#markUnavailable(stream, subscription.local);
      return;
    }
    // A live session was not subscribed when its user left, so it received no GUILD_DELETE. A session that is being
    // resumed receives it in `reopen`.
    const { local, after, settle, strict, asksAgain } = subscription;
    const has = after !== null && !strict;
    if (how === 'gone' && (has || (settle === null && !asksAgain)))
      this.#sendGuildDelete(local, { id: stream.guildId });
    if (how === 'gone' && asksAgain) {
      // The user had left when the owner answered, and has rejoined since.
      local.session.left?.(stream.guildId);
      stream.pending.set(local, { ...subscription, after: null, request: null });
      this.#retryLater(stream);
      return;
    }
    this.#unsubscribed(stream, local, how);
  }

  #caughtUp(stream: GuildStream, local: LocalSession, n: number): void {
    if (n > stream.n) stream.n = n;
    stream.unavailable.delete(local);
    const subscription = stream.pending.get(local);
    if (!subscription) return;
    if (subscription.asksAgain) {
      stream.pending.set(local, { ...subscription, after: n, isRemoved: false, request: null });
      this.#retryLater(stream);
      return;
    }
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

  /** Marks the guild as unavailable after `UNAVAILABLE_AFTER_MS`, or at once when the guild itself failed. */
  #requestFailed(stream: GuildStream, fault: Error | null): void {
    const nowMs = this.#ports.nowMs();
    for (const subscription of [...stream.pending.values()]) {
      const late = nowMs - subscription.sinceMs >= UNAVAILABLE_AFTER_MS;
      const failed = fault !== null && !(fault instanceof NotServed) && fault.name !== 'LinkFault';
      if (subscription.request !== null || !(late || failed)) continue;
      subscription.fail?.(fault ?? new NotServed(`No shard serves the guild ${stream.guildId}.`));
      const has = subscription.after !== null || subscription.fail === null;
      if (has && !subscription.strict && !stream.unavailable.has(subscription.local))
        this.#sendGuildDelete(subscription.local, { id: stream.guildId, unavailable: true });
      // A resuming session keeps its position: the caller that received the failure requests it again.
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
    const subscription = stream.pending.get(local);
    if (isUnavailable(body)) this.#markUnavailable(stream, local);
    // The user was removed and rejoined while this session waited for GUILD_CREATE.
    else if (subscription?.after === null) local.session.left?.(stream.guildId);
    else if (!subscription) this.#unsubscribed(stream, local, 'gone');
    // The reply to the request in flight says whether the user has rejoined. A later request asks for GUILD_CREATE, as
    // the owner cannot see the removal from a position behind it.
    else subscription.isRemoved = true;
  }

  /** Sends GUILD_DELETE as unavailable first, because clients ignore GUILD_CREATE for an available guild. */
  #showAgain(stream: GuildStream, local: LocalSession): void {
    this.#sendGuildDelete(local, { id: stream.guildId, unavailable: true });
    stream.unavailable.add(local);
    local.session.left?.(stream.guildId);
  }

  /** The session received GUILD_DELETE as unavailable; requests GUILD_CREATE for when the guild is available again. */
  #markUnavailable(stream: GuildStream, local: LocalSession): void {
    stream.unavailable.add(local);
    // Removes the cursor: a shard that takes the session over must not resume the stream.
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
