import type { BodyAccount } from './bodymemory.ts';
import type { Exchange } from './exchange.ts';

/** Bounds of request bodies. */
interface BodyBounds {
  /** Bytes of one body. */
  readonly bytesMax: number;
  /** From the first header to the last byte. */
  readonly timeoutMs: number;
}

/**
 * How a body ended. `share`: the caller's other bodies hold what one caller may; `overloaded`: the bodies of all callers
 * together hold what there is; `timeout`: it came too late or too slowly.
 */
export type BodyEnd = 'complete' | 'tooLarge' | 'timeout' | 'aborted' | 'share' | 'overloaded';

interface BodyClock {
  setTimer(run: () => void, delayMs: number): { cancel(): void };
}

/** While a body is awaited it must bring this much in each such time. */
const PACE_MS = 10_000;
const PACE_BYTES_MIN = 8_192;

/** Bytes and time for the rest of a body that is refused: enough for a client that reads only after it has sent. */
const DRAIN_BYTES_MAX = 1 << 20;
const DRAIN_MS = 2_000;

/**
 * A request's body as it arrives. The socket is paused until someone consumes it, so that a call which is refused
 * for its token never costs the memory of its upload. Chunks are handed over in order; memory held here is at most
 * what the socket had already received.
 */
export class BodyStream {
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #account: BodyAccount;
  readonly #clock: BodyClock;
  readonly #announced: number | null;
  #timer: { cancel(): void };
  #leftMs: number;
  #early: Uint8Array[] = [];
  #received = 0;
  /** As it was when the pace was last looked at. */
  #receivedBefore = 0;
  #wasAwaited = false;
  #drainBytesMax = DRAIN_BYTES_MAX;
  /** Everything has arrived, be it kept or not. */
  #isWhole = false;
  #end: BodyEnd | null = null;
  #sink: ((chunk: Uint8Array) => void) | null = null;
  #settle: ((end: BodyEnd) => void) | null = null;
  /** Set while the rest of a refused body is dropped. */
  #drain: { left: number; done(isWhole: boolean): void } | null = null;

  /** Must be made in the request's own callback: later is too late for the first bytes. */
  constructor(exchange: Exchange, bounds: BodyBounds, account: BodyAccount, clock: BodyClock) {
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#account = account;
    this.#clock = clock;
    this.#leftMs = bounds.timeoutMs;
    this.#announced = exchange.announcedBytes;
    this.#timer = clock.setTimer(() => this.#watch(Math.min(PACE_MS, bounds.timeoutMs)), this.#watchMs());
    exchange.bodyIsRead();
    exchange.onAbort(() => {
      this.#finish('aborted');
      this.#drain?.done(false);
    });
    if ((this.#announced ?? 0) > bounds.bytesMax) this.#finish('tooLarge');
    exchange.res.onData((chunk, isLast) => this.#receive(chunk, isLast));
    exchange.res.pause();
  }

  /** From now on the body counts for this user's share of the memory. A user's refused body is read while it may be sent. */
  signIn(userId: string): void {
    this.#account.signIn(userId);
    this.#drainBytesMax = Math.max(DRAIN_BYTES_MAX, this.#bounds.bytesMax);
  }

  /** Hands every chunk to `sink` and resolves when there are no more. The sink's faults reject. */
  consume(sink: (chunk: Uint8Array) => void): Promise<BodyEnd> {
    return new Promise((resolve, reject) => {
      const guarded = (chunk: Uint8Array) => {
        try {
          sink(chunk);
        } catch (fault) {
          reject(fault);
          this.#finish('aborted');
        }
      };
      for (const chunk of this.#early) guarded(chunk);
      this.#early = [];
      if (this.#end !== null) {
        // A body that came in one piece with its head is whole by now, and its connection paused all the same: without
        // this nobody would ever read the next request on it.
        if (this.#isWhole) this.#resume();
        resolve(this.#end);
        return;
      }
      this.#settle = resolve;
      this.#sink = guarded;
      this.#account.reading((why) => this.#finish(why === 'stalled' ? 'timeout' : 'overloaded'));
      this.#resume();
    });
  }

  /**
   * Drops what is left of a body that nobody wants, so that a client which is still sending reads its answer instead of
   * a reset. Ends the body if it has not ended.
   *
   * @returns Whether the body was read to its end. When not, the socket is paused and nothing that follows can be read.
   */
  discard(): Promise<boolean> {
    const bytesMax = this.#drainBytesMax;
    this.#finish('aborted');
    this.#early = [];
    this.#account.release();
    if (this.#isWhole) this.#resume();
    if (this.#isWhole || this.#exchange.over) return Promise.resolve(this.#isWhole);
    if (this.#announced !== null && this.#announced - this.#received > bytesMax)
      return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(() => this.#drain?.done(false), DRAIN_MS);
      const done = (isWhole: boolean) => {
        this.#drain = null;
        timer.cancel();
        if (!isWhole && !this.#exchange.over) this.#exchange.res.pause();
        resolve(isWhole);
      };
      this.#drain = { left: bytesMax, done };
      this.#resume();
    });
  }

  /** Ends the account of this body: its bytes are free for others. Call it when the request is done. */
  release(): void {
    this.#finish('aborted');
    this.#account.release();
    this.#early = [];
  }

  #receive(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    this.#isWhole ||= isLast;
    if (this.#drain !== null) this.#dropped(chunk.byteLength, this.#drain);
    if (this.#end !== null) return;
    if (this.#received > this.#bounds.bytesMax) {
      this.#finish('tooLarge');
      return;
    }
    if (chunk.byteLength > 0) {
      const taken = this.#account.take(chunk.byteLength);
      if (taken !== 'taken') {
        this.#finish(taken === 'share' ? 'share' : 'overloaded');
        return;
      }
      // The native side takes its memory back when this returns.
      const copy = new Uint8Array(chunk.slice(0));
      if (this.#sink) this.#sink(copy);
      else this.#early.push(copy);
    }
    if (isLast) this.#finish('complete');
  }

  #dropped(bytes: number, drain: { left: number; done(isWhole: boolean): void }): void {
    drain.left -= bytes;
    if (this.#isWhole) drain.done(true);
    else if (drain.left < 0) drain.done(false);
  }

  #resume(): void {
    if (!this.#exchange.over) this.#exchange.res.resume();
  }

  #watchMs(): number {
    return Math.min(PACE_MS, this.#leftMs);
  }

  /** The time is up, or the body's pace is due to be looked at. A body that nobody awaits yet is not late. */
  #watch(passedMs: number): void {
    this.#leftMs -= passedMs;
    const isLate = this.#wasAwaited && this.#received - this.#receivedBefore < PACE_BYTES_MIN;
    this.#receivedBefore = this.#received;
    this.#wasAwaited = this.#sink !== null;
    if (this.#leftMs <= 0 || isLate) {
      this.#finish('timeout');
      return;
    }
    const nextMs = this.#watchMs();
    this.#timer = this.#clock.setTimer(() => this.#watch(nextMs), nextMs);
  }

  #finish(end: BodyEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#timer.cancel();
    this.#account.settled();
    // Nothing more is kept, and nobody reads on before it is decided what becomes of the rest.
    if (end !== 'complete' && !this.#isWhole && !this.#exchange.over) this.#exchange.res.pause();
    this.#settle?.(end);
    this.#sink = null;
  }
}
