import type { DispatchBody } from '../../../engine/fanout/body.ts';
import type { Authorization } from '../../../engine/oauth/authorization.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { epochOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { Principal } from '../../session/ports.ts';
import type { Links, SessionDescriptor } from '../ports.ts';

/** A session as its home names it to an owner. */
export interface SessionReference {
  /** The run of the shard where it lives. */
  readonly home: string;
  /**
   * Which talk of the two shards this is, ascending: after a break in their links the home begins the next one, under
   * which everything is said anew. What belongs to an earlier one is not heard any more.
   */
  readonly talk: number;
  readonly session: SessionDescriptor;
}

interface RemotePorts {
  readonly links: Links;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the sessions of a home that is gone are kept: one of them may come back elsewhere. */
  readonly resumeWindowMs: number;
  /** The session is over for good: what this shard does for it is to be undone. */
  readonly ended: (session: RemoteSession) => void;
}

/** A session whose home is another shard, as the owner of its user or of one of its guilds delivers to it. */
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
  over = false;
  /** Whether its user, who is this shard's, has it among the open ones. */
  opened = false;
  /** Its home has let it go. */
  released = false;
  /** Guilds of this shard that it hears, or has heard. */
  readonly guildIds = new Set<GuildId>();
  readonly #outbox: PeerOutbox;

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

  get away(): boolean {
    return this.released || this.#outbox.isClosed;
  }

  /** The hot path: most often a number is pushed. */
  deliver(body: DispatchBody): void {
    this.#outbox.dispatch(body, this.handle);
  }

  following(ownerId: string, n: number): void {
    this.#outbox.following(this.handle, ownerId, n);
  }

  /** Rejects when its home is gone: nobody takes what would be made for it. */
  writable(): Promise<void> {
    return this.over ? Promise.resolve() : this.#outbox.writable(this.handle);
  }

  /** Has its home subscribe it to a guild that its user has joined. */
  join(guildId: GuildId): void {
    this.#outbox.notify('localSessions.join', [this.#outbox.peerEpoch, this.handle, guildId]);
  }

  /** Tells its home that another stands for it now, with its user (null), or with a guild whose stream it has up to `n`. */
  replaced(guildId: GuildId | null, n: number): void {
    this.#outbox.notify('localSessions.replaced', [this.#outbox.peerEpoch, this.handle, guildId, n]);
  }
}

/** Sessions of one home that are remembered to have ended: questions are late by seconds. */
const ENDED_MAX = 4096;

/** What is to leave for a home at the end of the tick, in order. */
type QueuedFrame =
  | { readonly body: DispatchBody; readonly handles: number[] }
  | { readonly handle: number; readonly ownerId: string; readonly n: number }
  | { readonly method: string; readonly args: readonly unknown[] };

/** What this shard tells one home. */
class PeerOutbox {
  readonly shardId: string;
  readonly home: string;
  readonly peerEpoch: number;
  readonly sessions = new Map<number, RemoteSession>();
  /** Handles of sessions that have ended of late: what was asked for them before may come after. */
  readonly ended = new Set<number>();
  queued: QueuedFrame[] = [];
  readonly #dirty: (outbox: PeerOutbox) => void;
  /** The body that was dispatched last, and who gets it. */
  #body: DispatchBody | null = null;
  #handles: number[] = [];
  /** The home is gone, or talks anew: nothing more is told it under this number. */
  #isClosed = false;
  readonly #waiters = new Map<number, { resolve(): void; reject(fault: Error): void }>();
  #lastTicket = 0;

  constructor(shardId: string, home: string, peerEpoch: number, dirty: (outbox: PeerOutbox) => void) {
    this.shardId = shardId;
    this.home = home;
    this.peerEpoch = peerEpoch;
    this.#dirty = dirty;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  dispatch(body: DispatchBody, handle: number): void {
    if (body === this.#body) {
      this.#handles.push(handle);
      return;
    }
    if (this.#isClosed) return;
    this.#handles = [handle];
    this.#enqueue({ body, handles: this.#handles });
    this.#body = body;
  }

  following(handle: number, ownerId: string, n: number): void {
    this.#enqueue({ handle, ownerId, n });
  }

  notify(method: string, args: readonly unknown[]): void {
    this.#enqueue({ method, args });
  }

  /** Behind all that was delivered before: the home answers when the session's socket has taken it. */
  writable(handle: number): Promise<void> {
    if (this.#isClosed) return Promise.reject(homeUnreachable());
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    this.notify('localSessions.whenWritable', [this.peerEpoch, handle, ticket]);
    return new Promise((resolve, reject) => this.#waiters.set(ticket, { resolve, reject }));
  }

  becameWritable(ticket: number): void {
    this.#waiters.get(ticket)?.resolve();
    this.#waiters.delete(ticket);
  }

  /** Everything up to here; what comes next begins a frame of its own. */
  take(): readonly QueuedFrame[] {
    const { queued } = this;
    this.queued = [];
    this.#body = null;
    return queued;
  }

  close(): void {
    this.#isClosed = true;
    this.take();
    for (const { reject } of this.#waiters.values()) reject(homeUnreachable());
    this.#waiters.clear();
  }

  #enqueue(item: QueuedFrame): void {
    if (this.#isClosed) return;
    this.#body = null;
    if (this.queued.length === 0) this.#dirty(this);
    this.queued.push(item);
  }
}

const homeUnreachable = (): Error => new LinkFault('unreachable', 'The home of the session is gone.');

/**
 * Sessions that live on other shards and hear what this one decides. Of a dispatch each home gets one frame, however
 * many of its sessions hear it; all of a tick leave together.
 */
export class RemoteSessions {
  readonly #ports: RemotePorts;
  /** By home: the latest talk. */
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
   * The session by this name; there is one object for it as long as its home talks of it so.
   *
   * @throws LinkFault when the home has begun another talk since, or has ended the session.
   */
  of(shardId: string, { home, talk: peerEpoch, session }: SessionReference): RemoteSession {
    const outbox = this.#outboxOf(shardId, home, peerEpoch);
    let found = outbox.sessions.get(session.handle);
    if (!found) {
      if (outbox.ended.has(session.handle)) throw new LinkFault('overloaded', 'The session has ended there.');
      found = new RemoteSession(session, outbox);
      outbox.sessions.set(session.handle, found);
    }
    return found;
  }

  /** The home has ended it, or let it go (`kept`): then it stays for a while, unheard, as another home may take it. */
  ended(home: string, peerEpoch: number, handle: number, kept: boolean): void {
    const outbox = this.#outboxes.get(home);
    if (outbox?.peerEpoch !== peerEpoch) return;
    outbox.ended.add(handle);
    const [oldest] = outbox.ended;
    if (outbox.ended.size > ENDED_MAX && oldest !== undefined) outbox.ended.delete(oldest);
    const session = outbox.sessions.get(handle);
    if (!session) return;
    outbox.sessions.delete(handle);
    session.released = true;
    if (kept) this.#ports.wheel.after(() => this.#end(session), this.#ports.resumeWindowMs);
    else this.#end(session);
  }

  /** The home says that a session's socket has taken what was delivered. */
  becameWritable(home: string, peerEpoch: number, ticket: number): void {
    const outbox = this.#outboxes.get(home);
    if (outbox?.peerEpoch === peerEpoch) outbox.becameWritable(ticket);
  }

  close(): void {
    this.#stopListening();
    for (const outbox of this.#outboxes.values()) outbox.close();
    this.#outboxes.clear();
  }

  #outboxOf(shardId: string, home: string, peerEpoch: number): PeerOutbox {
    const known = this.#outboxes.get(home);
    if (known?.peerEpoch === peerEpoch) return known;
    if (known && known.peerEpoch > peerEpoch) throw new LinkFault('overloaded', 'That talk is over.');
    // There is no way to a home that the view does not show: what it was told would be lost without a word.
    if (!this.#ports.ownership.view.shards.some(({ instance }) => instance === home))
      throw new LinkFault('overloaded', `The run ${home} is not known here yet, or any more.`);
    if (known) this.#retire(known);
    const outbox = new PeerOutbox(shardId, home, peerEpoch, (dirty) => this.#flushLater(dirty));
    this.#outboxes.set(home, outbox);
    return outbox;
  }

  /** Its sessions stay for as long as they may be resumed, though nothing reaches them. */
  #retire(outbox: PeerOutbox): void {
    if (this.#outboxes.get(outbox.home) === outbox) this.#outboxes.delete(outbox.home);
    outbox.close();
    if (outbox.sessions.size === 0) return;
    this.#ports.wheel.after(() => {
      for (const session of outbox.sessions.values()) this.#end(session);
    }, this.#ports.resumeWindowMs);
  }

  #end(session: RemoteSession): void {
    if (session.over) return;
    session.over = true;
    this.#ports.ended(session);
  }

  #flushLater(outbox: PeerOutbox): void {
    this.#dirty.push(outbox);
    if (this.#dirty.length === 1) this.#ports.clock.defer(() => this.#flush());
  }

  #flush(): void {
    const dirty = this.#dirty;
    this.#dirty = [];
    const { links } = this.#ports;
    /** Encoded once, however many homes get it. */
    const encoded = new Map<DispatchBody, Uint8Array>();
    for (const outbox of dirty) {
      for (const item of outbox.take()) {
        if ('method' in item) {
          links.tell(outbox.shardId, { kind: 'tell', method: item.method, key: '', args: item.args });
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
        const { ownerId, n } = body.origin ?? UNNUMBERED;
        const frame = { kind: 'dispatch', t: body.t, json, ownerId, n } as const;
        links.tell(outbox.shardId, { ...frame, handles: Uint32Array.from(handles) });
      }
    }
  }
}

const UNNUMBERED = { ownerId: '', n: 0 };
