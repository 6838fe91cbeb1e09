import type { DispatchBody } from '../fanout/body.ts';

/** Bounds of a replay buffer; one object shared by all sessions. */
export interface ReplayLimits {
  /** Dispatches kept; 0 keeps none. */
  readonly framesMax: number;
  /** Age in monotonic milliseconds beyond which a dispatch is dropped. */
  readonly ageMs: number;
  /** Bound of the sum of `weightBytes`: the oldest dispatches are dropped beyond it. The newest one is always kept. */
  readonly weightBytesMax: number;
}

/** `bodies[i]` has the number `firstSeq + i`. */
interface Numbered {
  readonly firstSeq: number;
  readonly bodies: readonly DispatchBody[];
}

export type Missed =
  | ({ readonly kind: 'missed' } & Numbered)
  /** The client claims a number that was never sent. */
  | { readonly kind: 'seqUnknown' }
  /** The dispatches after it were evicted. */
  | { readonly kind: 'seqTooOld' };

type Slots = (DispatchBody | undefined)[];

/** Shared by all empty buffers, so that an idle session uses six fields only. */
const NONE: Slots = [];
const FIRST_CAPACITY = 8;

/**
 * The last dispatches of one session, for RESUME; it also assigns their sequence numbers.
 *
 * Bounded by count, age and weight; whichever is reached first evicts the oldest. Bodies are shared with other
 * sessions, never copied. Storage doubles as needed and is released by `trim` when the buffer is empty.
 *
 * @source https://docs.discord.com/developers/events/gateway#resuming
 */
export class ReplayBuffer {
  readonly #limits: ReplayLimits;
  #slots: Slots = NONE;
  /** Slot of the oldest dispatch. */
  #start = 0;
  #count = 0;
  #lastSeq = 0;
  #weightBytes = 0;

  constructor(limits: ReplayLimits) {
    this.#limits = limits;
  }

  /** The number of the newest dispatch; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get size(): number {
    return this.#count;
  }

  /** Continues after this number, the last one of another buffer. Called before the first `push`. */
  begin(seq: number): void {
    this.#lastSeq = seq;
  }

  /** Stores a dispatch and returns its number. Amortised O(1), without allocation except for doubling. */
  push(body: DispatchBody): number {
    this.#lastSeq += 1;
    if (this.#limits.framesMax === 0) return this.#lastSeq;
    // At most two, so that a push has constant cost and eviction is still faster than arrival.
    this.#dropAged(body.bornMs, 2);
    if (this.#count === this.#limits.framesMax) this.#dropOldest();
    if (body.weightBytes > 0) this.#makeRoom(body.weightBytes);
    if (this.#count === this.#slots.length) this.#grow();
    this.#slots[(this.#start + this.#count) & (this.#slots.length - 1)] = body;
    this.#count += 1;
    return this.#lastSeq;
  }

  /**
   * Lists the dispatches that a client missed. Cost: O(missed).
   *
   * @param seq Last number the client received, unchecked; 0 for none.
   * @param nowMs Monotonic milliseconds, on the clock of `bornMs`.
   */
  since(seq: number, nowMs: number): Missed {
    if (!Number.isInteger(seq) || seq < 0 || seq > this.#lastSeq) return { kind: 'seqUnknown' };
    this.#dropAged(nowMs, this.#count);
    const missed = this.#lastSeq - seq;
    if (missed > this.#count) return { kind: 'seqTooOld' };
    return { kind: 'missed', ...this.#newest(missed) };
  }

  /** Lists the newest dispatches that are kept, at most `max`. */
  latest(max: number, nowMs: number): Numbered {
    this.#dropAged(nowMs, this.#count);
    return this.#newest(Math.min(max, this.#count));
  }

  /** The dispatch with this number, or null when it is not kept. */
  get(seq: number): DispatchBody | null {
    const index = this.#count - 1 - (this.#lastSeq - seq);
    return index >= 0 && index < this.#count ? this.#at(index) : null;
  }

  /** Drops expired dispatches, so that an idle session does not keep its last bodies for ever. */
  trim(nowMs: number): void {
    this.#dropAged(nowMs, this.#count);
    this.#releaseEmpty();
  }

  /**
   * The client has received the dispatches up to `seq`: drops them up to the last one that was made for this session alone, such
   * as READY and its guilds, which are most of its memory. Shared dispatches after that one stay: they cost little, and a
   * client that stores its number may resume from an earlier one.
   *
   * Cost: O(dispatches kept), and only while one with a weight is kept.
   *
   * @param seq Unchecked; a number that was never sent acknowledges nothing.
   */
  acknowledge(seq: number): void {
    if (this.#weightBytes === 0 || seq > this.#lastSeq) return;
    let acknowledged = this.#count - (this.#lastSeq - seq);
    while (acknowledged > 0 && this.#at(acknowledged - 1).weightBytes === 0) acknowledged -= 1;
    for (; acknowledged > 0; acknowledged -= 1) this.#dropOldest();
    this.#releaseEmpty();
  }

  /** The newest `count` dispatches, of which all are kept. */
  #newest(count: number): Numbered {
    const bodies: DispatchBody[] = [];
    for (let back = count; back > 0; back -= 1) bodies.push(this.#at(this.#count - back));
    return { firstSeq: this.#lastSeq - count + 1, bodies };
  }

  #at(index: number): DispatchBody {
    return this.#slots[(this.#start + index) & (this.#slots.length - 1)] as DispatchBody;
  }

  #dropAged(nowMs: number, max: number): void {
    const beforeMs = nowMs - this.#limits.ageMs;
    for (let dropped = 0; dropped < max && this.#count > 0; dropped += 1) {
      if (this.#at(0).bornMs >= beforeMs) return;
      this.#dropOldest();
    }
  }

  #releaseEmpty(): void {
    if (this.#count > 0) return;
    this.#slots = NONE;
    this.#start = 0;
  }

  #makeRoom(weightBytes: number): void {
    while (this.#count > 0 && this.#weightBytes + weightBytes > this.#limits.weightBytesMax)
      this.#dropOldest();
    this.#weightBytes += weightBytes;
  }

  #dropOldest(): void {
    this.#weightBytes -= this.#at(0).weightBytes;
    this.#slots[this.#start] = undefined;
    this.#start = (this.#start + 1) & (this.#slots.length - 1);
    this.#count -= 1;
  }

  /** Capacities are powers of two, so that a mask finds a position. */
  #grow(): void {
    const slots: Slots = new Array(Math.max(FIRST_CAPACITY, this.#slots.length * 2)).fill(undefined);
    for (let index = 0; index < this.#count; index += 1) slots[index] = this.#at(index);
    this.#slots = slots;
    this.#start = 0;
  }
}
