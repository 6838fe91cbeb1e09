import type { DispatchBody, Origin } from '../../../engine/fanout/body.ts';
import type { Authorization } from '../../../engine/oauth/authorization.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import type { ArgsOf, ShardTell } from '../../../protocol/link.ts';
import type { Ownership, Router, SessionFrame } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { Principal } from '../../session/ports.ts';
import type { SessionDescriptor } from '../ports.ts';

/** A session as its shard identifies it to an owner. */
export interface SessionReference {
  /** The instance of the session's shard. */
  readonly home: string;
  /**
   * The peer epoch of the two shards: after a break in their links the session's shard starts the next one and sends
   * everything again. Messages of an earlier epoch are ignored.
   */
  readonly talk: number;
  readonly session: SessionDescriptor;
}

interface RemotePorts {
  /** Sends frames for sessions; all other messages go through the router. */
  readonly links: { tell(shardId: string, frame: SessionFrame): void };
  readonly router: Pick<Router, 'tellShard'>;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the sessions of a lost shard are kept: each of them may be resumed on another shard. */
  readonly resumeWindowMs: number;
  /** Undoes what this shard does for the session, which has ended for good. */
  readonly ended: (session: RemoteSession) => void;
}

/**
 * `live`: its shard receives what is delivered. `released`: its shard no longer holds it, but another shard may take it.
 * `unreachable`: its shard is gone or started a new peer epoch. Both stay for the resume window. `ended`: for good.
 */
type RemoteState = 'live' | 'released' | 'unreachable' | 'ended';

/** A session of another shard, to which this shard delivers as the owner of its user or of one of its guilds. */
export class RemoteSession implements LiveSession {
  readonly handle: number;
  readonly sessionId: string;
  readonly userId: UserId;
  readonly principal: Principal;
  readonly authorization: Authorization | null;
  readonly bot: boolean;
  readonly intents: number;
  readonly shard: readonly [id: number, count: number];
  readonly largeThreshold: number;
  /** Guilds of this shard to which the session is or was subscribed; null before the first. */
  guildIds: Set<GuildId> | null = null;
  readonly #outbox: PeerOutbox;
  #state: RemoteState = 'live';
  #isOpen = false;

  constructor(session: SessionDescriptor, outbox: PeerOutbox) {
    const { principal } = session;
    this.handle = session.handle;
    this.sessionId = session.sessionId;
    this.userId = principal.userId;
    this.principal = principal;
    this.authorization = principal.authorization;
    this.bot = principal.bot;
    this.intents = session.intents;
    this.shard = session.shard;
    this.largeThreshold = session.largeThreshold;
    this.#outbox = outbox;
  }

  get over(): boolean {
    return this.#state === 'ended';
  }

  /** Nothing delivered now reaches the session. */
  get away(): boolean {
    return this.#state !== 'live';
  }

  /** Whether the session is open at the owner of its user, which is this shard. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The owner of the session's user opens it. */
  open(): void {
    this.#isOpen = true;
  }

  /** The session's shard no longer holds it. */
  release(): void {
    if (this.#state === 'live') this.#state = 'released';
  }

  /** The session's shard is gone, or started a new peer epoch. */
  lose(): void {
    if (this.#state === 'live') this.#state = 'unreachable';
  }

  /** Returns false when it has ended before. */
  end(): boolean {
    if (this.#state === 'ended') return false;
    this.#state = 'ended';
    return true;
  }

  /** Hot path: usually only appends a handle. */
  deliver(body: DispatchBody): void {
    if (this.#state === 'live') this.#outbox.dispatch(body, this.handle);
  }

  following(ownerId: string, n: number): void {
    if (this.#state === 'live') this.#outbox.following(this.handle, ownerId, n);
  }

  /** Rejects when the session's shard is gone: nothing delivered would be received. */
  writable(): Promise<void> {
    if (this.#state === 'unreachable') return Promise.reject(homeUnreachable());
    return this.#state === 'live' ? this.#outbox.writable(this.handle) : Promise.resolve();
  }

  /** Asks the session's shard to subscribe it to a guild that its user joined. */
  join(guildId: GuildId): void {
    this.#tell('localSessions.join', [this.#outbox.peerEpoch, this.handle, guildId]);
  }

  /**
   * Notifies the session's shard that another object replaced the session: with its user's owner (null), or with the
   * owner of a guild whose stream it has up to `n`.
   */
  replaced(guildId: GuildId | null, n: number): void {
    this.#tell('localSessions.replaced', [this.#outbox.peerEpoch, this.handle, guildId, n]);
  }

  #tell<M extends ShardTell>(method: M, args: ArgsOf<M>): void {
    if (this.#state === 'live') this.#outbox.tell(method, args);
  }
}

/** Upper bound on the remembered handles of ended sessions of one shard; requests are late by seconds at most. */
const ENDED_MAX = 4096;

/** A frame to be sent to a session's shard at the end of the tick, in order. */
type QueuedFrame =
  | { readonly body: DispatchBody; readonly handles: number[] }
  | { readonly handle: number; readonly ownerId: string; readonly n: number }
  | { readonly send: () => void };

/** The outgoing frames of this shard to one peer epoch of another shard. Only live sessions use it. */
class PeerOutbox {
  readonly shardId: string;
  readonly home: string;
  readonly peerEpoch: number;
  readonly sessions = new Map<number, RemoteSession>();
  /** Handles of recently ended sessions: their earlier requests may still arrive. */
  readonly ended = new Set<number>();
  queued: QueuedFrame[] = [];
  readonly #router: RemotePorts['router'];
  readonly #dirty: (outbox: PeerOutbox) => void;
  /** The last dispatched body and its recipients; further recipients of the same body join its frame. */
  #body: DispatchBody | null = null;
  #handles: number[] = [];
  readonly #waiters = new Map<number, { resolve(): void; reject(fault: Error): void }>();
  #lastTicket = 0;

  constructor(
    [shardId, home, peerEpoch]: readonly [string, string, number],
    router: RemotePorts['router'],
    dirty: (outbox: PeerOutbox) => void,
  ) {
    this.shardId = shardId;
    this.home = home;
    this.peerEpoch = peerEpoch;
    this.#router = router;
    this.#dirty = dirty;
  }

  dispatch(body: DispatchBody, handle: number): void {
    if (body === this.#body) {
      this.#handles.push(handle);
      return;
    }
    this.#handles = [handle];
    this.#enqueue({ body, handles: this.#handles });
    this.#body = body;
  }

  following(handle: number, ownerId: string, n: number): void {
    this.#enqueue({ handle, ownerId, n });
  }

  /** A message of the catalogue, behind all earlier deliveries. */
  tell<M extends ShardTell>(method: M, args: ArgsOf<M>): void {
    this.#enqueue({ send: () => this.#router.tellShard(this.shardId, method, args) });
  }

  /** Queued behind all earlier deliveries: the session's shard answers once the session's socket has taken them. */
  writable(handle: number): Promise<void> {
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    this.tell('localSessions.whenWritable', [this.peerEpoch, handle, ticket]);
    return new Promise((resolve, reject) => this.#waiters.set(ticket, { resolve, reject }));
  }

  becameWritable(ticket: number): void {
    this.#waiters.get(ticket)?.resolve();
    this.#waiters.delete(ticket);
  }

  /** Takes all queued frames; the next dispatch starts a frame of its own. */
  take(): readonly QueuedFrame[] {
    const { queued } = this;
    this.queued = [];
    this.#body = null;
    return queued;
  }

  /** The other shard is gone or started a new peer epoch: nothing more is sent under this one. */
  close(): void {
    for (const session of this.sessions.values()) session.lose();
    this.take();
    for (const { reject } of this.#waiters.values()) reject(homeUnreachable());
    this.#waiters.clear();
  }

  #enqueue(item: QueuedFrame): void {
    this.#body = null;
    if (this.queued.length === 0) this.#dirty(this);
    this.queued.push(item);
  }
}

const homeUnreachable = (): Error =>
  new LinkFault('unreachable', "The shard that holds the session's socket has left the cluster.");

/**
 * Sessions of other shards that receive what this shard decides. A dispatch is sent once to each shard, however many of
 * its sessions receive it; all frames of a tick are sent together.
 */
export class RemoteSessions {
  readonly #ports: RemotePorts;
  /** The current outbox, by the instance of the sessions' shard. */
  readonly #outboxes = new Map<string, PeerOutbox>();
  #dirty: PeerOutbox[] = [];
  readonly #stopListening: () => void;

  constructor(ports: RemotePorts) {
    this.#ports = ports;
    this.#stopListening = ports.ownership.onChange(({ gone }) => {
      for (const { instance } of gone) {
        const outbox = this.#outboxes.get(instance);
        if (outbox) this.#retire(outbox);
      }
    });
  }

  get size(): number {
    let size = 0;
    for (const { sessions } of this.#outboxes.values()) size += sessions.size;
    return size;
  }

  /**
   * The session object of a reference; the same object throughout its peer epoch.
   *
   * @throws LinkFault when the session's shard started a later peer epoch, or ended the session.
   */
  of(shardId: string, { home, talk: peerEpoch, session }: SessionReference): RemoteSession {
    const outbox = this.#outboxOf(shardId, home, peerEpoch);
    let found = outbox.sessions.get(session.handle);
    if (!found) {
      if (outbox.ended.has(session.handle))
        throw new LinkFault('overloaded', 'The session has ended on its shard.');
      found = new RemoteSession(session, outbox);
      outbox.sessions.set(session.handle, found);
    }
    return found;
  }

  /** The sessions' shard began a peer epoch: the sessions of earlier ones are unreachable, unless they are opened again under it. */
  begin(shardId: string, home: string, peerEpoch: number): void {
    const known = this.#outboxes.get(home)?.peerEpoch ?? 0;
    if (known < peerEpoch && this.#isMember(home)) this.#outboxOf(shardId, home, peerEpoch);
  }

  /**
   * The session's shard ended the session, or released it (`kept`). A released session stays for the resume window,
   * without deliveries, because another shard may take it.
   */
  ended(home: string, peerEpoch: number, handle: number, kept: boolean): void {
    const outbox = this.#outboxes.get(home);
    if (outbox?.peerEpoch !== peerEpoch) return;
    outbox.ended.add(handle);
    const [oldest] = outbox.ended;
    if (outbox.ended.size > ENDED_MAX && oldest !== undefined) outbox.ended.delete(oldest);
    const session = outbox.sessions.get(handle);
    if (!session) return;
    outbox.sessions.delete(handle);
    session.release();
    if (kept) this.#ports.wheel.after(() => this.#end(session), this.#ports.resumeWindowMs);
    else this.#end(session);
  }

  /** The session's shard reports that the session's socket has taken earlier deliveries. */
  becameWritable(home: string, peerEpoch: number, ticket: number): void {
    const outbox = this.#outboxes.get(home);
    if (outbox?.peerEpoch === peerEpoch) outbox.becameWritable(ticket);
  }

  /** The actor of a guild of this shard failed: its sessions subscribe again, after everything that it delivered. */
  guildLost(guildId: GuildId): void {
    for (const outbox of this.#outboxes.values()) outbox.tell('localSessions.guildLost', [guildId]);
  }

  /** A guild of this shard is loaded again, after it was lost. */
  guildLoaded(guildId: GuildId): void {
    for (const outbox of this.#outboxes.values()) outbox.tell('localSessions.guildLoaded', [guildId]);
  }

  close(): void {
    this.#stopListening();
    for (const outbox of this.#outboxes.values()) outbox.close();
    this.#outboxes.clear();
  }

  #outboxOf(shardId: string, home: string, peerEpoch: number): PeerOutbox {
    const known = this.#outboxes.get(home);
    if (known?.peerEpoch === peerEpoch) return known;
    if (known && known.peerEpoch > peerEpoch)
      throw new LinkFault('overloaded', 'Stale peer epoch: the peer has restarted.');
    // Links follow the view: frames to a shard that it does not contain would be lost silently.
    if (!this.#isMember(home))
      throw new LinkFault(
        'overloaded',
        `Unknown shard instance ${home}: it is not in this shard's view of the cluster.`,
      );
    if (known) this.#retire(known);
    const outbox = new PeerOutbox([shardId, home, peerEpoch], this.#ports.router, (dirty) =>
      this.#flushLater(dirty),
    );
    this.#outboxes.set(home, outbox);
    return outbox;
  }

  #isMember(home: string): boolean {
    return this.#ports.ownership.view.shards.some(({ instance }) => instance === home);
  }

  /** Its sessions stay for the resume window, although nothing reaches them. */
  #retire(outbox: PeerOutbox): void {
    if (this.#outboxes.get(outbox.home) === outbox) this.#outboxes.delete(outbox.home);
    outbox.close();
    if (outbox.sessions.size === 0) return;
    this.#ports.wheel.after(() => {
      for (const session of outbox.sessions.values()) this.#end(session);
    }, this.#ports.resumeWindowMs);
  }

  #end(session: RemoteSession): void {
    if (session.end()) this.#ports.ended(session);
  }

  #flushLater(outbox: PeerOutbox): void {
    this.#dirty.push(outbox);
    if (this.#dirty.length === 1) this.#ports.clock.defer(() => this.#flush());
  }

  #flush(): void {
    const dirty = this.#dirty;
    this.#dirty = [];
    const { links, ownership } = this.#ports;
    /** An unnumbered dispatch of an aggregate is sent under the epoch of now. */
    const epochNow = (id: string): number | null =>
      id !== '' && ownership.owns(id) ? (ownership.ownerOf(id)?.epoch ?? null) : null;
    /** JSON of each body, encoded once for all shards. */
    const encoded = new Map<DispatchBody, Uint8Array>();
    for (const outbox of dirty) {
      for (const item of outbox.take()) {
        if ('send' in item) {
          item.send();
          continue;
        }
        if ('handle' in item) {
          links.tell(outbox.shardId, { kind: 'following', epoch: epochOf(item.n), ...item });
          continue;
        }
        const { body, handles } = item;
        let json = encoded.get(body);
        if (!json) {
          json = Buffer.from(body.json);
          if (dirty.length > 1) encoded.set(body, json);
        }
        const { ownerId, n, epoch = epochOf(n) || epochNow(ownerId) } = body.origin ?? UNNUMBERED;
        const frame = { kind: 'dispatch', t: body.t, json, ownerId, n, epoch } as const;
        links.tell(outbox.shardId, { ...frame, handles: Uint32Array.from(handles) });
      }
    }
  }
}

const UNNUMBERED: Origin = { ownerId: '', n: 0 };
