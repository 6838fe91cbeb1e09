import { FOR_ONE } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Authorization } from '../oauth/authorization.ts';

const MEMBER_LIST = 'GUILD_MEMBER_LIST_UPDATE';
/** Estimated memory of one list entry: the object and its encoding, for a member with a few roles. */
const ENTRY_BYTES = 1024;

/**
 * Estimates the memory from the lengths of the payload's lists. O(number of lists). Rows of a member list count for each session, as
 * if it was the only one that has them: a client may request ranges that no other has.
 */
function weigh(t: string, d: unknown): number {
  if (!FOR_ONE.has(t) && t !== MEMBER_LIST) return 0;
  let entries = 1;
  for (const value of Object.values(d ?? {})) if (Array.isArray(value)) entries += entriesOf(t, value);
  return entries * ENTRY_BYTES;
}

function entriesOf(t: string, list: readonly unknown[]): number {
  if (t !== MEMBER_LIST) return list.length;
  let rows = 0;
  for (const op of list)
    if (typeof op === 'object' && op !== null && 'items' in op && Array.isArray(op.items))
      rows += op.items.length;
  return rows;
}

/** The stream of a dispatch: the dispatches of one aggregate have ascending numbers, with gaps. */
export interface Origin {
  readonly ownerId: string;
  readonly n: number;
  /** The number of the previous recent dispatch, by which receivers detect gaps; 0 when none is known. */
  readonly after?: number;
  /** The epoch under which it is sent, where the number is of an earlier one. */
  readonly epoch?: number;
}

/**
 * One dispatch, shared by all its recipients: encoded at most once per lane, referenced by every replay buffer, and
 * sent with each session's own sequence number.
 *
 * `lanes` belongs to the gateway codec; the engine only carries it.
 */
export class DispatchBody {
  readonly t: string;
  /** Monotonic milliseconds, for the replay buffer's age bound. */
  readonly bornMs: number;
  /** Approximate memory for a dispatch with one recipient; 0 for a small and shared one. */
  readonly weightBytes: number;
  /** Null for a dispatch outside any stream. */
  readonly origin: Origin | null;
  /**
   * The position in a direct stream of the state that this dispatch shows; null for a numbered one. It is not delivered to a user
   * who has received a later number of the stream.
   */
  readonly asOf: Origin | null;
  readonly lanes: (Uint8Array | undefined)[] = [];
  /** How many sessions receive it in one call of fan-out; 0 for a dispatch that is delivered otherwise. */
  recipients = 0;
  #d: unknown;
  #json: string | null = null;

  constructor(
    t: string,
    d: unknown,
    bornMs: number,
    origin: Origin | null = null,
    asOf: Origin | null = null,
  ) {
    this.t = t;
    this.#d = d;
    this.bornMs = bornMs;
    this.weightBytes = weigh(t, d);
    this.origin = origin;
    this.asOf = asOf;
  }

  /**
   * From the JSON of a payload, sent by another shard or read from a journal.
   *
   * @throws SyntaxError when `d` is read from invalid JSON.
   */
  static ofJson(
    t: string,
    json: string,
    bornMs: number,
    origin: Origin | null = null,
    asOf: Origin | null = null,
  ): DispatchBody {
    const body = new DispatchBody(t, undefined, bornMs, origin, asOf);
    body.#json = json;
    if (body.isForOne || t === MEMBER_LIST) (body as { weightBytes: number }).weightBytes = json.length;
    return body;
  }

  /** Whether it is made for one session: then its bytes are sent once. */
  get isForOne(): boolean {
    return FOR_ONE.has(this.t);
  }

  get d(): unknown {
    if (this.#d === undefined && this.#json !== null) this.#d = JSON.parse(this.#json);
    return this.#d;
  }

  /**
   * The payload as JSON. Cached only for a body made from JSON: the lanes hold its encodings, and a second copy costs
   * too much.
   */
  get json(): string {
    return this.#json ?? JSON.stringify(this.#d) ?? 'null';
  }
}

/** A session as fan-out sees it. Immutable for the session's life, except for the state behind `deliver`. */
export interface Recipient {
  readonly sessionId: string;
  readonly userId: UserId;
  /** Gateway intents of the session, as a bit field below 2^31. */
  readonly intents: number;
  /** True for the session of a bot; people's own sessions are not filtered by intents. */
  readonly bot: boolean;
  /** From IDENTIFY: a guild with more members is large for the session; none is without it. */
  readonly largeThreshold?: number;
  /** Set for the session of an application that acts for a user: the scopes and intents it may receive. */
  readonly authorization?: Authorization | null;
  /** Numbers the dispatch, keeps it for RESUME and writes it to the socket, if the session has one. */
  deliver(body: DispatchBody): void;
}

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
