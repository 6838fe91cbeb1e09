import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Cursor } from '../../../engine/session/cursors.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { ArgsOf, ReplyOf, ShardAsk } from '../../../protocol/link.ts';
import type { SessionRequest } from '../../../protocol/sessionrequests.ts';
import type { Ownership, Router } from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { eagerKeyedMutex } from '../../runtime/keyedmutex.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession, Opening } from '../../session/backend.ts';
import { OwnerRetries } from '../routing/ownerretries.ts';
import { isSameOwner } from './guildstream.ts';
import { isOwnedElsewhere, ownerShardOf } from './ownershard.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';
import {
  transition,
  UNOPENED,
  type UserChannelEffect,
  type UserChannelEvent,
  type UserChannelState,
} from './userchanneltransition.ts';

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
  /** The session is about to be opened, for the first time or once more after an opening without an answer. */
  readonly opening: (session: LiveSession) => void;
  /** The session's cursors of direct notifications. */
  readonly cursors: (session: LiveSession) => readonly Cursor[];
  readonly userBackend: UserBackend;
  /** A session was reopened; `guildIds` are the current guilds of its user. */
  readonly reopened: (local: LocalSession, guildIds: readonly GuildId[]) => void;
  /** How long a session without a shard is kept open, in milliseconds. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Upper bound on the jobs of one session that run or wait; further requests are dropped. */
const JOBS_MAX = 64;
/** How long requests wait, and the first and longest delay between retries. */
const DEADLINE_MS = 10_000;
const RETRY_MS = { first: 50, most: 2000 };

/** The channel of one session to the owner of its user. */
interface UserChannel {
  readonly local: LocalSession;
  state: UserChannelState;
  presence: Presence | null;
  /** Number of jobs that run or wait in the channel's order. */
  jobs: number;
}

/**
 * The ordered channel of each session to the owner of its user: no request overtakes an earlier one. When the user
 * changes owners, or a link breaks, the session is reopened before further requests. What becomes of each channel is
 * decided in `transition`.
 */
export class UserChannels {
  readonly #ports: UserChannelPorts;
  readonly #channels = new Map<LocalSession, UserChannel>();
  readonly #ordered = eagerKeyedMutex<UserChannel>();
  readonly #retries: OwnerRetries;

  constructor(ports: UserChannelPorts) {
    this.#ports = ports;
    this.#retries = new OwnerRetries({
      ...{ clock: { monotonic: ports.nowMs }, wheel: ports.wheel, scope: ports.scope, retryMs: RETRY_MS },
      random: () => 0.5,
      // One call of a session waits at a time, and sessions are bounded.
      waitingMax: Number.POSITIVE_INFINITY,
      refusal: () => new NotServed('No shard owns the user now.'),
    });
    const stopListening = ports.ownership.onChange(({ moved }) => {
      this.#ownersChanged(new Set(moved));
      this.#retries.changed();
    });
    ports.scope.own(() => {
      stopListening();
      this.#channels.clear();
    });
  }

  /** @throws NotServed when the user's owner does not answer in time. */
  open(local: LocalSession): Promise<Opening> {
    const { userBackend, reference, opening } = this.#ports;
    const channel = this.#add(local);
    const open = (): Promise<Opening> =>
      this.#callOwner(
        channel,
        (session) => {
          opening(session);
          return userBackend.open(session);
        },
        (peer) => {
          opening(local.session);
          return this.#ask(peer, 'remoteSessions.open', [reference(local, peer)]);
        },
      );
    return this.#inOrder(channel, open);
  }

  /** Reopens a session that was open on another shard. */
  reopen(local: LocalSession, presence: Presence | null): Promise<Reopened> {
    const channel = this.#channels.get(local) ?? this.#add(local);
    channel.presence = presence;
    this.#apply(channel, { type: 'returned' });
    return this.#inOrder(channel, () => this.#reopen(channel));
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

  /** The session ended, or moved to another shard (`isMoving`). */
  ended(local: LocalSession, isMoving: boolean): void {
    const channel = this.#channels.get(local);
    this.#channels.delete(local);
    if (channel) this.#apply(channel, { type: 'ended', isMoving });
  }

  /**
   * Another object replaced the session with its user's owner: the shard that released the session had sent a late
   * request. The owner may say so before it has answered the request that opened the session: that answer is outdated.
   */
  sessionReplaced(local: LocalSession): void {
    this.#ports.wheel.after(() => {
      const channel = this.#channels.get(local);
      if (channel) void this.#inOrder(channel, async () => this.#apply(channel, { type: 'replaced' }));
    }, RETRY_MS.first);
  }

  /** The peer epoch ended: sessions open at that peer are reopened. */
  peerLost(peer: Peer): void {
    for (const channel of this.#channels.values()) this.#apply(channel, { type: 'peerLost', peer });
  }

  #ownersChanged(partitions: ReadonlySet<number>): void {
    const { ownership } = this.#ports;
    if (partitions.size === 0) return;
    for (const channel of this.#channels.values()) {
      const { userId } = channel.local.session;
      if (partitions.has(ownership.partitionOf(userId)))
        this.#apply(channel, { type: 'ownerChanged', owner: ownership.ownerOf(userId) });
    }
  }

  #add(local: LocalSession): UserChannel {
    const channel: UserChannel = { local, state: UNOPENED, presence: null, jobs: 0 };
    this.#channels.set(local, channel);
    return channel;
  }

  #apply(channel: UserChannel, event: UserChannelEvent): void {
    const { next, effect } = transition(channel.state, event);
    channel.state = next;
    if (effect) this.#perform(channel, effect);
  }

  #perform(channel: UserChannel, effect: UserChannelEffect): void {
    const { ownership, userBackend, wheel, resumeWindowMs } = this.#ports;
    const { session } = channel.local;
    const endHere = (): void => {
      // Also without a safe lease or a membership: nothing would end the session here later.
      if (!isOwnedElsewhere(ownership, session.userId)) userBackend.ended(session);
    };
    if (effect === 'reopen') this.#reopenInBackground(channel);
    else if (effect === 'endHere') endHere();
    else wheel.after(endHere, resumeWindowMs);
  }

  /** Reopens a lost session with the current owner of its user, with retries until it succeeds. */
  #reopenInBackground(channel: UserChannel): void {
    const { onFault } = this.#ports;
    const { sessionId } = channel.local.session;
    const reopen = async (): Promise<void> => {
      while (channel.state.name === 'lost' && this.#isLive(channel)) {
        try {
          await this.#reopenAndJoin(channel);
        } catch (fault) {
          if (!(fault instanceof NotServed)) onFault(fault, sessionId);
          await changeOrDelay(this.#ports, RETRY_MS.most);
        }
      }
    };
    this.#inOrder(channel, reopen).catch((fault) => onFault(fault, sessionId));
  }

  #isLive({ state, local }: UserChannel): boolean {
    return state.name !== 'ended' && !local.session.over && !this.#ports.scope.over;
  }

  async #reopenAndJoin(channel: UserChannel): Promise<void> {
    const { guildIds } = await this.#reopen(channel);
    if (this.#isLive(channel)) this.#ports.reopened(channel.local, guildIds);
  }

  async #reopen(channel: UserChannel): Promise<Reopened> {
    const { userBackend, reference, cursors } = this.#ports;
    const { presence, local } = channel;
    const reopened = await this.#callOwner(
      channel,
      (session) => userBackend.reopenAtOwner(session, presence, cursors(session)),
      (peer) =>
        this.#ask(peer, 'remoteSessions.reopen', [reference(local, peer), presence, cursors(local.session)]),
    );
    // The next owner of the user does not know in which calls of lobbies the session is, nor may the next owner of a lobby.
    const lobbyVoice = local.session.forUser?.lobbyVoice;
    if (lobbyVoice) this.#request(channel, { name: 'lobbyVoice', input: lobbyVoice });
    return reopened;
  }

  #request(channel: UserChannel, request: SessionRequest): void {
    const { ownership, userBackend, onFault } = this.#ports;
    const { state, jobs, local } = channel;
    const { session } = local;
    const failed = (fault: unknown) => onFault(fault, session.sessionId);
    if (state.name === 'open' && state.at === 'here' && jobs === 0 && ownership.owns(session.userId)) {
      userBackend.ask(session, request)?.catch(failed);
      return;
    }
    if (jobs >= JOBS_MAX) return;
    this.#inOrder(channel, () => this.#requestInOrder(channel, request)).catch(failed);
  }

  /** Requests are idempotent, because they state the wanted result; a retry after an unknown outcome is safe. */
  async #requestInOrder(channel: UserChannel, request: SessionRequest): Promise<void> {
    const { userBackend, reference, nowMs } = this.#ports;
    const { local } = channel;
    const untilMs = nowMs() + DEADLINE_MS;
    while (this.#isLive(channel)) {
      const { state } = channel;
      if (state.name !== 'open') {
        await this.#reopenAndJoin(channel);
        // The session was reopened with its latest presence, and next reports the calls that it asked for last.
        if (request.name === 'presence' || request.name === 'lobbyVoice') return;
        continue;
      }
      const { at } = state;
      if (at === 'here') return userBackend.ask(local.session, request);
      try {
        const { name, input } = request;
        await this.#ask(at, 'remoteSessions.ask', [reference(local, at), name, [input]]);
        return;
      } catch (fault) {
        if (!isPassing(fault) || nowMs() >= untilMs) throw fault;
        if (channel.state === state) await changeOrDelay(this.#ports, RETRY_MS.first);
      }
    }
  }

  /** Calls a certain peer, not the owner of the moment: the peer's handle of the session is part of the arguments. */
  #ask<M extends ShardAsk>(peer: Peer, method: M, args: ArgsOf<M>): Promise<ReplyOf<M>> {
    return this.#ports.router.askShard(peer.shardId, method, args, DEADLINE_MS);
  }

  /** Runs the call on the current owner of the session's user and records that owner as the session's. */
  #callOwner<T>(
    channel: UserChannel,
    here: (session: LiveSession) => Promise<T>,
    there: (peer: Peer) => Promise<T>,
  ): Promise<T> {
    const { ownership, nowMs, peer, isCurrent } = this.#ports;
    const { session } = channel.local;
    return this.#retries.run(nowMs() + DEADLINE_MS, async () => {
      // Every shard that knew the session was notified of its end. An owner that opened it now would never be notified.
      if (!this.#isLive(channel)) throw new NotServed('The session has ended.');
      const shard = ownerShardOf(ownership, session.userId);
      if (shard.at === 'nobody') return { fault: null };
      const { owner } = shard;
      const at = shard.at === 'here' ? 'here' : peer(owner.shardId, owner.instance);
      try {
        const value = at === 'here' ? await here(session) : await there(at);
        // The user changed owners in the meantime, or the link broke: the answer is outdated.
        const isOutdated = at !== 'here' && !isCurrent(at);
        if (isOutdated || !isSameOwner(owner, ownership.ownerOf(session.userId))) return { fault: null };
        this.#apply(channel, { type: 'opened', at, owner });
        return { value };
      } catch (fault) {
        if (!isPassing(fault)) throw fault;
        return { fault };
      }
    });
  }

  #inOrder<T>(channel: UserChannel, job: () => Promise<T>): Promise<T> {
    channel.jobs += 1;
    return this.#ordered(channel, job).finally(() => {
      channel.jobs -= 1;
    });
  }
}

/** Whether a retry may succeed: the call did not start, or is idempotent like opening. */
const isPassing = (fault: unknown): boolean =>
  fault instanceof NotServed || (fault instanceof LinkFault && fault.kind !== 'failed');

/** Resolves on the next ownership change, or after the delay. */
function changeOrDelay(
  { ownership, wheel }: Pick<UserChannelPorts, 'ownership' | 'wheel'>,
  delayMs: number,
): Promise<void> {
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
