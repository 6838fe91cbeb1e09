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

/** What all sessions share; one object, so that a session is small. */
export interface SessionHost {
  readonly supervisor: Supervisor;
  readonly replay: ReplayLimits;
  /** Null while nobody could take the sessions over. */
  readonly journal: SessionJournal | null;
  readonly resumeWindowMs: number;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  nowMs(): number;
  nextHandle(): number;
  ask(session: GatewaySessionActor, request: SessionRequest): void;
  /** Shows its user without this session, or again with what it said last. */
  conceal(session: GatewaySessionActor): void;
  reveal(session: GatewaySessionActor): void;
  ended(session: GatewaySessionActor): void;
  /** A bug ended the session's actor. */
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
 * Replayed dispatches between two looks at the socket; one of the large kinds ends a round early. A round begins when
 * three quarters of `socket_buffer_bytes_max` are free, and must not fill them even with messages of the largest size:
 * a client that resumes would be cut off for the server's haste.
 */
const REPLAY_ROUND = 8;
/**
 * How long a bot without a connection is shown as it was. Some libraries shut down with close codes after which others
 * resume, so that nothing says whether the bot is coming back; one that is cut off resumes sooner than this. People, who
 * come and go with their networks, stay as they are for the whole resume window.
 */
const CONCEAL_BOT_AFTER_MS = 800;
/** Dispatches that may wait for READY: far more than come during the few reads before it, unless a read hangs. */
const EARLY_MAX = 1024;

/**
 * One gateway session: numbers its dispatches, keeps them for RESUME and writes them to the connection it has, if any.
 * `deliver` is the hot path: an addition, a slot of the replay buffer and a call of the sink; it never passes through
 * the machine.
 */
export class GatewaySessionActor implements GatewaySession, LiveSession, SessionShell {
  readonly handle: number;
  readonly sessionId: SessionId;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
  over = false;
  /** It goes on at another home, and nobody is to hear that it has ended here. */
  isTransferred = false;
  /** What its client has said last; null: nothing. */
  presence: GatewayPresenceUpdateData | null = null;
  /** Whether its application wants to hear when its user asks to be linked. */
  wantsAuthorizeRequests = false;
  #principal: Principal;
  readonly #host: SessionHost;
  readonly #replay: ReplayBuffer;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  #sink: FrameSink | null;
  /** The next number to replay to the sink; 0 when it has everything. */
  #behind = 0;
  #window: Timer | null = null;
  #concealment: Timer | null = null;
  /** What came before READY was told; null from then on. */
  #early: DispatchBody[] | null = [];

  /** @param sink Null for one that was at another home: it waits to be attached. */
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
    this.#actor.subscribe({ error: (error) => this.#crashed(error) });
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

  deliver(body: DispatchBody): void {
    if (this.over) return;
    if (this.#early) this.#hold(body, this.#early);
    else this.#push(body);
  }

  #push(body: DispatchBody): void {
    const seq = this.#replay.push(body);
    this.#host.journal?.delivered(body, this.handle);
    if (this.#behind === 0) this.#sink?.dispatch(body, seq);
  }

  /** Delivers a dispatch to this session alone. */
  tell(t: string, d: unknown): void {
    this.deliver(new DispatchBody(t, d, this.#host.nowMs()));
  }

  /** Tells READY, and what else must come before that which has been delivered already. Called until `greeted`. */
  greet(t: DispatchName, d: unknown): void {
    if (!this.over) this.#push(new DispatchBody(t, d, this.#host.nowMs()));
  }

  /** From now on the session takes what it is delivered; what came before follows here. Called once. */
  greeted(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const body of early) this.deliver(body);
  }

  /** Goes on where another home has left off; called once, before anything is delivered. */
  restore({ manner, seq, missed }: SessionRecord): void {
    this.#early = null;
    this.presence = manner.presence;
    this.wantsAuthorizeRequests = manner.wantsAuthorizeRequests;
    const nowMs = this.#host.nowMs();
    this.#replay.begin(seq - missed.length);
    for (const frame of missed) this.#replay.push(bodyOf(frame, nowMs));
    this.#send({ type: 'detach' });
  }

  /** What another home goes on with, but for what is on its way to the client. */
  get record(): Omit<SessionRecord, 'missed' | 'cursors'> {
    const { sessionId, intents, shard, largeThreshold, presence, wantsAuthorizeRequests, seq } = this;
    const identity = { sessionId, principal: plainOf(this.#principal), intents, shard, largeThreshold };
    return { identity, manner: { presence, wantsAuthorizeRequests }, seq };
  }

  /** Lets go of the session for another home to go on with it. Its connection, if it has one, is closed. */
  transferOut(): void {
    this.isTransferred = true;
    this.dismiss();
    this.#send({ type: 'end' });
  }

  /** True until its client knows all that must be told first: then it cannot change homes. */
  get greeting(): boolean {
    return this.#early !== null;
  }

  following(ownerId: string, n: number): void {
    if (!this.over) this.#host.journal?.following(this.handle, ownerId, n);
  }

  left(ownerId: string): void {
    if (!this.over) this.#host.journal?.left(this.handle, ownerId);
  }

  /** A newer token of the same user and application stands for the session from now on. */
  renew(principal: Principal): void {
    this.#principal = principal;
  }

  writable(): Promise<void> {
    const sink = this.#sink;
    return sink ? new Promise((resolve) => sink.whenWritable(resolve)) : Promise.resolve();
  }

  /** What a client that saw `seq` has missed. */
  missedSince(seq: number): Missed {
    return this.#replay.since(seq, this.#host.nowMs());
  }

  /** Hands the session over to a connection that has seen `seq`, which `missedSince` has vouched for. */
  attach(sink: FrameSink, seq: number): void {
    this.#send({ type: 'attach', sink, seq });
  }

  detach(sink: FrameSink, resumable: boolean): void {
    if (sink !== this.#sink) return;
    this.#sink = null;
    this.#send({ type: resumable ? 'detach' : 'end' });
  }

  /** Ends the session; its connection is closed with this code. */
  end(close: { readonly code: number; readonly reason: string }): void {
    const sink = this.#sink;
    this.#sink = null;
    sink?.close(close.code, close.reason);
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
    const sink = this.#sink;
    this.#sink = null;
    sink?.close(CLOSE.UNKNOWN_ERROR.code, 'The session was resumed elsewhere.');
  }

  adopt(sink: FrameSink, seq: number): void {
    this.#sink = sink;
    this.#behind = seq + 1;
    // Numbered behind what was missed, and before whatever comes while the replay lasts.
    this.tell('RESUMED', {});
    this.#replayTo(sink);
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

  release(): void {
    if (this.over) return;
    this.over = true;
    this.#sink = null;
    this.#host.ended(this);
  }

  /** Writes what the connection lacks in rounds, as fast as it takes them; dispatches of meanwhile only join the buffer. */
  #replayTo(sink: FrameSink): void {
    if (sink !== this.#sink) return;
    for (let round = 0; round < REPLAY_ROUND && this.#behind <= this.#replay.lastSeq; round += 1) {
      const body = this.#replay.get(this.#behind);
      // The connection takes them more slowly than new ones push old ones out: it can never catch up.
      if (!body) {
        this.end(CLOSE.SESSION_TIMED_OUT);
        return;
      }
      sink.dispatch(body, this.#behind);
      this.#behind += 1;
      if (body.weightBytes > 0) break;
    }
    if (this.#behind > this.#replay.lastSeq) this.#behind = 0;
    else sink.whenWritable(() => this.#replayTo(sink));
  }

  /**
   * A session listens before all that READY says has been read; its client takes nothing before READY, nor of a lobby
   * before it was told of it.
   */
  #hold(body: DispatchBody, early: DispatchBody[]): void {
    if (early.length < EARLY_MAX) early.push(body);
    // To drop one would leave the client with a wrong picture; without a session it simply tries again.
    else this.end({ ...CLOSE.UNKNOWN_ERROR, reason: 'The session took too long to open.' });
  }

  #send(event: SessionEvent): void {
    // An actor that has ended takes nothing, and would complain.
    if (!this.over) this.#actor.send(event);
  }

  #crashed(error: unknown): void {
    const sink = this.#sink;
    this.stopWindow();
    this.release();
    sink?.close(CLOSE.UNKNOWN_ERROR.code, CLOSE.UNKNOWN_ERROR.reason);
    this.#host.crashed(this, error);
  }
}
