import { receivesGuilds } from '../../../engine/fanout/audience.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { Subscribed } from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { LiveSession } from '../../session/backend.ts';
import { type GuildRequestPorts, GuildRequests } from './guildrequests.ts';
import {
  type GuildStream,
  isFrom,
  isSameSource,
  isUnavailable,
  isUnder,
  keep,
  localEpochOf,
  newGuildStream,
  RETRY_MS,
  type StreamSource,
  senderOf,
  subscriptionOf,
} from './guildstream.ts';
import type { LocalSession, Peer } from './peer.ts';
import { isPending, isRequestedIn, receives } from './subscriptionstate.ts';
import { type SubscriptionEffect, type SubscriptionEvent, transition } from './subscriptiontransition.ts';

interface GuildSubscriptionPorts extends GuildRequestPorts {
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly unsubscribeHere: (guildId: string, session: LiveSession) => void;
  /** Until subscribers receive `following` again, each session has a stream position of its own. */
  readonly streamInterrupted: (guildId: string) => void;
}

/**
 * Guild subscriptions of local sessions, with stream positions and sources; they survive changes of owner. What becomes
 * of each subscription is decided in `transition`.
 */
export class GuildSubscriptions {
  readonly #ports: GuildSubscriptionPorts;
  readonly #requests: GuildRequests;
  readonly #streams = new Map<string, GuildStream>();
  /** When partitions lost their owner, in monotonic milliseconds. */
  readonly #ownerless = new Map<number, number>();

  constructor(ports: GuildSubscriptionPorts) {
    this.#ports = ports;
    this.#requests = new GuildRequests(ports, {
      changeSource: (stream, source) => this.#changeSource(stream, source),
      apply: (stream, local, event) => this.#apply(stream, local, event),
      caughtUpHere: (stream, local, request, n) => {
        if (isRequestedIn(subscriptionOf(stream, local), request)) this.#caughtUp(stream, local, n);
        else this.#apply(stream, local, { type: 'caughtUpLate', n });
      },
    });
    const stopListening = ports.ownership.onChange(({ moved }) => this.#ownersChanged(new Set(moved)));
    ports.scope.own(() => {
      stopListening();
      for (const stream of this.#streams.values()) this.#requests.cancelRetry(stream);
      this.#streams.clear();
    });
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
    let stream = this.#streams.get(guildId);
    if (!stream) {
      stream = newGuildStream(guildId);
      this.#streams.set(guildId, stream);
    }
    const subscribed = stream;
    const { n, source } = subscribed;
    const from = local.session.over && source.from === 'peer' ? 'nobody' : source.from;
    return new Promise((settle, fail) => {
      const waiter = { kind: strict ? 'resuming' : 'subscribing', caller: { settle, fail } } as const;
      const sinceMs = this.#sinceMs(guildId);
      const deliversUnder = localEpochOf(subscribed);
      this.#apply(subscribed, local, { type: 'subscribe', waiter, after, n, sinceMs, from, deliversUnder });
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
      if (stream?.source.from === 'here') here.push(guildId);
      if (stream) this.#apply(stream, local, { type: 'left' });
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
    if (stream?.source.from !== 'peer' || stream.source.peer !== peer || !isUnder(stream, epochOf(n))) return;
    const { session } = local;
    // GUILD_CREATE comes first; without it, this is the answer to a request from before the guild was withdrawn.
    const state = subscriptionOf(stream, local);
    if (isPending(state) && receivesGuilds(session) && state.client.kind === 'unavailable') return;
    this.#caughtUp(stream, local, n);
    session.following(guildId, n);
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
    if (body.t === 'GUILD_DELETE') return (local) => this.#guildDeleted(stream, local, n, body);
    if (stream.pending.size === 0) return undefined;
    return (local) => receives(subscriptionOf(stream, local), n, body.t, receivesGuilds(local.session));
  }

  /** A session was sent GUILD_CREATE: it is resumed from there, also when its owner is lost before it sends `following`. */
  guildCreated(stream: GuildStream, { session }: LocalSession, n: number): void {
    session.following(stream.guildId, n);
    // From an owner that was lost: dispatches for others do not move the session's position.
    if (!isUnder(stream, epochOf(n))) this.#ports.streamInterrupted(stream.guildId);
  }

  /** The actor of a guild ended as the guild moved to another owner; it delivered everything up to `n`. */
  guildReleased(guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream) return;
    if (n > stream.n) stream.n = n;
    for (const local of [...stream.pending.keys()]) this.#apply(stream, local, { type: 'released', n });
  }

  /**
   * The actor of a guild failed; its subscriptions are requested again.
   *
   * @param shardId Of its owner, whose deliveries were received before; null for this shard.
   * @param n This shard delivered everything up to it.
   */
  guildLost(guildId: string, shardId: string | null, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream) return;
    const isSource = (senderOf(stream)?.peer.shardId ?? null) === shardId && stream.source.from !== 'nobody';
    if (isSource) this.#changeSource(stream, { from: 'nobody', last: null });
    // The position of the sessions is known before they are requested from there.
    this.guildReleased(guildId, n);
    if (isSource) this.#resubscribe(stream);
  }

  /** A guild is loaded at its owner. Subscriptions that wait for their next attempt are requested at once. */
  guildLoaded(guildId: string): void {
    const stream = this.#streams.get(guildId);
    if (stream?.requests.name === 'retrying') this.#requests.request(stream);
  }

  /** The user left a local guild, whose actor that removed the member is known by its position `n`. */
  memberRemoved(guildId: string, userId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (!stream) return;
    const event = { type: 'memberRemoved', epoch: epochOf(n), deliversUnder: localEpochOf(stream) } as const;
    for (const local of [...stream.followers])
      if (local.session.userId === userId) this.#apply(stream, local, event);
  }

  /**
   * The guild's owner has another object for the session since position `n`, because the session's previous shard sent
   * a late request. Requests the stream again from there.
   */
  sessionReplaced(local: LocalSession, guildId: string, n: number): void {
    const stream = this.#streams.get(guildId);
    if (stream) this.#apply(stream, local, { type: 'replaced', n, nowMs: this.#ports.nowMs() });
  }

  /** The peer epoch ended: subscriptions to its streams are requested again. */
  peerLost(peer: Peer): void {
    for (const stream of this.#streams.values())
      if (stream.source.from === 'peer' && stream.source.peer === peer) this.#resubscribe(stream);
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
      if (!isFrom(stream, ownership.ownerOf(stream.guildId))) this.#resubscribe(stream);
    }
  }

  #resubscribe(stream: GuildStream): void {
    this.#changeSource(stream, { from: 'nobody', last: null });
    stream.retryMs = RETRY_MS.first;
    this.#requests.request(stream);
  }

  /** Changes the source of the stream: its subscribers request it again, from the stream's position. */
  #changeSource(stream: GuildStream, source: StreamSource): void {
    if (isSameSource(stream.source, source)) return;
    const deliveredUnder = localEpochOf(stream);
    stream.source = source.from === 'nobody' ? { from: 'nobody', last: senderOf(stream) } : source;
    this.#ports.streamInterrupted(stream.guildId);
    const sinceMs = this.#sinceMs(stream.guildId);
    const event = { type: 'sourceChanged', n: stream.n, deliveredUnder, sinceMs } as const;
    for (const local of stream.followers) this.#apply(stream, local, event);
  }

  #sinceMs(guildId: string): number {
    return this.#ownerless.get(this.#ports.ownership.partitionOf(guildId)) ?? this.#ports.nowMs();
  }

  #caughtUp(stream: GuildStream, local: LocalSession, n: number): void {
    if (n > stream.n) stream.n = n;
    this.#apply(stream, local, { type: 'caughtUp', n });
  }

  /** Returns false when the session already has this GUILD_DELETE. */
  #guildDeleted(stream: GuildStream, local: LocalSession, n: number, body: DispatchBody): boolean {
    if (isUnavailable(body)) {
      const isSubscribed = subscriptionOf(stream, local).name !== 'absent';
      this.#apply(stream, local, { type: 'unavailable', nowMs: this.#ports.nowMs() });
      return isSubscribed;
    }
    if (!receives(subscriptionOf(stream, local), n, body.t, receivesGuilds(local.session))) return false;
    this.#apply(stream, local, { type: 'guildDeleted' });
    return true;
  }

  #apply(stream: GuildStream, local: LocalSession, event: SubscriptionEvent): void {
    const before = subscriptionOf(stream, local);
    const { next, effects } = transition(before, event);
    if (next !== before) keep(stream, local, next);
    if (stream.followers.size === 0 && this.#streams.get(stream.guildId) === stream) {
      this.#requests.cancelRetry(stream);
      this.#streams.delete(stream.guildId);
    }
    for (const effect of effects) this.#perform(stream, local, effect);
  }

  #perform(stream: GuildStream, { session }: LocalSession, effect: SubscriptionEffect): void {
    const { guildId } = stream;
    if (effect.do === 'settle') effect.caller.settle(effect.how);
    else if (effect.do === 'fail') effect.caller.fail(effect.fault);
    else if (effect.do === 'sendGuildDelete')
      sendGuildDelete(session, { id: guildId, ...effect.content }, this.#ports.nowMs());
    else if (effect.do === 'dropCursor') session.left?.(guildId);
    else if (effect.do === 'request') this.#requests.request(stream);
    else this.#requests.retry(stream);
  }
}

function sendGuildDelete(session: LiveSession, d: object, nowMs: number): void {
  if (receivesGuilds(session)) session.deliver(new DispatchBody('GUILD_DELETE', d, nowMs));
}
