import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { createActor, type SnapshotFrom } from 'xstate';
import { DispatchBody, type Missed, ReplayBuffer, type ReplayLimits } from '../../engine/fanout/body.ts';
import { isDirect, outlastsOpening } from '../../engine/fanout/direct.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Shard } from '../../engine/session/identify.ts';
import { preferencesAfter } from '../../engine/session/lobbyvoice.ts';
import {
  type ApplicationPreferences,
  type MissedFrame,
  NO_PREFERENCES,
  preferencesOf,
  type SessionRecord,
} from '../../engine/session/record.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { SessionId, UserId } from '../../protocol/ids.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import type { SessionRequest } from '../../protocol/sessionrequests.ts';
import type { Timer } from '../runtime/clock.ts';
import { type ActorOwner, type RestartState, RestingActor } from '../runtime/resting.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { LiveSession } from './backend.ts';
import type { SessionJournal } from './journal.ports.ts';
import type { FrameSink, GatewaySession, Principal, SessionIdentity } from './ports.ts';
import { bodyOf, plainOf } from './record.ts';
import {
  type SessionEvent,
  type SessionFeedEffects,
  type SessionShell,
  sessionMachine,
} from './session.machine.ts';

type SessionValue = SnapshotFrom<typeof sessionMachine>['value'];
type SessionContext = SnapshotFrom<typeof sessionMachine>['context'];

/** State shared by all sessions; one object, to keep each session small. */
export interface SessionHost {
  readonly supervisor: Supervisor;
  readonly replay: ReplayLimits;
  /** Null when no other shard or run could take the sessions over. */
  readonly journal: SessionJournal | null;
  readonly resumeWindowMs: number;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  nowMs(): number;
  nextHandle(): number;
  ask(session: GatewaySessionActor, request: SessionRequest): void;
  /** Shows the user without this session's presence; `reveal` restores the presence. */
  conceal(session: GatewaySessionActor): void;
  reveal(session: GatewaySessionActor): void;
  ended(session: GatewaySessionActor): void;
  /** A bug terminated the session's actor. */
  crashed(session: GatewaySessionActor, error: unknown): void;
}

/**
 * How long a bot without a connection keeps its presence. Some libraries shut down with close codes after which others
 * resume, so the close code does not tell whether the bot will return; a disconnected bot resumes sooner than this.
 * People, whose connections change with their networks, keep their presence for the whole resume window.
 */
const CONCEAL_BOT_AFTER_MS = 800;

/**
 * One gateway session: who it is, what its client set, and its lifecycle. Dispatches go to its feed and never pass
 * through the machine.
 */
export class GatewaySessionActor
  implements GatewaySession, LiveSession, SessionShell, ActorOwner<SessionEvent, SessionValue, SessionContext>
{
  readonly handle: number;
  readonly sessionId: SessionId;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
  /** The client's latest presence; null before it sent one. */
  presence: GatewayPresenceUpdateData | null = null;
  forUser: ApplicationPreferences = NO_PREFERENCES;
  /** What the client wants to be shown of guilds' members, oldest first; null before it named any. */
  memberLists: readonly MemberListRequest[] | null = null;
  #principal: Principal;
  readonly #host: SessionHost;
  readonly feed: SessionFeed;
  readonly #actor: RestingActor<SessionEvent, SessionValue, SessionContext>;
  /** The timers of a session without a connection; null while it has one. */
  #window: { readonly expiry: Timer; readonly concealment: Timer | null } | null = null;

  /** @param sink Null for a session restored from another shard: it waits to be attached. */
  constructor(identity: SessionIdentity, sink: FrameSink | null, host: SessionHost) {
    this.handle = host.nextHandle();
    this.sessionId = identity.sessionId;
    this.#principal = identity.principal;
    this.intents = identity.intents;
    this.shard = identity.shard;
    this.largeThreshold = identity.largeThreshold;
    this.#host = host;
    this.feed = new SessionFeed(this, host.replay, sink);
    this.#actor = new RestingActor(this, host.supervisor);
    this.#actor.start();
  }

  createActor(kept: RestartState<SessionValue, SessionContext> | null) {
    const options = { input: this, parent: this.#host.supervisor };
    return kept === null
      ? createActor(sessionMachine, options)
      : createActor(sessionMachine, { ...options, snapshot: sessionMachine.resolveState(kept) });
  }

  get id(): SessionId {
    return this.sessionId;
  }

  get principal(): Principal {
    return this.#principal;
  }

  get authorization(): Authorization | null {
    return this.#principal.authorization;
  }

  get userId(): UserId {
    return this.#principal.userId;
  }

  get bot(): boolean {
    return this.#principal.bot;
  }

  get seq(): number {
    return this.feed.seq;
  }

  get over(): boolean {
    return this.#actor.snapshot.status !== 'active';
  }

  /** Whether the session is continued elsewhere: its end here causes no notifications. */
  get transferred(): boolean {
    return this.#actor.snapshot.value === 'transferred';
  }

  nowMs(): number {
    return this.#host.nowMs();
  }

  deliver(body: DispatchBody): void {
    if (!this.over) this.feed.deliver(body);
  }

  numbered(body: DispatchBody): void {
    const { journal } = this.#host;
    journal?.delivered(body, this.handle);
    if (!this.authorization) return;
    const forUser = preferencesAfter(this.forUser, this, body);
    if (forUser === this.forUser) return;
    this.forUser = forUser;
    journal?.changed(this);
  }

  caughtUp(): void {
    this.#send({ type: 'caughtUp' });
  }

  /** Delivers a dispatch to this session alone. */
  tell(t: string, d: unknown): void {
    this.deliver(new DispatchBody(t, d, this.#host.nowMs()));
  }

  /** Sends READY. Dispatches wait on, until `greeted`. */
  open(ready: object): void {
    this.#send({ type: 'open' });
    this.greet('READY', ready);
  }

  /** Sends a dispatch that must precede those already delivered. Only between `open` and `greeted`. */
  greet(t: DispatchName, d: unknown): void {
    if (!this.over) this.feed.push(new DispatchBody(t, d, this.#host.nowMs()));
  }

  /** Continues a session of another shard; called once, before anything is delivered. */
  restore({ manner, seq, missed }: SessionRecord): readonly DispatchBody[] {
    this.presence = manner.presence;
    this.forUser = preferencesOf(manner);
    this.memberLists = manner.memberLists ?? null;
    const bodies = this.feed.restore(seq, missed);
    this.#send({ type: 'restore' });
    return bodies;
  }

  /** State that another shard needs to continue the session, except for missed dispatches and cursors. */
  get record(): Omit<SessionRecord, 'missed' | 'cursors'> {
    const { sessionId, intents, shard, largeThreshold, seq } = this;
    const { presence, memberLists, forUser } = this;
    const identity = { sessionId, principal: plainOf(this.#principal), intents, shard, largeThreshold };
    return { identity, manner: { presence, memberLists, ...forUser }, seq };
  }

  /** Ends the session here, because another shard or the next run continues it. Closes its connection, if any. */
  transferOut(close: Close = RESUMED_ELSEWHERE): void {
    this.feed.hangUp(close);
    this.#send({ type: 'transfer' });
  }

  following(ownerId: string, n: number): void {
    if (!this.over) this.#host.journal?.following(this.handle, ownerId, n);
  }

  left(ownerId: string): void {
    if (!this.over) this.#host.journal?.left(this.handle, ownerId);
  }

  /** A newer token of the same user and application replaces the session's principal. */
  renew(principal: Principal): void {
    this.#principal = principal;
  }

  writable(): Promise<void> {
    return this.feed.writable();
  }

  /** Attaches a connection whose client has seen `seq`, which `missedSince` must have accepted. */
  attach(sink: FrameSink, seq: number): void {
    this.#send({ type: 'attach', sink, seq });
  }

  detach(sink: FrameSink, resumable: boolean): void {
    if (this.feed.drop(sink)) this.#send({ type: resumable ? 'detach' : 'end' });
  }

  /** Ends the session; its connection is closed with this code. */
  end(close: Close): void {
    this.feed.hangUp(close);
    this.#send({ type: 'end' });
  }

  /** A heartbeat: the client has received the dispatches up to `seq`, and the session is quiet. */
  acknowledge(seq: number): void {
    this.feed.kept.acknowledge(seq);
    this.#actor.rest();
  }

  ask(request: SessionRequest): void {
    this.#host.ask(this, request);
  }

  startWindow(): void {
    const { wheel, resumeWindowMs } = this.#host;
    const expiry = wheel.add(() => this.#actor.send({ type: 'expire' }), resumeWindowMs);
    const concealment = this.bot
      ? wheel.add(() => this.#actor.send({ type: 'conceal' }), CONCEAL_BOT_AFTER_MS)
      : null;
    this.#window = { expiry, concealment };
  }

  /** Restarts the resume window, if it runs: a RESUME was refused that the client will send again. */
  extendWindow(): void {
    if (!this.#window) return;
    this.stopWindow();
    this.startWindow();
  }

  stopWindow(): void {
    this.#window?.expiry.cancel();
    this.#window?.concealment?.cancel();
    this.#window = null;
  }

  conceal(): void {
    this.#host.conceal(this);
  }

  reveal(): void {
    this.#host.reveal(this);
  }

  #send(event: SessionEvent): void {
    // A stopped actor would log a warning for every event.
    if (!this.over) this.#actor.send(event);
  }

  actorEnded(): void {
    try {
      this.#host.ended(this);
    } catch (error) {
      this.#host.crashed(this, error);
    }
  }

  actorFailed(error: unknown): void {
    this.stopWindow();
    this.feed.hangUp(CLOSE.UNKNOWN_ERROR);
    this.actorEnded();
    this.#host.crashed(this, error);
  }
}

/** A close code for the client, and why. */
interface Close {
  readonly code: number;
  readonly reason: string;
}

/** Callbacks of a feed to its session. */
interface FeedOwner {
  nowMs(): number;
  /** A dispatch was given its number. */
  numbered(body: DispatchBody): void;
  deliver(body: DispatchBody): void;
  caughtUp(): void;
  end(close: Close): void;
}

/**
 * Replayed dispatches between two checks of the socket; a large dispatch ends a round early. A round begins when three
 * quarters of `socket_buffer_bytes_max` are free, and must not fill them even with messages of the largest size:
 * otherwise the server's own replay would cut off the resuming client.
 */
const REPLAY_ROUND = 8;
/**
 * Large dispatches that a new session is sent before it waits for its connection, by their estimated size: enough small guilds
 * to share a write, few enough not to keep other connections waiting.
 */
const HYDRATION_ROUND_BYTES = 64 << 10;
/**
 * Upper bound on dispatches that wait for READY: far more than arrive during the few reads before it, unless a read
 * hangs.
 */
const EARLY_MAX = 1024;
const RESUMED_ELSEWHERE: Close = {
  code: CLOSE.UNKNOWN_ERROR.code,
  reason: 'The session was resumed elsewhere.',
};

/**
 * The dispatches of one session on their way to its client: numbers them, keeps them for RESUME and writes them to the
 * connection, if any. `deliver` is the hot path: an addition, a slot of the replay buffer and a call of the sink.
 */
class SessionFeed implements SessionFeedEffects {
  readonly #owner: FeedOwner;
  /** The dispatches that are kept for a RESUME. */
  readonly kept: ReplayBuffer;
  /** The connection; null without one. */
  #sink: FrameSink | null;
  /** The connection, while it receives new dispatches directly. */
  #live: FrameSink | null = null;
  /** The next sequence number to replay to the connection. */
  #next = 1;
  /** Estimated bytes of the large dispatches since `writable` was last called; a full round before the first call. */
  #roundBytes = HYDRATION_ROUND_BYTES;
  /** Dispatches that wait for the end of the greeting; null after `greeted` and `restore`. */
  #early: DispatchBody[] | null = [];

  constructor(owner: FeedOwner, limits: ReplayLimits, sink: FrameSink | null) {
    this.#owner = owner;
    this.kept = new ReplayBuffer(limits);
    this.#sink = sink;
  }

  /** The number of the latest dispatch. */
  get seq(): number {
    return this.kept.lastSeq;
  }

  /** Whether dispatches wait for the end of the greeting. */
  get greeting(): boolean {
    return this.#early !== null;
  }

  deliver(body: DispatchBody): void {
    if (this.#early) this.#hold(body, this.#early);
    else this.push(body);
  }

  /** Numbers a dispatch, before those that wait for the end of the greeting. */
  push(body: DispatchBody): void {
    const seq = this.kept.push(body);
    this.#roundBytes += body.weightBytes;
    this.#owner.numbered(body);
    this.#live?.dispatch(body, seq);
  }

  /** Ends the greeting: sends the dispatches that arrived in the meantime, and later ones directly. Called once. */
  greeted(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const body of early) this.#owner.deliver(body);
  }

  /**
   * The session is opened once more: drops waiting dispatches of state that the next READY contains.
   *
   * @returns The direct streams of what is kept.
   */
  dropOutdated(): ReadonlySet<string> {
    this.#early = this.#early?.filter(outlastsOpening) ?? null;
    const streams = (this.#early ?? []).flatMap(({ origin }) => (origin ? [origin.ownerId] : []));
    return new Set(streams.filter(isDirect));
  }

  /** Continues the feed of another shard and returns what it brought; called once, before anything is delivered. */
  restore(seq: number, missed: readonly MissedFrame[]): readonly DispatchBody[] {
    this.#early = null;
    this.kept.begin(seq - missed.length);
    const nowMs = this.#owner.nowMs();
    const bodies = missed.map((frame) => bodyOf(frame, nowMs));
    for (const body of bodies) this.kept.push(body);
    return bodies;
  }

  /** The dispatches after `seq`. */
  missedSince(seq: number): Missed {
    return this.kept.since(seq, this.#owner.nowMs());
  }

  /** The newest dispatches that are kept, at most `max`. */
  latest(max: number): ReturnType<ReplayBuffer['latest']> {
    return this.kept.latest(max, this.#owner.nowMs());
  }

  /** Whether another large dispatch may be sent without waiting for `writable`. */
  get hasRoom(): boolean {
    return this.#roundBytes < HYDRATION_ROUND_BYTES;
  }

  /** Resolves when the connection has room, at once without a connection. */
  writable(): Promise<void> {
    this.#roundBytes = 0;
    const sink = this.#sink;
    return sink ? new Promise((resolve) => sink.whenWritable(resolve)) : Promise.resolve();
  }

  /** Lets go of a connection that broke; false when another one took its place before. */
  drop(sink: FrameSink): boolean {
    if (sink !== this.#sink) return false;
    this.#sink = null;
    this.#live = null;
    return true;
  }

  /** Closes the connection, if any. */
  hangUp({ code, reason }: Close): void {
    const sink = this.#sink;
    this.#sink = null;
    this.#live = null;
    sink?.close(code, reason);
  }

  dismiss(): void {
    this.hangUp(RESUMED_ELSEWHERE);
  }

  adopt(sink: FrameSink, seq: number): void {
    this.#sink = sink;
    this.#next = seq + 1;
    // RESUMED is numbered after the missed dispatches, and before those that arrive during the replay.
    this.#owner.deliver(new DispatchBody('RESUMED', {}, this.#owner.nowMs()));
  }

  replay(): void {
    if (this.#sink) this.#replayTo(this.#sink);
  }

  flow(): void {
    this.#live = this.#sink;
  }

  pause(): void {
    this.#live = null;
  }

  /** Replays in rounds, as fast as the connection accepts them; new dispatches only join the buffer in the meantime. */
  #replayTo(sink: FrameSink): void {
    if (sink !== this.#sink) return;
    for (let round = 0; round < REPLAY_ROUND && this.#next <= this.kept.lastSeq; round += 1) {
      const body = this.kept.get(this.#next);
      // New dispatches evict old ones faster than the connection accepts them: it can never catch up.
      if (!body) {
        this.#owner.end(CLOSE.SESSION_TIMED_OUT);
        return;
      }
      sink.dispatch(body, this.#next);
      this.#next += 1;
      if (body.weightBytes > 0) break;
    }
    if (this.#next > this.kept.lastSeq) this.#owner.caughtUp();
    else sink.whenWritable(() => this.#replayTo(sink));
  }

  /**
   * Holds dispatches until READY: the session is subscribed before everything in READY was read, and its client ignores
   * dispatches before READY, or about a lobby that it does not know yet.
   */
  #hold(body: DispatchBody, early: DispatchBody[]): void {
    if (early.length < EARLY_MAX) early.push(body);
    // A dropped dispatch would leave the client with wrong state; without a session the client simply identifies again.
    else this.#owner.end({ ...CLOSE.UNKNOWN_ERROR, reason: 'The session took too long to open.' });
  }
}
