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
  readonly #talk: Talk;

  constructor(session: SessionDescriptor, talk: Talk) {
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
    this.#talk = talk;
  }

  get away(): boolean {
    return this.released || this.#talk.silent;
  }

  /** The hot path: most often a number is pushed. */
  deliver(body: DispatchBody): void {
    this.#talk.dispatch(body, this.handle);
  }

  following(ownerId: string, n: number): void {
    this.#talk.following(this.handle, ownerId, n);
  }

  /** Rejects when its home is gone: nobody takes what would be made for it. */
  writable(): Promise<void> {
    return this.over ? Promise.resolve() : this.#talk.room(this.handle);
  }

  /** Has its home subscribe it to a guild that its user has joined. */
  join(guildId: GuildId): void {
    this.#talk.tell('localSessions.join', [this.#talk.number, this.handle, guildId]);
  }

  /** Tells its home that another stands for it now, with its user (null), or with a guild whose stream it has up to `n`. */
  displaced(guildId: GuildId | null, n: number): void {
    this.#talk.tell('localSessions.replaced', [this.#talk.number, this.handle, guildId, n]);
  }
}

/** Sessions of one home that are remembered to have ended: questions are late by seconds. */
const ENDED_MAX = 4096;

/** What is to leave for a home at the end of the tick, in order. */
type Leaving =
  | { readonly body: DispatchBody; readonly handles: number[] }
  | { readonly handle: number; readonly ownerId: string; readonly n: number }
  | { readonly method: string; readonly args: readonly unknown[] };

/** What this shard tells one home. */
class Talk {
  readonly shardId: string;
  readonly home: string;
  readonly number: number;
  readonly sessions = new Map<number, RemoteSession>();
  /** Handles of sessions that have ended of late: what was asked for them before may come after. */
  readonly ended = new Set<number>();
  leaving: Leaving[] = [];
  readonly #dirty: (talk: Talk) => void;
  /** The body that was dispatched last, and who gets it. */
  #body: DispatchBody | null = null;
  #handles: number[] = [];
  /** The home is gone, or talks anew: nothing more is told it under this number. */
  #silent = false;
  readonly #rooms = new Map<number, { resolve(): void; reject(fault: Error): void }>();
  #tickets = 0;

  constructor(shardId: string, home: string, number: number, dirty: (talk: Talk) => void) {
    this.shardId = shardId;
    this.home = home;
    this.number = number;
    this.#dirty = dirty;
  }

  get silent(): boolean {
    return this.#silent;
  }

  dispatch(body: DispatchBody, handle: number): void {
    if (body === this.#body) {
      this.#handles.push(handle);
      return;
    }
    if (this.#silent) return;
    this.#handles = [handle];
    this.#put({ body, handles: this.#handles });
    this.#body = body;
  }

  following(handle: number, ownerId: string, n: number): void {
    this.#put({ handle, ownerId, n });
  }

  tell(method: string, args: readonly unknown[]): void {
    this.#put({ method, args });
  }

  /** Behind all that was delivered before: the home answers when the session's socket has taken it. */
  room(handle: number): Promise<void> {
    if (this.#silent) return Promise.reject(homeIsGone());
    this.#tickets += 1;
    const ticket = this.#tickets;
    this.tell('localSessions.whenWritable', [this.number, handle, ticket]);
    return new Promise((resolve, reject) => this.#rooms.set(ticket, { resolve, reject }));
  }

  hasRoom(ticket: number): void {
    this.#rooms.get(ticket)?.resolve();
    this.#rooms.delete(ticket);
  }

  /** Everything up to here; what comes next begins a frame of its own. */
  take(): readonly Leaving[] {
    const { leaving } = this;
    this.leaving = [];
    this.#body = null;
    return leaving;
  }

  hush(): void {
    this.#silent = true;
    this.take();
    for (const { reject } of this.#rooms.values()) reject(homeIsGone());
    this.#rooms.clear();
  }

  #put(item: Leaving): void {
    if (this.#silent) return;
    this.#body = null;
    if (this.leaving.length === 0) this.#dirty(this);
    this.leaving.push(item);
  }
}

const homeIsGone = (): Error => new LinkFault('unreachable', 'The home of the session is gone.');

/**
 * Sessions that live on other shards and hear what this one decides. Of a dispatch each home gets one frame, however
 * many of its sessions hear it; all of a tick leave together.
 */
export class RemoteSessions {
  readonly #ports: RemotePorts;
  /** By home: the latest talk. */
  readonly #talks = new Map<string, Talk>();
  #dirty: Talk[] = [];
  readonly #unfollow: () => void;

  constructor(ports: RemotePorts) {
    this.#ports = ports;
    this.#unfollow = ports.ownership.onChange(({ gone }) => {
      for (const { instance } of gone) {
        const talk = this.#talks.get(instance);
        if (talk) this.#retire(talk);
      }
    });
  }

  get size(): number {
    let size = 0;
    for (const { sessions } of this.#talks.values()) size += sessions.size;
    return size;
  }

  /**
   * The session by this name; there is one object for it as long as its home talks of it so.
   *
   * @throws LinkFault when the home has begun another talk since, or has ended the session.
   */
  of(shardId: string, { home, talk: number, session }: SessionReference): RemoteSession {
    const talk = this.#talkOf(shardId, home, number);
    let found = talk.sessions.get(session.handle);
    if (!found) {
      if (talk.ended.has(session.handle)) throw new LinkFault('overloaded', 'The session has ended there.');
      found = new RemoteSession(session, talk);
      talk.sessions.set(session.handle, found);
    }
    return found;
  }

  /** The home has ended it, or let it go (`kept`): then it stays for a while, unheard, as another home may take it. */
  ended(home: string, number: number, handle: number, kept: boolean): void {
    const talk = this.#talks.get(home);
    if (talk?.number !== number) return;
    talk.ended.add(handle);
    const [oldest] = talk.ended;
    if (talk.ended.size > ENDED_MAX && oldest !== undefined) talk.ended.delete(oldest);
    const session = talk.sessions.get(handle);
    if (!session) return;
    talk.sessions.delete(handle);
    session.released = true;
    if (kept) this.#ports.wheel.after(() => this.#end(session), this.#ports.resumeWindowMs);
    else this.#end(session);
  }

  /** The home says that a session's socket has taken what was delivered. */
  hasRoom(home: string, number: number, ticket: number): void {
    const talk = this.#talks.get(home);
    if (talk?.number === number) talk.hasRoom(ticket);
  }

  close(): void {
    this.#unfollow();
    for (const talk of this.#talks.values()) talk.hush();
    this.#talks.clear();
  }

  #talkOf(shardId: string, home: string, number: number): Talk {
    const known = this.#talks.get(home);
    if (known?.number === number) return known;
    if (known && known.number > number) throw new LinkFault('overloaded', 'That talk is over.');
    // There is no way to a home that the view does not show: what it was told would be lost without a word.
    if (!this.#ports.ownership.view.shards.some(({ instance }) => instance === home))
      throw new LinkFault('overloaded', `The run ${home} is not known here yet, or any more.`);
    if (known) this.#retire(known);
    const talk = new Talk(shardId, home, number, (dirty) => this.#flushLater(dirty));
    this.#talks.set(home, talk);
    return talk;
  }

  /** Its sessions stay for as long as they may be resumed, though nothing reaches them. */
  #retire(talk: Talk): void {
    if (this.#talks.get(talk.home) === talk) this.#talks.delete(talk.home);
    talk.hush();
    if (talk.sessions.size === 0) return;
    this.#ports.wheel.after(() => {
      for (const session of talk.sessions.values()) this.#end(session);
    }, this.#ports.resumeWindowMs);
  }

  #end(session: RemoteSession): void {
    if (session.over) return;
    session.over = true;
    this.#ports.ended(session);
  }

  #flushLater(talk: Talk): void {
    this.#dirty.push(talk);
    if (this.#dirty.length === 1) this.#ports.clock.defer(() => this.#flush());
  }

  #flush(): void {
    const dirty = this.#dirty;
    this.#dirty = [];
    const { links } = this.#ports;
    /** Encoded once, however many homes get it. */
    const encoded = new Map<DispatchBody, Uint8Array>();
    for (const talk of dirty) {
      for (const item of talk.take()) {
        if ('method' in item) {
          links.tell(talk.shardId, { kind: 'tell', method: item.method, key: '', args: item.args });
          continue;
        }
        if ('handle' in item) {
          links.tell(talk.shardId, { kind: 'following', epoch: epochOf(item.n), ...item });
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
        links.tell(talk.shardId, { ...frame, handles: Uint32Array.from(handles) });
      }
    }
  }
}

const UNNUMBERED = { ownerId: '', n: 0 };
