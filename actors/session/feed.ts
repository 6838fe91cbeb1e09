import { DispatchBody } from '../../engine/fanout/body.ts';
import type { MissedFrame } from '../../engine/session/record.ts';
import { type Missed, ReplayBuffer, type ReplayLimits } from '../../engine/session/replay.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import type { FrameSink } from './ports.ts';
import { bodyOf } from './record.ts';
import type { SessionFeedEffects } from './session.machine.ts';

/** A close code for the client, and why. */
export interface Close {
  readonly code: number;
  readonly reason: string;
}

/** What a feed asks of its session. */
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
export const RESUMED_ELSEWHERE: Close = {
  code: CLOSE.UNKNOWN_ERROR.code,
  reason: 'The session was resumed elsewhere.',
};

/**
 * The dispatches of one session on their way to its client: numbers them, keeps them for RESUME and writes them to the
 * connection, if any. `deliver` is the hot path: an addition, a slot of the replay buffer and a call of the sink.
 */
export class SessionFeed implements SessionFeedEffects {
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
