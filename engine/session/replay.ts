import type { DispatchBody } from '../fanout/body.ts';

/** Bounds of a replay buffer; one object shared by all sessions. */
export interface ReplayLimits {
  /** Dispatches kept; 0 keeps none. */
  readonly framesMax: number;
  /** Age in monotonic milliseconds beyond which a dispatch is dropped. */
  readonly ageMs: number;
  /** Sum of `weightBytes` beyond which the oldest are dropped; the newest stays, however large. */
  readonly weightBytesMax: number;
}

export type Missed =
  /** `bodies[i]` has the number `firstSeq + i`. */
  | { readonly kind: 'missed'; readonly firstSeq: number; readonly bodies: readonly DispatchBody[] }
  /** The client claims to have seen what was never sent. */
  | { readonly kind: 'seqUnknown' }
  /** The dispatches after it were evicted. */
  | { readonly kind: 'seqTooOld' };

type Slots = (DispatchBody | undefined)[];

/** Shared by every buffer that holds nothing, so that an idle session pays for six fields only. */
const NONE: Slots = [];
const FIRST_CAPACITY = 8;

/**
 * The last dispatches of one session, for RESUME, and the source of its sequence numbers.
 *
 * Bounded by count, by age and by weight; whichever is hit first evicts, oldest first. Bodies are shared with other
 * sessions, never copied. Storage grows by doubling with use and is let go by `trim` when nothing is left.
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

  /** The number given to the newest dispatch; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  get size(): number {
    return this.#count;
  }

  /** Numbers go on behind this one, which another buffer has given last. Called before the first `push`. */
  begin(seq: number): void {
    this.#lastSeq = seq;
  }

  /** Keeps a dispatch and returns its number. O(1) over all pushes, without allocation but for doubling. */
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
   * Lists what a client missed. Cost: O(missed).
   *
   * @param seq   Last number the client saw; 0 if none. Any number, as it comes from the client.
   * @param nowMs Monotonic milliseconds, of the clock that bodies are born by.
   */
  since(seq: number, nowMs: number): Missed {
    if (!Number.isInteger(seq) || seq < 0 || seq > this.#lastSeq) return { kind: 'seqUnknown' };
    this.#dropAged(nowMs, this.#count);
    const missed = this.#lastSeq - seq;
    if (missed > this.#count) return { kind: 'seqTooOld' };
    const bodies: DispatchBody[] = [];
    for (let back = missed; back > 0; back -= 1) bodies.push(this.#at(this.#count - back));
    return { kind: 'missed', firstSeq: seq + 1, bodies };
  }

  /** The dispatch with this number, or null when it is not kept. */
  get(seq: number): DispatchBody | null {
    const index = this.#count - 1 - (this.#lastSeq - seq);
    return index >= 0 && index < this.#count ? this.#at(index) : null;
  }

  /** Drops what is too old, so that a session that went quiet does not hold its last bodies for ever. */
  trim(nowMs: number): void {
    this.#dropAged(nowMs, this.#count);
    if (this.#count > 0) return;
    this.#slots = NONE;
    this.#start = 0;
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

  /** Capacities are powers of two, so that a position is found by a mask. */
  #grow(): void {
    const slots: Slots = new Array(Math.max(FIRST_CAPACITY, this.#slots.length * 2)).fill(undefined);
    for (let index = 0; index < this.#count; index += 1) slots[index] = this.#at(index);
    this.#slots = slots;
    this.#start = 0;
  }
}
