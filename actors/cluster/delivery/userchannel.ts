import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Cursor } from '../../../engine/session/cursors.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { ArgsOf, ReplyOf, ShardAsk } from '../../../protocol/link.ts';
import type { Owner, Ownership, Router } from '../../placement/ports.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession, Opening } from '../../session/backend.ts';
import type { SessionRequest } from '../../session/requests.ts';
import { isSameOwner } from './guildsubscriptions.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';

type Presence = GatewayPresenceUpdateData;

/** What the owner of a user does for the user's sessions, here as for other shards. */
export interface UserBackend {
  open(session: LiveSession): Promise<Opening>;
  /** In place of what was open under its id. What its user was told beyond its cursors it is delivered first. */
  reopenAtOwner(
    session: LiveSession,
    presence: Presence | null,
    cursors: readonly Cursor[],
  ): Promise<Reopened>;
  /** Does what a session asks of its user's owner. */
  ask(session: LiveSession, request: SessionRequest): Promise<void> | void;
  ended(session: LiveSession): void;
}

interface Reopened {
  /** Guilds of its user. */
  readonly guildIds: readonly GuildId[];
  /** False: some of what it has missed cannot be had any more. */
  readonly isWhole: boolean;
}

export interface UserChannelPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly isCurrent: (peer: Peer) => boolean;
  readonly reference: (local: LocalSession, peer: Peer) => SessionReference;
  /** How far the session has heard what its user is told. */
  readonly cursors: (session: LiveSession) => readonly Cursor[];
  readonly userBackend: UserBackend;
  /** A session was opened anew: these are the guilds of its user now. */
  readonly reopened: (local: LocalSession, guildIds: readonly GuildId[]) => void;
  /** How long a session that is at no home is kept open, milliseconds. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Things that one session may have asked and that wait for its user's owner. */
const WAITING_MAX = 64;
/** How long they wait, and how often they are tried meanwhile. */
const DEADLINE_MS = 10_000;
const RETRY_MS = { first: 50, most: 2000 };

interface Channel {
  readonly local: LocalSession;
  /** Where the session is open; null: nowhere, or where it is no more. */
  openAt: Peer | 'here' | null;
  /** Under which the user is owned there. */
  owner: Owner | null;
  /** It was open once, from this home: it is opened anew whenever it must be. */
  wasOpened: boolean;
  presence: Presence | null;
  waiting: number;
  tail: Promise<unknown> | null;
}

/**
 * The way of each session to the owner of its user, in order: nothing overtakes what was asked before. When the user
 * changes hands, or a link has broken, the session is opened again before anything else.
 */
export class UserChannels {
  readonly #ports: UserChannelPorts;
  readonly #channels = new Map<LocalSession, Channel>();
  readonly #stopListening: () => void;

  constructor(ports: UserChannelPorts) {
    this.#ports = ports;
    this.#stopListening = ports.ownership.onChange(({ moved }) => this.#ownersChanged(new Set(moved)));
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
      const opening = (await this.#callOwner(
        channel,
        (session) => userBackend.open(session),
        (peer) => this.#ask(peer, 'remoteSessions.open', [this.#ports.reference(local, peer)]),
      )) as Opening;
      channel.wasOpened = true;
      return opening;
    });
  }

  /** Opens a session that was open from another home. */
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
   * The session is over, or goes on at another home (`kept`): then it stays open for as long as that may take. Where it
   * is open elsewhere, its home has that shard hear so.
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

  /** Another stood for the session with its user's owner: a home that let it go had asked late. */
  sessionReplaced(local: LocalSession): void {
    this.#ports.wheel.after(() => {
      const channel = this.#channels.get(local);
      if (channel && channel.openAt !== null) this.#reopenAtOwner(channel);
    }, RETRY_MS.first);
  }

  /** A peer's talk is over: what its users' owner knows of our sessions is to be said anew. */
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

  /** Opens the session with whoever owns its user now, however long that takes. */
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
    const reopened = await this.#callOwner(
      channel,
      (session) => userBackend.reopenAtOwner(session, presence, cursors(session)),
      (peer) =>
        this.#ask(peer, 'remoteSessions.reopen', [reference(local, peer), presence, cursors(local.session)]),
    );
    return reopened as Reopened;
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

  /** What is asked may be done twice: it says how things are to be. */
  async #requestInOrder(channel: Channel, request: SessionRequest): Promise<void> {
    const { userBackend, reference, nowMs } = this.#ports;
    const { session } = channel.local;
    const untilMs = nowMs() + DEADLINE_MS;
    while (this.#isLive(channel)) {
      if (channel.openAt === null) {
        this.#ports.reopened(channel.local, (await this.#reopen(channel)).guildIds);
        // It was opened with the last presence.
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

  #ask<M extends ShardAsk>(peer: Peer, method: M, args: ArgsOf<M>): Promise<ReplyOf<M>> {
    return this.#ports.router.askShard(peer.shardId, method, args, DEADLINE_MS);
  }

  /** Does it with the owner of the session's user, of whom the session is from then on. */
  async #callOwner(
    channel: Channel,
    here: (session: LiveSession) => Promise<unknown>,
    there: (peer: Peer) => Promise<unknown>,
  ): Promise<unknown> {
    const { ownership, nowMs } = this.#ports;
    const { session } = channel.local;
    const untilMs = nowMs() + DEADLINE_MS;
    for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.most)) {
      const owner = ownership.ownerOf(session.userId);
      const peer =
        owner && owner.instance !== ownership.self?.instance
          ? this.#ports.peer(owner.shardId, owner.instance)
          : null;
      try {
        if (ownership.owns(session.userId)) {
          const answer = await here(session);
          if (this.#settled(channel, 'here', owner)) return answer;
        }
        if (peer) {
          const answer = await there(peer);
          if (this.#ports.isCurrent(peer) && this.#settled(channel, peer, owner)) return answer;
        }
      } catch (fault) {
        if (!isPassing(fault)) throw fault;
      }
      if (nowMs() >= untilMs) throw new NotServed('Nobody serves the user.');
      await this.#wait(delayMs);
    }
  }

  /** False when the user has changed hands meanwhile. */
  #settled(channel: Channel, at: Peer | 'here', tenure: Owner | null): boolean {
    if (!isSameOwner(tenure, this.#ports.ownership.ownerOf(channel.local.session.userId))) return false;
    channel.openAt = at;
    channel.owner = tenure;
    return true;
  }

  /** Until the next change of hands, or this long. */
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

/** Another try may do: it was not begun, or may be done twice, as opening may. */
const isPassing = (fault: unknown): boolean =>
  fault instanceof NotServed || (fault instanceof LinkFault && fault.kind !== 'failed');
