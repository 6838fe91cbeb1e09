import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { type ActorRefFrom, createActor } from 'xstate';
import { DispatchBody } from '../../engine/fanout/body.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Shard } from '../../engine/session/identify.ts';
import type { SessionRecord } from '../../engine/session/record.ts';
import { type Missed, ReplayBuffer, type ReplayLimits } from '../../engine/session/replay.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { SessionId, UserId } from '../../protocol/ids.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { LiveSession } from './backend.ts';
import type { SessionJournal } from './journal.ports.ts';
import type { FrameSink, GatewaySession, Principal } from './ports.ts';
import { bodyOf, plainOf } from './record.ts';
import type { SessionRequest } from './requests.ts';
import { type SessionEvent, type SessionShell, sessionMachine } from './session.machine.ts';

/** A close code for the client, and why. */
interface Close {
  readonly code: number;
  readonly reason: string;
}

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

export interface SessionIdentity {
  readonly sessionId: SessionId;
  readonly principal: Principal;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
}

/**
 * Replayed dispatches between two checks of the socket; a large dispatch ends a round early. A round begins when three
 * quarters of `socket_buffer_bytes_max` are free, and must not fill them even with messages of the largest size:
 * otherwise the server's own replay would cut off the resuming client.
 */
const REPLAY_ROUND = 8;
/**
 * How long a bot without a connection keeps its presence. Some libraries shut down with close codes after which others
 * resume, so the close code does not tell whether the bot will return; a disconnected bot resumes sooner than this.
 * People, whose connections change with their networks, keep their presence for the whole resume window.
 */
const CONCEAL_BOT_AFTER_MS = 800;
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
 * One gateway session: numbers its dispatches, keeps them for RESUME and writes them to its connection, if any.
 * `deliver` is the hot path: an addition, a slot of the replay buffer and a call of the sink; it never passes through
 * the machine.
 */
export class GatewaySessionActor implements GatewaySession, LiveSession, SessionShell {
  readonly handle: number;
  readonly sessionId: SessionId;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
  /** The client's latest presence; null before it sent one. */
  presence: GatewayPresenceUpdateData | null = null;
  /** Whether the application receives requests to link the session's user. */
  wantsAuthorizeRequests = false;
  #principal: Principal;
  readonly #host: SessionHost;
  readonly #replay: ReplayBuffer;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  /** The connection; null without one. */
  #sink: FrameSink | null;
  /** The connection, while it receives new dispatches directly. */
  #live: FrameSink | null = null;
  /** The next sequence number to replay to the connection. */
  #next = 1;
  #window: Timer | null = null;
  #concealment: Timer | null = null;
  /** Dispatches that wait for the end of the greeting; null after `greeted` and `restore`. */
  #early: DispatchBody[] | null = [];

  /** @param sink Null for a session restored from another shard: it waits to be attached. */
  constructor(identity: SessionIdentity, sink: FrameSink | null, host: SessionHost) {
    this.handle = host.nextHandle();
    this.sessionId = identity.sessionId;
    this.#principal = identity.principal;
    this.intents = identity.intents;
    this.shard = identity.shard;
    this.largeThreshold = identity.largeThreshold;
    this.#host = host;
    this.#sink = sink;
    this.#replay = new ReplayBuffer(host.replay);
    this.#actor = createActor(sessionMachine, { input: this, parent: host.supervisor });
    this.#actor.subscribe({ complete: () => this.#release(), error: (error) => this.#crashed(error) });
    this.#actor.start();
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
    return this.#replay.lastSeq;
  }

  get over(): boolean {
    return this.#actor.getSnapshot().status !== 'active';
  }

  /** Whether the session is continued elsewhere: its end here causes no notifications. */
  get transferred(): boolean {
    return this.#actor.getSnapshot().value === 'transferred';
  }

  /** True until READY and what must follow it were sent; until then the session cannot move to another shard. */
  get greeting(): boolean {
    return this.#early !== null;
  }

  deliver(body: DispatchBody): void {
    if (this.over) return;
    if (this.#early) this.#hold(body, this.#early);
    else this.#push(body);
  }

  #push(body: DispatchBody): void {
    const seq = this.#replay.push(body);
    this.#host.journal?.delivered(body, this.handle);
    this.#live?.dispatch(body, seq);
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
    if (!this.over) this.#push(new DispatchBody(t, d, this.#host.nowMs()));
  }

  /** Ends the greeting: sends the dispatches that arrived in the meantime, and later ones directly. Called once. */
  greeted(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const body of early) this.deliver(body);
  }

  /** Continues a session of another shard; called once, before anything is delivered. */
  restore({ manner, seq, missed }: SessionRecord): void {
    this.#early = null;
    this.presence = manner.presence;
    this.wantsAuthorizeRequests = manner.wantsAuthorizeRequests;
    const nowMs = this.#host.nowMs();
    this.#replay.begin(seq - missed.length);
    for (const frame of missed) this.#replay.push(bodyOf(frame, nowMs));
    this.#send({ type: 'restore' });
  }

  /** What another shard needs to continue the session, except for missed dispatches and cursors. */
  get record(): Omit<SessionRecord, 'missed' | 'cursors'> {
    const { sessionId, intents, shard, largeThreshold, presence, wantsAuthorizeRequests, seq } = this;
    const identity = { sessionId, principal: plainOf(this.#principal), intents, shard, largeThreshold };
    return { identity, manner: { presence, wantsAuthorizeRequests }, seq };
  }

  /** Ends the session here, because another shard or the next run continues it. Closes its connection, if any. */
  transferOut(close: Close = RESUMED_ELSEWHERE): void {
    this.#hangUp(close);
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
    const sink = this.#sink;
    return sink ? new Promise((resolve) => sink.whenWritable(resolve)) : Promise.resolve();
  }

  /** The dispatches after `seq`. */
  missedSince(seq: number): Missed {
    return this.#replay.since(seq, this.#host.nowMs());
  }

  /** Attaches a connection whose client has seen `seq`, which `missedSince` must have accepted. */
  attach(sink: FrameSink, seq: number): void {
    this.#send({ type: 'attach', sink, seq });
  }

  detach(sink: FrameSink, resumable: boolean): void {
    if (sink !== this.#sink) return;
    this.#sink = null;
    this.#send({ type: resumable ? 'detach' : 'end' });
  }

  /** Ends the session; its connection is closed with this code. */
  end(close: Close): void {
    this.#hangUp(close);
    this.#send({ type: 'end' });
  }

  /** Drops dispatches that are too old to be replayed. */
  trim(nowMs: number): void {
    this.#replay.trim(nowMs);
  }

  ask(request: SessionRequest): void {
    this.#host.ask(this, request);
  }

  dismiss(): void {
    this.#hangUp(RESUMED_ELSEWHERE);
  }

  adopt(sink: FrameSink, seq: number): void {
    this.#sink = sink;
    this.#next = seq + 1;
    // RESUMED is numbered after the missed dispatches, and before those that arrive during the replay.
    this.tell('RESUMED', {});
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

  startWindow(): void {
    this.#window = this.#host.wheel.add(
      () => this.#actor.send({ type: 'expire' }),
      this.#host.resumeWindowMs,
    );
    if (!this.bot || this.#host.resumeWindowMs <= CONCEAL_BOT_AFTER_MS) return;
    this.#concealment = this.#host.wheel.add(
      () => this.#actor.send({ type: 'conceal' }),
      CONCEAL_BOT_AFTER_MS,
    );
  }

  stopWindow(): void {
    this.#window?.cancel();
    this.#window = null;
    this.#concealment?.cancel();
    this.#concealment = null;
  }

  conceal(): void {
    this.#host.conceal(this);
  }

  reveal(): void {
    this.#host.reveal(this);
  }

  /** Replays in rounds, as fast as the connection accepts them; new dispatches only join the buffer in the meantime. */
  #replayTo(sink: FrameSink): void {
    if (sink !== this.#sink) return;
    for (let round = 0; round < REPLAY_ROUND && this.#next <= this.#replay.lastSeq; round += 1) {
      const body = this.#replay.get(this.#next);
      // New dispatches evict old ones faster than the connection accepts them: it can never catch up.
      if (!body) {
        this.end(CLOSE.SESSION_TIMED_OUT);
        return;
      }
      sink.dispatch(body, this.#next);
      this.#next += 1;
      if (body.weightBytes > 0) break;
    }
    if (this.#next > this.#replay.lastSeq) this.#send({ type: 'caughtUp' });
    else sink.whenWritable(() => this.#replayTo(sink));
  }

  /**
   * Holds dispatches until READY: the session is subscribed before everything in READY was read, and its client ignores
   * dispatches before READY, or about a lobby that it does not know yet.
   */
  #hold(body: DispatchBody, early: DispatchBody[]): void {
    if (early.length < EARLY_MAX) early.push(body);
    // A dropped dispatch would leave the client with wrong state; without a session the client simply identifies again.
    else this.end({ ...CLOSE.UNKNOWN_ERROR, reason: 'The session took too long to open.' });
  }

  #send(event: SessionEvent): void {
    // A stopped actor would log a warning for every event.
    if (!this.over) this.#actor.send(event);
  }

  #hangUp({ code, reason }: Close): void {
    const sink = this.#sink;
    this.#sink = null;
    this.#live = null;
    sink?.close(code, reason);
  }

  #release(): void {
    this.#sink = null;
    this.#live = null;
    try {
      this.#host.ended(this);
    } catch (error) {
      this.#host.crashed(this, error);
    }
  }

  #crashed(error: unknown): void {
    this.stopWindow();
    this.#hangUp(CLOSE.UNKNOWN_ERROR);
    this.#release();
    this.#host.crashed(this, error);
  }
}
