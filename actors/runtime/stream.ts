import { present } from '../../protocol/present.ts';
import type { RecordedDispatch } from '../../storage/cluster/port.ts';

export interface StreamBounds {
  readonly dispatchesMax: number;
  /** How long a session may be away and still catch up. */
  readonly ageMs: number;
  /** Approximate bound on the memory of all payloads. */
  readonly bytesMax: number;
  /**
   * Shared by all streams of this process. An aggregate that is read again under the same epoch must number above what
   * it has sent before, of which nothing may be recorded.
   */
  readonly numbers: { high: number };
}

/** A dispatch of a stream with its sending time in Unix milliseconds. */
export interface StreamDispatch extends RecordedDispatch {
  readonly atMs: number;
}

interface BufferedDispatch extends StreamDispatch {
  readonly bytes: number;
}

/** Numbers per epoch; the numbers of the next epoch are all higher. */
const PER_EPOCH = 2 ** 32;
/** The base of an epoch's numbers, which are all higher. */
export const baseOf = (epoch: number): number => epoch * PER_EPOCH;
/** The epoch in which a number was issued. */
export const epochOf = (n: number): number => Math.floor(n / PER_EPOCH);
/** Depth to which a payload is measured. */
const WEIGHED_DEPTH = 6;
const VALUE_BYTES = 16;

/**
 * Numbers the dispatches of one aggregate and keeps the latest for sessions that may have missed some. A kept dispatch
 * stores its audience, not its sessions. Numbers ascend across changes of owner, with gaps.
 */
export class DispatchStream {
  readonly ownerId: string;
  readonly #bounds: StreamBounds;
  #kept: BufferedDispatch[] = [];
  /** Index of the oldest kept dispatch. */
  #head = 0;
  #bytes = 0;
  readonly #base: number;
  #last: number;
  #floor = 0;
  #toAll: { readonly n: number; readonly atMs: number } | null = null;
  /** Lower numbers of the same epoch were issued by an earlier actor, which ended without a successor. */
  readonly #began: number;

  /** @param epoch The epoch under which the aggregate is owned; earlier dispatches belong to earlier epochs. */
  constructor(ownerId: string, epoch: number, bounds: StreamBounds) {
    this.ownerId = ownerId;
    this.#bounds = bounds;
    this.#base = baseOf(epoch);
    this.#last = this.#base + bounds.numbers.high;
    // A session with this number has received dispatches of this actor, not of an earlier one.
    this.#began = bounds.numbers.high > 0 ? this.next() : this.#base;
  }

  /**
   * Whether a session at position `n` was served by an earlier actor that failed here: what that had in memory alone,
   * such as presences, may differ from what the session knows.
   */
  isOrphan(n: number): boolean {
    return n < this.#began && n > this.#base;
  }

  /** The last dispatches whose names are wanted, ascending. */
  lastOf(isWanted: (t: string) => boolean, max: number): StreamDispatch[] {
    const found: StreamDispatch[] = [];
    for (let at = this.#kept.length - 1; at >= this.#head && found.length < max; at -= 1) {
      const { t, d, to, n, atMs } = present(this.#kept[at]);
      if (isWanted(t)) found.push({ t, d, to, n, atMs });
    }
    return found.reverse();
  }

  /** The epoch under which the aggregate is owned. */
  get epoch(): number {
    return epochOf(this.#base);
  }

  /** The number that was issued last. */
  get last(): number {
    return this.#last;
  }

  /** All dispatches above this number are in memory. */
  get floor(): number {
    return this.#floor;
  }

  /** The number of the last dispatch to everyone, if it is known and recent; 0 otherwise. */
  lastToAll(nowMs: number): number {
    const last = this.#toAll ?? this.#kept.at(-1);
    return last && last.atMs + this.#bounds.ageMs >= nowMs ? last.n : 0;
  }

  /** The position of the current state, for `DispatchBody.asOf`. */
  shownAt(nowMs: number): { readonly n: number; readonly after: number } {
    return { n: this.#last, after: this.lastToAll(nowMs) };
  }

  /**
   * The dispatch of this number was sent to everyone. A session that receives a later number has received this one or
   * has missed it.
   */
  deliveredToAll(n: number, atMs: number): void {
    this.#toAll = { n, atMs };
  }

  get size(): number {
    return this.#kept.length - this.#head;
  }

  /** The next number, for a dispatch without recipients. */
  next(): number {
    this.#last += 1;
    const { numbers } = this.#bounds;
    numbers.high = Math.max(numbers.high, this.#last - this.#base);
    return this.#last;
  }

  /** Numbers a dispatch and keeps it. Call it in sending order. */
  add(dispatch: Omit<RecordedDispatch, 'n'>, atMs: number): StreamDispatch {
    const numbered = { ...dispatch, n: this.next(), atMs };
    this.#keep(numbered);
    this.#evict(atMs);
    return numbered;
  }

  /**
   * Adds dispatches of earlier owners, ascending. Call it before the first `add`.
   *
   * @param floor The number up to which dispatches may be missing.
   */
  restore(dispatches: Iterable<StreamDispatch>, floor: number): void {
    this.#floor = Math.max(this.#floor, floor);
    for (const each of dispatches) {
      this.#keep(each);
      this.#last = Math.max(this.#last, each.n);
    }
    this.#evict(Number.NEGATIVE_INFINITY);
  }

  /** The dispatches after this number in order, or `tooOld` when some of them were evicted. */
  since(n: number): readonly StreamDispatch[] | 'tooOld' {
    if (n < this.#floor) return 'tooOld';
    let low = this.#head;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (present(this.#kept[middle]).n > n) high = middle;
      else low = middle + 1;
    }
    return this.#kept.slice(low);
  }

  #keep(dispatch: StreamDispatch): void {
    const bytes = weigh(dispatch.d, WEIGHED_DEPTH);
    this.#bytes += bytes;
    this.#kept.push({ ...dispatch, bytes });
  }

  #evict(nowMs: number): void {
    const { dispatchesMax, ageMs, bytesMax } = this.#bounds;
    for (let oldest = this.#kept[this.#head]; oldest; oldest = this.#kept[this.#head]) {
      if (this.size <= dispatchesMax && this.#bytes <= bytesMax && oldest.atMs + ageMs >= nowMs) break;
      this.#floor = Math.max(this.#floor, oldest.n);
      this.#bytes -= oldest.bytes;
      this.#head += 1;
    }
    // The evicted part is sliced off only now and then, because each slice copies the rest.
    if (this.#head <= 64 || this.#head <= this.size) return;
    this.#kept = this.#kept.slice(this.#head);
    this.#head = 0;
  }
}

/** Recorded dispatches, and unrecorded ones beyond `floor`, in order and without duplicates. */
export function merged(
  recorded: readonly StreamDispatch[],
  unrecorded: readonly StreamDispatch[],
  floor: number,
): readonly StreamDispatch[] {
  if (unrecorded.length === 0) return recorded;
  const known = new Set(recorded.map(({ n }) => n));
  const others = unrecorded.filter(({ n }) => n > floor && !known.has(n));
  return [...recorded, ...others].sort((a, b) => a.n - b.n);
}

/** Approximate size of a payload in bytes. */
function weigh(value: unknown, depth: number): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (value === null || typeof value !== 'object' || depth === 0) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  if (Array.isArray(value)) for (const each of value) bytes += weigh(each, depth - 1);
  else for (const key in value) bytes += VALUE_BYTES + weigh(Reflect.get(value, key), depth - 1);
  return bytes;
}
