import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Cursor } from '../../../engine/session/cursors.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { ArgsOf, ReplyOf, ShardAsk } from '../../../protocol/link.ts';
import type { SessionRequest } from '../../../protocol/sessionrequests.ts';
import type { Owner, Ownership, Router } from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession, Opening } from '../../session/backend.ts';
import { OwnerRetries } from '../routing/ownerretries.ts';
import { isSameOwner } from './guildstream.ts';
import { ownerShardOf } from './ownershard.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

type Presence = GatewayPresenceUpdateData;

/** Operations of a user's owner on the user's sessions, local and remote ones. */
export interface UserBackend {
  open(session: LiveSession): Promise<Opening>;
  /**
   * Opens a session in place of the open one with its id, after delivering the direct notifications beyond its cursors.
   */
  reopenAtOwner(
    session: LiveSession,
    presence: Presence | null,
    cursors: readonly Cursor[],
  ): Promise<Reopened>;
  /** Handles a session's request to its user's owner. */
  ask(session: LiveSession, request: SessionRequest): Promise<void> | void;
  ended(session: LiveSession): void;
}

interface Reopened {
  /** The guilds of the session's user. */
  readonly guildIds: readonly GuildId[];
  /** False: some missed dispatches are no longer available. */
  readonly isWhole: boolean;
}

export interface UserChannelPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  /** Rejects the waiting requests when it ends. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly isCurrent: (peer: Peer) => boolean;
  readonly reference: (local: LocalSession, peer: Peer) => SessionReference;
  /** The session's cursors of direct notifications. */
  readonly cursors: (session: LiveSession) => readonly Cursor[];
  readonly userBackend: UserBackend;
  /** A session was reopened; `guildIds` are the current guilds of its user. */
  readonly reopened: (local: LocalSession, guildIds: readonly GuildId[]) => void;
  /** How long a session without a shard is kept open, in milliseconds. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Upper bound on the requests of one session that wait for its user's owner. */
const WAITING_MAX = 64;
/** How long requests wait, and the first and longest delay between retries. */
const DEADLINE_MS = 10_000;
const RETRY_MS = { first: 50, most: 2000 };

interface Channel {
  readonly local: LocalSession;
  /** The source at which the session is open; null when it must be opened or reopened. */
  openAt: Peer | 'here' | null;
  /** The user's owner when the session was opened. */
  owner: Owner | null;
  /** The session was opened from this shard, so it is reopened whenever necessary. */
  wasOpened: boolean;
  presence: Presence | null;
  waiting: number;
  tail: Promise<unknown> | null;
}

/**
 * The ordered channel of each session to the owner of its user: no request overtakes an earlier one. When the user
 * changes owners, or a link breaks, the session is reopened before further requests.
 */
export class UserChannels {
  readonly #ports: UserChannelPorts;
  readonly #channels = new Map<LocalSession, Channel>();
  readonly #retries: OwnerRetries;
  readonly #stopListening: () => void;

  constructor(ports: UserChannelPorts) {
    this.#ports = ports;
    this.#retries = new OwnerRetries({
      ...{ clock: { monotonic: ports.nowMs }, wheel: ports.wheel, scope: ports.scope, retryMs: RETRY_MS },
      random: () => 0.5,
      // One call of a session waits at a time, and sessions are bounded.
      waitingMax: Number.POSITIVE_INFINITY,
      refusal: () => new NotServed('No shard owns the user now.'),
    });
    this.#stopListening = ports.ownership.onChange(({ moved }) => {
      this.#ownersChanged(new Set(moved));
      this.#retries.changed();
    });
  }

  /** @throws NotServed when the user's owner does not answer in time. */
  open(local: LocalSession): Promise<Opening> {
    const channel: Channel = {
      local,
      openAt: null,
      owner: null,
      wasOpened: false,
      presence: null,
      waiting: 0,
      tail: null,
    };
    this.#channels.set(local, channel);
    return this.#inOrder(channel, async () => {
      const { userBackend } = this.#ports;
      const opening = await this.#callOwner(
        channel,
        (session) => userBackend.open(session),
        (peer) => this.#ask(peer, 'remoteSessions.open', [this.#ports.reference(local, peer)]),
      );
      channel.wasOpened = true;
      return opening;
    });
  }

  /** Reopens a session that was open on another shard. */
  reopen(local: LocalSession, presence: Presence | null): Promise<Reopened> {
    const known = this.#channels.get(local);
    const channel: Channel = known ?? {
      local,
      openAt: null,
      owner: null,
      wasOpened: false,
      presence,
      waiting: 0,
      tail: null,
    };
    this.#channels.set(local, channel);
    channel.presence = presence;
    channel.openAt = null;
    return this.#inOrder(channel, async () => {
      const reopened = await this.#reopen(channel);
      channel.wasOpened = true;
      return reopened;
    });
  }

  presence(local: LocalSession, presence: Presence): void {
    const channel = this.#channels.get(local);
    if (!channel) return;
    channel.presence = presence;
    this.#request(channel, { name: 'presence', input: presence });
  }

  request(local: LocalSession, request: SessionRequest): void {
    const channel = this.#channels.get(local);
    if (channel) this.#request(channel, request);
  }

  /**
   * The session ended, or moved to another shard (`isMoving`). A moving session stays open here for the resume window.
   * Where it is open on another shard, `LocalSessions.remove` notifies that shard.
   */
  ended(local: LocalSession, isMoving: boolean): void {
    const { userBackend, ownership, wheel, resumeWindowMs } = this.#ports;
    const { session } = local;
    const channel = this.#channels.get(local);
    this.#channels.delete(local);
    if (channel?.openAt !== 'here') return;
    const end = (): void => {
      if (ownership.owns(session.userId)) userBackend.ended(session);
    };
    if (isMoving) wheel.after(end, resumeWindowMs);
    else end();
  }

  /**
   * Another object replaced the session with its user's owner: the shard that released the session had sent a late
   * request. The owner may say so before it has answered the request that opened the session: that answer is outdated.
   */
  sessionReplaced(local: LocalSession): void {
    this.#ports.wheel.after(() => {
      const channel = this.#channels.get(local);
      if (!channel) return;
      void this.#inOrder(channel, async () => {
        if (channel.openAt !== null) this.#reopenAtOwner(channel);
      });
    }, RETRY_MS.first);
  }

  /** The peer epoch ended: sessions open at that peer are reopened. */
  peerLost(peer: Peer): void {
    for (const channel of this.#channels.values()) if (channel.openAt === peer) this.#reopenAtOwner(channel);
  }

  close(): void {
    this.#stopListening();
    this.#channels.clear();
  }

  #ownersChanged(partitions: ReadonlySet<number>): void {
    const { ownership } = this.#ports;
    if (partitions.size === 0) return;
    for (const channel of this.#channels.values()) {
      if (!partitions.has(ownership.partitionOf(channel.local.session.userId))) continue;
      const owner = ownership.ownerOf(channel.local.session.userId);
      if (channel.openAt === null || !isSameOwner(channel.owner, owner)) this.#reopenAtOwner(channel);
    }
  }

  /** Reopens the session with the current owner of its user, with retries until it succeeds. */
  #reopenAtOwner(channel: Channel): void {
    channel.openAt = null;
    if (!channel.wasOpened) return;
    const again = async (): Promise<void> => {
      while (channel.openAt === null && this.#isLive(channel)) {
        try {
          this.#ports.reopened(channel.local, (await this.#reopen(channel)).guildIds);
        } catch (fault) {
          if (!(fault instanceof NotServed)) this.#ports.onFault(fault, channel.local.session.sessionId);
          await this.#wait(RETRY_MS.most);
        }
      }
    };
    this.#inOrder(channel, again).catch((fault) =>
      this.#ports.onFault(fault, channel.local.session.sessionId),
    );
  }

  #isLive({ local }: Channel): boolean {
    return this.#channels.has(local) && !local.session.over;
  }

  async #reopen(channel: Channel): Promise<Reopened> {
    const { userBackend, reference, cursors } = this.#ports;
    const { presence, local } = channel;
    return this.#callOwner(
      channel,
      (session) => userBackend.reopenAtOwner(session, presence, cursors(session)),
      (peer) =>
        this.#ask(peer, 'remoteSessions.reopen', [reference(local, peer), presence, cursors(local.session)]),
    );
  }

  #request(channel: Channel, request: SessionRequest): void {
    const { ownership, userBackend, onFault } = this.#ports;
    const { session } = channel.local;
    const failed = (fault: unknown) => onFault(fault, session.sessionId);
    if (channel.openAt === 'here' && channel.tail === null && ownership.owns(session.userId)) {
      userBackend.ask(session, request)?.catch(failed);
      return;
    }
    if (channel.waiting >= WAITING_MAX) return;
    this.#inOrder(channel, () => this.#requestInOrder(channel, request)).catch(failed);
  }

  /** Requests are idempotent, because they state the wanted result; a retry after an unknown outcome is safe. */
  async #requestInOrder(channel: Channel, request: SessionRequest): Promise<void> {
    const { userBackend, reference, nowMs } = this.#ports;
    const { session } = channel.local;
    const untilMs = nowMs() + DEADLINE_MS;
    while (this.#isLive(channel)) {
      if (channel.openAt === null) {
        this.#ports.reopened(channel.local, (await this.#reopen(channel)).guildIds);
        // The session was reopened with its latest presence.
        if (request.name === 'presence') return;
      }
      const { openAt } = channel;
      if (openAt === 'here') return userBackend.ask(session, request);
      try {
        const { name, input } = request;
        if (openAt)
          await this.#ask(openAt, 'remoteSessions.ask', [reference(channel.local, openAt), name, [input]]);
        return;
      } catch (fault) {
        if (!isPassing(fault) || nowMs() >= untilMs) throw fault;
        if (channel.openAt === openAt) await this.#wait(RETRY_MS.first);
      }
    }
  }

  /** Calls a certain peer, not the owner of the moment: the peer's handle of the session is part of the arguments. */
  #ask<M extends ShardAsk>(peer: Peer, method: M, args: ArgsOf<M>): Promise<ReplyOf<M>> {
    return this.#ports.router.askShard(peer.shardId, method, args, DEADLINE_MS);
  }

  /** Runs the call on the current owner of the session's user and records that owner as the session's. */
  #callOwner<T>(
    channel: Channel,
    here: (session: LiveSession) => Promise<T>,
    there: (peer: Peer) => Promise<T>,
  ): Promise<T> {
    const { ownership, nowMs, peer, isCurrent } = this.#ports;
    const { session } = channel.local;
    return this.#retries.run(nowMs() + DEADLINE_MS, async () => {
      // Every shard that knew the session was told of its end. An owner that opened it now would never be told.
      if (!this.#isLive(channel)) throw new NotServed('The session has ended.');
      const shard = ownerShardOf(ownership, session.userId);
      if (shard.at === 'nobody') return { fault: null };
      const { owner } = shard;
      const at = shard.at === 'here' ? 'here' : peer(owner.shardId, owner.instance);
      try {
        const value = at === 'here' ? await here(session) : await there(at);
        const isAnswer = (at === 'here' || isCurrent(at)) && this.#settled(channel, at, owner);
        return isAnswer ? { value } : { fault: null };
      } catch (fault) {
        if (!isPassing(fault)) throw fault;
        return { fault };
      }
    });
  }

  /** False when the user changed owners in the meantime. */
  #settled(channel: Channel, at: Peer | 'here', owner: Owner): boolean {
    if (!isSameOwner(owner, this.#ports.ownership.ownerOf(channel.local.session.userId))) return false;
    channel.openAt = at;
    channel.owner = owner;
    return true;
  }

  /** Resolves on the next ownership change, or after the delay. */
  #wait(delayMs: number): Promise<void> {
    const { ownership, wheel } = this.#ports;
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        timer.cancel();
        resolve();
      };
      const stop = ownership.onChange(done);
      const timer = wheel.add(done, delayMs);
    });
  }

  #inOrder<T>(channel: Channel, job: () => Promise<T>): Promise<T> {
    channel.waiting += 1;
    const run = channel.tail === null ? job() : channel.tail.then(job, job);
    const tail: Promise<unknown> = run.then(
      () => this.#done(channel, tail),
      () => this.#done(channel, tail),
    );
    channel.tail = tail;
    return run;
  }

  #done(channel: Channel, tail: Promise<unknown>): void {
    channel.waiting -= 1;
    if (channel.tail === tail) channel.tail = null;
  }
}

/** Whether a retry may succeed: the call did not start, or is idempotent like opening. */
const isPassing = (fault: unknown): boolean =>
  fault instanceof NotServed || (fault instanceof LinkFault && fault.kind !== 'failed');
