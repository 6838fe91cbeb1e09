import { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect } from '../../../engine/fanout/direct.ts';
import type { Ownership, SessionFrame, SessionFrames } from '../../placement/ports.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { Links } from '../ports.ts';
import type { Followed } from './followed.ts';
import type { HomeSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

interface HomePorts {
  readonly links: Links;
  readonly ownership: Ownership;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** What this shard was told by that one since may be missing, or what it has told: all is to be said anew. */
  readonly broken: (peer: Peer) => void;
  /** Delivers what a user is told directly to a session that has not heard it. */
  readonly direct: (session: LiveSession, body: DispatchBody) => void;
  /** What a shard has told the users of this one may be missing. */
  readonly doubted: () => void;
}

const utf8 = new TextDecoder();

/**
 * The sessions of this shard, as others deliver to them. For each shard that does so a session has a number of its own,
 * which ends with the talk: what was told before a break, and arrives after it, finds nobody.
 */
export class SessionHome implements SessionFrames {
  readonly #ports: HomePorts;
  readonly #followed: Followed;
  readonly #peers = new Map<string, Peer>();
  readonly #sessions = new Map<LiveSession, HomeSession>();
  #talks = 0;
  #handles = 0;
  readonly #unfollow: () => void;

  constructor(ports: HomePorts, followed: Followed) {
    this.#ports = ports;
    this.#followed = followed;
    const { links, ownership } = ports;
    links.onBroken((shardId) => this.broken(shardId));
    this.#unfollow = ownership.onChange(({ gone }) => {
      for (const { id, instance } of gone) if (this.#peers.get(id)?.instance === instance) this.broken(id);
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  all(): Iterable<HomeSession> {
    return this.#sessions.values();
  }

  enter(session: LiveSession): HomeSession {
    const known = this.#sessions.get(session);
    if (known) return known;
    const entered: HomeSession = { session, handles: new Map(), guildIds: new Set(), joining: null };
    this.#sessions.set(session, entered);
    return entered;
  }

  get(session: LiveSession): HomeSession | undefined {
    return this.#sessions.get(session);
  }

  /** The session is over, or goes on elsewhere (`kept`): shards that know it hear so. */
  leave(entered: HomeSession, kept: boolean): void {
    const { links, ownership } = this.#ports;
    this.#sessions.delete(entered.session);
    for (const { peer, handle } of entered.handles.values()) {
      if (!peer.sessions.delete(handle) || this.#peers.get(peer.shardId) !== peer) continue;
      const args = [ownership.self?.instance, peer.talk, handle, kept];
      links.tell(peer.shardId, { kind: 'tell', method: 'remoteSessions.ended', key: '', args });
    }
  }

  /** The talk with a shard that is alive as this run of it. */
  peer(shardId: string, instance: string): Peer {
    const known = this.#peers.get(shardId);
    if (known?.instance === instance) return known;
    if (known) this.broken(shardId);
    this.#talks += 1;
    const peer: Peer = { shardId, instance, talk: this.#talks, sessions: new Map() };
    this.#peers.set(shardId, peer);
    return peer;
  }

  /** Whether the talk goes on. */
  isCurrent(peer: Peer): boolean {
    return this.#peers.get(peer.shardId) === peer;
  }

  /** How that shard is to name the session. */
  reference(entered: HomeSession, peer: Peer): SessionReference {
    const { session, handles } = entered;
    let known = handles.get(peer.shardId);
    if (known?.peer !== peer) {
      this.#handles += 1;
      known = { peer, handle: this.#handles };
      handles.set(peer.shardId, known);
      peer.sessions.set(known.handle, entered);
    }
    const { sessionId, principal, intents, shard, largeThreshold } = session;
    const { handle } = known;
    return {
      home: this.#ports.ownership.self?.instance ?? '',
      talk: peer.talk,
      session: { handle, sessionId, principal, intents, shard, largeThreshold },
    };
  }

  frames(from: string, frames: readonly SessionFrame[]): void {
    const peer = this.#peers.get(from);
    if (!peer) return;
    for (const frame of frames) {
      if (frame.kind === 'dispatch') this.#dispatch(peer, frame);
      else {
        const entered = peer.sessions.get(frame.handle);
        if (entered) this.#followed.caughtUp(peer, entered, frame.ownerId, frame.n);
      }
    }
  }

  broken(shardId: string): void {
    this.#ports.doubted();
    const peer = this.#peers.get(shardId);
    if (!peer) return;
    this.#peers.delete(shardId);
    for (const entered of peer.sessions.values()) entered.handles.delete(shardId);
    peer.sessions.clear();
    this.#ports.broken(peer);
  }

  /** A session that another shard names. */
  named(shardId: string, talk: number, handle: number): HomeSession | undefined {
    const peer = this.#peers.get(shardId);
    return peer?.talk === talk ? peer.sessions.get(handle) : undefined;
  }

  close(): void {
    this.#unfollow();
  }

  /** One body for all, as if their owner were this shard: nothing is made for each of them. */
  #dispatch(
    peer: Peer,
    { t, json, ownerId, n, handles }: SessionFrame & { readonly kind: 'dispatch' },
  ): void {
    const stream = ownerId === '' ? undefined : this.#followed.stream(ownerId);
    // What an earlier owner has told late is had from the next one.
    if (stream && stream.from !== peer) return;
    const origin = n > 0 ? { ownerId, n } : null;
    const body = DispatchBody.ofJson(t, utf8.decode(json), this.#ports.nowMs(), origin);
    if (isDirect(ownerId)) {
      this.#direct(peer, body, handles);
      return;
    }
    const heard = stream && this.#followed.heard(stream, n, body);
    for (let index = 0; index < handles.length; index += 1) {
      const entered = peer.sessions.get(handles[index] as number);
      if (entered && (!heard || heard(entered))) entered.session.deliver(body);
    }
  }

  #direct(peer: Peer, body: DispatchBody, handles: Uint32Array): void {
    for (const handle of handles) {
      const entered = peer.sessions.get(handle);
      if (entered) this.#ports.direct(entered.session, body);
    }
  }
}
