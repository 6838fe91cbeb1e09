import type { Exchange } from './exchange.ts';

/** Bounds of a request body. */
interface BodyBounds {
  /** Bytes of one body. */
  readonly bytesMax: number;
  /** Time from the first header to the last byte, milliseconds. */
  readonly timeoutMs: number;
}

/**
 * How reading a body ended. `share`: the caller's bodies exceed the memory for one caller; `overloaded`: the bodies of all
 * callers exceed the memory for bodies; `timeout`: the body was too late or too slow.
 */
export type BodyEnd = 'complete' | 'tooLarge' | 'timeout' | 'aborted' | 'share' | 'overloaded';

interface BodyClock {
  setTimer(run: () => void, delayMs: number): { cancel(): void };
}

/** A body that the server waits for must bring at least this many bytes in each interval. */
const PACE_MS = 10_000;
const PACE_BYTES_MIN = 8_192;

/** A body of at most this length is received at once: to pause the socket and resume it costs two system calls. */
const SMALL_BYTES_MAX = 16_384;

/** Bounds for discarding the rest of a refused body: enough for a client that reads only after it has sent. */
const DRAIN_BYTES_MAX = 1 << 20;
const DRAIN_MS = 2_000;

/**
 * A request's body as it arrives. The socket stays paused until the body is consumed, so that a request which is refused
 * for its token never costs the memory of its upload; only a small body is received before. Chunks are passed on in order;
 * the memory used here is at most what the socket had already received, or a small body.
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
  /** Bytes received at the last check of the pace. */
  #receivedBefore = 0;
  #wasAwaited = false;
  #drainBytesMax = DRAIN_BYTES_MAX;
  /** Whether all bytes have arrived, kept or not. */
  #isWhole = false;
  #end: BodyEnd | null = null;
  #isPaused = false;
  #sink: ((chunk: Uint8Array) => void) | null = null;
  #settle: ((end: BodyEnd) => void) | null = null;
  /** Set while the rest of a refused body is discarded. */
  #drain: { left: number; done(isWhole: boolean): void } | null = null;

  /** Construct it synchronously in the request's callback, or the first bytes are lost. */
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
    if (this.#announced === null || this.#announced > SMALL_BYTES_MAX) this.#pause();
  }

  /** Charges the body to this user from now on. A user's refused body may be discarded up to its full size. */
  signIn(userId: string): void {
    this.#account.signIn(userId);
    this.#drainBytesMax = Math.max(DRAIN_BYTES_MAX, this.#bounds.bytesMax);
  }

  /** Passes every chunk to `sink`; resolves when the body has ended. Rejects if the sink throws. */
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
        // A body that arrived together with the header is complete by now, but its connection is still paused: without resuming it,
        // the next request on it would never be read.
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
   * Discards the rest of a refused body, so that a client which is still sending reads its answer instead of a reset. Ends the
   * body if it has not ended.
   *
   * @returns Whether the body was read to its end. If not, the socket stays paused and nothing after it can be read.
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
        if (!isWhole) this.#pause();
        resolve(isWhole);
      };
      this.#drain = { left: bytesMax, done };
      this.#resume();
    });
  }

  /** Releases the memory charged to this body. Call it when the request is done. */
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
      // Copy the chunk: the native server reuses its memory when this returns.
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

  #pause(): void {
    if (this.#isPaused || this.#exchange.over) return;
    this.#isPaused = true;
    this.#exchange.res.pause();
  }

  #resume(): void {
    if (!this.#isPaused || this.#exchange.over) return;
    this.#isPaused = false;
    this.#exchange.res.resume();
  }

  #watchMs(): number {
    return Math.min(PACE_MS, this.#leftMs);
  }

  /** Checks the time limit and the pace. A body that is not being consumed yet does not count as slow. */
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
    // Nothing more is kept, and the socket stays paused until it is decided whether the rest is discarded.
    if (end !== 'complete' && !this.#isWhole) this.#pause();
    this.#settle?.(end);
    this.#sink = null;
  }
}

/** Bounds of the memory for request bodies, in total and per caller. */
export interface BodyMemoryBounds {
  /** Bytes of all concurrent bodies. */
  readonly bytesMax: number;
  /** Part of `bytesMax` reserved for authenticated callers. */
  readonly reservedBytes: number;
  /** Bytes of all unauthenticated bodies of one network address. */
  readonly addressBytesMax: number;
  /** Bytes of all bodies of one authenticated user. */
  readonly userBytesMax: number;
}

/** `share`: the caller's bodies would exceed the caller's share. `full`: the bodies of all callers use the memory. */
type ChargeResult = 'taken' | 'share' | 'full';

/** Memory account of one body that is being read. */
export interface BodyAccount {
  take(bytes: number): ChargeResult;
  /** Charges the body to this user instead of the address from now on. */
  signIn(userId: string): void;
  /** The client is expected to send: from now on the body may be evicted while memory is short. */
  reading(evict: (why: Evicted) => void): void;
  /** The body is complete or abandoned; its bytes stay charged until `release`. */
  settled(): void;
  /** Releases the bytes. */
  release(): void;
}

/** While memory is short, a body that received nothing for this long may be evicted. */
export const STALLED_MS = 2_000;

/** Why a body was evicted: it had stalled, or its caller held more than the caller who needs memory. */
type Evicted = 'stalled' | 'outweighed';

/**
 * The memory of all concurrent request bodies.
 *
 * - A caller holds at most its share; the caller is a user when authenticated, else the network address.
 * - Unauthenticated bodies never use the reserved part.
 * - When memory is short, bodies that stalled are evicted, longest idle first; then a body of the caller who holds most, if
 *   that is more than the asking caller would hold. So every caller gets as much memory as each of the others has, however
 *   many of them use their full share.
 *
 * Cost: O(1) for each chunk while memory is free; O(bodies) when it is short.
 */
export class BodyMemory {
  readonly #bounds: BodyMemoryBounds;
  readonly #nowMs: () => number;
  /** Bytes by caller; callers without bytes are absent. */
  readonly #held = new Map<string, number>();
  /** Bodies being received, with the time of their latest progress, oldest first. */
  readonly #sending = new Map<Account, number>();
  #bytes = 0;
  #anonymousBytes = 0;

  /** @param nowMs Monotonic milliseconds. */
  constructor(bounds: BodyMemoryBounds, nowMs: () => number) {
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param network Identifies the caller until it is authenticated. */
  open(network: string): BodyAccount {
    return new Account(this, network);
  }

  /** @internal */
  take(account: Account, bytes: number): ChargeResult {
    const share = account.signedIn ? this.#bounds.userBytesMax : this.#bounds.addressBytesMax;
    if (this.#heldBy(account) + bytes > share) return 'share';
    this.#progressed(account);
    while (bytes > this.#freeFor(account))
      if (!this.#evictStalled() && !this.#evictLargest(account, bytes)) return 'full';
    this.#add(account, bytes);
    return 'taken';
  }

  /** @internal */
  moveTo(account: Account, caller: string): void {
    const { bytes } = account;
    this.#add(account, -bytes);
    account.caller = caller;
    account.signedIn = true;
    this.#add(account, bytes);
  }

  /** @internal */
  sends(account: Account): void {
    this.#sending.set(account, this.#nowMs());
  }

  /** @internal */
  settled(account: Account): void {
    this.#sending.delete(account);
  }

  /** @internal */
  release(account: Account): void {
    this.#sending.delete(account);
    this.#add(account, -account.bytes);
  }

  #freeFor({ signedIn }: Account): number {
    const { bytesMax, reservedBytes } = this.#bounds;
    const free = bytesMax - this.#bytes;
    return signedIn ? free : Math.min(free, bytesMax - reservedBytes - this.#anonymousBytes);
  }

  #add(account: Account, bytes: number): void {
    if (bytes === 0) return;
    account.bytes += bytes;
    this.#bytes += bytes;
    if (!account.signedIn) this.#anonymousBytes += bytes;
    const held = (this.#held.get(account.caller) ?? 0) + bytes;
    if (held > 0) this.#held.set(account.caller, held);
    else this.#held.delete(account.caller);
  }

  #heldBy({ caller }: Account): number {
    return this.#held.get(caller) ?? 0;
  }

  #progressed(account: Account): void {
    if (this.#sending.delete(account)) this.#sending.set(account, this.#nowMs());
  }

  #evictStalled(): boolean {
    for (const [account, atMs] of this.#sending) {
      if (this.#nowMs() - atMs < STALLED_MS) return false;
      if (account.bytes > 0) return this.#evict(account, 'stalled');
    }
    return false;
  }

  /** If only the bound for unauthenticated bodies is reached, only such bodies are evicted. */
  #evictLargest(asking: Account, bytes: number): boolean {
    const isAnyones = bytes > this.#bounds.bytesMax - this.#bytes;
    let most = this.#heldBy(asking) + bytes;
    let victim: Account | null = null;
    for (const account of this.#sending.keys()) {
      if (account.caller === asking.caller || account.bytes === 0) continue;
      if ((account.signedIn && !isAnyones) || this.#heldBy(account) <= most) continue;
      most = this.#heldBy(account);
      victim = account;
    }
    return victim !== null && this.#evict(victim, 'outweighed');
  }

  #evict(account: Account, why: Evicted): true {
    account.evict(why);
    this.release(account);
    return true;
  }
}

class Account implements BodyAccount {
  readonly #memory: BodyMemory;
  caller: string;
  signedIn = false;
  bytes = 0;
  evict: (why: Evicted) => void = () => {};

  constructor(memory: BodyMemory, network: string) {
    this.#memory = memory;
    this.caller = `address ${network}`;
  }

  take(bytes: number): ChargeResult {
    return this.#memory.take(this, bytes);
  }

  signIn(userId: string): void {
    this.#memory.moveTo(this, `user ${userId}`);
  }

  reading(evict: (why: Evicted) => void): void {
    this.evict = evict;
    this.#memory.sends(this);
  }

  settled(): void {
    this.#memory.settled(this);
  }

  release(): void {
    this.#memory.release(this);
  }
}

/** Least memory for all concurrent request bodies; a large `request_bytes_max` raises it. */
const BODIES_BYTES_MIN = 256 << 20;
/**
 * The default bounds for a server. One body of the largest size uses much memory, so there must be room for several.
 * Callers without a signed-in user, which may still send files by a token in the path, together get a quarter of the
 * memory, and one address an eighth of that or one body of the largest size.
 */
export function bodyMemoryBounds(requestBytesMax: number): BodyMemoryBounds {
  const bytesMax = Math.max(BODIES_BYTES_MIN, 4 * requestBytesMax);
  const openBytes = bytesMax / 4;
  return {
    bytesMax,
    reservedBytes: bytesMax - openBytes,
    addressBytesMax: Math.max(openBytes / 8, requestBytesMax),
    userBytesMax: Math.max(bytesMax / 4, requestBytesMax),
  };
}
