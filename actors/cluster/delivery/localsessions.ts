import { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect } from '../../../engine/fanout/direct.ts';
import type { Ownership, Router, SessionFrame, SessionFrames } from '../../placement/ports.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { Links } from '../ports.ts';
import { isSentBySource } from './guildstream.ts';
import type { GuildSubscriptions } from './guildsubscriptions.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

interface LocalSessionPorts {
  readonly links: Pick<Links, 'onBroken'>;
  readonly router: Pick<Router, 'tellShard'>;
  readonly ownership: Ownership;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** The links to or from this shard broke: frames in either direction may be missing, so all state is sent again. */
  readonly peerLost: (peer: Peer) => void;
  /** Delivers a direct notification to a session unless the session already has it. */
  readonly direct: (session: LiveSession, body: DispatchBody) => void;
  /** Direct notifications from another shard to users of this one may be missing. */
  readonly deliveriesMissed: () => void;
}

const utf8 = new TextDecoder();

/**
 * The sessions of this shard, as other shards address them. Each shard that delivers to a session knows it by a handle
 * of its own, which is valid for one peer epoch: a frame sent before a break and received after it matches no session.
 */
export class LocalSessions implements SessionFrames {
  readonly #ports: LocalSessionPorts;
  readonly #subscriptions: GuildSubscriptions;
  readonly #peers = new Map<string, Peer>();
  /** The ended peer epochs with shards that left the cluster, by shard: the same run may come back. */
  readonly #lost = new Map<string, Peer>();
  readonly #sessions = new Map<LiveSession, LocalSession>();
  #lastPeerEpoch = 0;
  #lastHandle = 0;
  readonly #stopListening: () => void;

  constructor(ports: LocalSessionPorts, subscriptions: GuildSubscriptions) {
    this.#ports = ports;
    this.#subscriptions = subscriptions;
    const { links, ownership } = ports;
    links.onBroken((shardId) => this.broken(shardId));
    this.#stopListening = ownership.onChange(({ gone, came }) => {
      for (const { id, instance } of gone) if (this.#peers.get(id)?.instance === instance) this.broken(id);
      for (const { id, instance } of came) {
        const peer = this.#lost.get(id);
        this.#lost.delete(id);
        if (peer?.instance === instance && !this.#peers.has(id)) this.#beginNext(peer);
      }
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  all(): Iterable<LocalSession> {
    return this.#sessions.values();
  }

  add(session: LiveSession): LocalSession {
    const known = this.#sessions.get(session);
    if (known) return known;
    const local: LocalSession = { session, handles: [], guildIds: new Set(), joinedMeanwhile: null };
    this.#sessions.set(session, local);
    return local;
  }

  get(session: LiveSession): LocalSession | undefined {
    return this.#sessions.get(session);
  }

  /** Notifies the shards that know the session that it ended, or that it moved to another shard (`isMoving`). */
  remove(local: LocalSession, isMoving: boolean): void {
    const { router, ownership } = this.#ports;
    this.#sessions.delete(local.session);
    for (const { peer, handle } of local.handles) {
      if (!peer.sessions.delete(handle) || this.#peers.get(peer.shardId) !== peer) continue;
      const instance = ownership.self?.instance ?? '';
      router.tellShard(peer.shardId, 'remoteSessions.ended', [instance, peer.peerEpoch, handle, isMoving]);
    }
  }

  /** The current peer epoch with this run of a shard; starts one if there is none. */
  peer(shardId: string, instance: string): Peer {
    const known = this.#peers.get(shardId);
    if (known?.instance === instance) return known;
    if (known) this.broken(shardId);
    this.#lastPeerEpoch += 1;
    const peer: Peer = { shardId, instance, peerEpoch: this.#lastPeerEpoch, sessions: new Map() };
    this.#peers.set(shardId, peer);
    return peer;
  }

  /** Whether the peer epoch still lasts. */
  isCurrent(peer: Peer): boolean {
    return this.#peers.get(peer.shardId) === peer;
  }

  /** The reference by which this peer addresses the session. */
  reference(local: LocalSession, peer: Peer): SessionReference {
    const { session } = local;
    let known = local.handles.find((each) => each.peer === peer);
    if (!known) {
      this.#lastHandle += 1;
      known = { peer, handle: this.#lastHandle };
      local.handles = [...withoutShard(local, peer.shardId), known];
      peer.sessions.set(known.handle, local);
    }
    const { sessionId, principal, intents, shard, largeThreshold } = session;
    const { handle } = known;
    return {
      home: this.#ports.ownership.self?.instance ?? '',
      talk: peer.peerEpoch,
      session: { handle, sessionId, principal, intents, shard, largeThreshold },
    };
  }

  frames(from: string, frames: readonly SessionFrame[]): void {
    const peer = this.#peers.get(from);
    if (!peer) return;
    for (const frame of frames) {
      if (frame.kind === 'dispatch') this.#dispatch(peer, frame);
      else {
        const local = peer.sessions.get(frame.handle);
        if (local) this.#subscriptions.caughtUp(peer, local, frame.ownerId, frame.n);
      }
    }
  }

  broken(shardId: string): void {
    this.#ports.deliveriesMissed();
    const peer = this.#peers.get(shardId);
    if (!peer) return;
    this.#peers.delete(shardId);
    for (const local of peer.sessions.values()) local.handles = withoutShard(local, shardId);
    peer.sessions.clear();
    this.#beginNext(peer);
    this.#ports.peerLost(peer);
  }

  /**
   * Begins the next peer epoch with a shard that is in the cluster, or when it is again, and notifies it: where no session is left to be
   * opened under it, nothing else would end the sessions whose end was reported in a lost frame.
   */
  #beginNext(peer: Peer): void {
    const { shardId, instance } = peer;
    const { ownership, router } = this.#ports;
    if (!ownership.view.shards.some((shard) => shard.instance === instance)) {
      this.#lost.set(shardId, peer);
      return;
    }
    const { peerEpoch } = this.peer(shardId, instance);
    router.tellShard(shardId, 'remoteSessions.begin', [ownership.self?.instance ?? '', peerEpoch]);
  }

  /** The session that another shard addresses by its handle; undefined after the end of the peer epoch. */
  byHandle(shardId: string, peerEpoch: number, handle: number): LocalSession | undefined {
    const peer = this.#peers.get(shardId);
    return peer?.peerEpoch === peerEpoch ? peer.sessions.get(handle) : undefined;
  }

  close(): void {
    this.#stopListening();
  }

  /** All recipients share one body, as with a local owner; nothing is allocated for each of them. */
  #dispatch(
    peer: Peer,
    { t, json, ownerId, n, epoch, handles }: SessionFrame & { readonly kind: 'dispatch' },
  ): void {
    const isOfGuild = ownerId !== '' && !isDirect(ownerId);
    const stream = isOfGuild ? this.#subscriptions.stream(ownerId) : undefined;
    // The current owner delivers it again to sessions that still subscribe.
    if (isOfGuild && (!stream || !isSentBySource(stream, peer, epoch ?? null))) return;
    const origin = n > 0 ? { ownerId, n } : null;
    const body = DispatchBody.ofJson(t, utf8.decode(json), this.#ports.nowMs(), origin);
    body.recipients = handles.length;
    if (isDirect(ownerId)) {
      this.#direct(peer, body, handles);
      return;
    }
    const isNews = stream && this.#subscriptions.noteDispatch(stream, n, body);
    for (let index = 0; index < handles.length; index += 1) {
      const local = peer.sessions.get(handles[index] ?? 0);
      if (!local || (isNews && !isNews(local))) continue;
      local.session.deliver(body);
      if (stream && t === 'GUILD_CREATE') this.#subscriptions.guildCreated(stream, local, n);
    }
  }

  #direct(peer: Peer, body: DispatchBody, handles: Uint32Array): void {
    for (const handle of handles) {
      const local = peer.sessions.get(handle);
      if (local) this.#ports.direct(local.session, body);
    }
  }
}

const withoutShard = ({ handles }: LocalSession, shardId: string): LocalSession['handles'] =>
  handles.filter(({ peer }) => peer.shardId !== shardId);
