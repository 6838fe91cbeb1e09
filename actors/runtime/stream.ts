import { present } from '../../protocol/present.ts';
import type { RecordedDispatch } from '../../storage/cluster/port.ts';

export interface StreamBounds {
  readonly dispatchesMax: number;
  /** How long a session may have been away that asks for what it has missed. */
  readonly ageMs: number;
  /** What their payloads take in memory, about. */
  readonly bytesMax: number;
  /**
   * Of all streams of this process: an aggregate that is read again under the same epoch goes on beyond what it has
   * told before, of which nothing may be written down.
   */
  readonly numbers: { high: number };
}

/** A dispatch of a stream, and when it was sent, Unix milliseconds. */
export interface StreamDispatch extends RecordedDispatch {
  readonly atMs: number;
}

interface Kept extends StreamDispatch {
  readonly bytes: number;
}

/** Numbers of one epoch; the next epoch's are all beyond them. */
const PER_EPOCH = 2 ** 32;
/** Under which this number was given out. */
export const epochOf = (n: number): number => Math.floor(n / PER_EPOCH);
/** The last number that can have been given out under the epoch of this one. */
export const endOfEpoch = (n: number): number => (epochOf(n) + 1) * PER_EPOCH;
/** How much of a payload is looked at to weigh it. */
const WEIGHED_DEPTH = 6;
const VALUE_BYTES = 16;

/**
 * The dispatches of one aggregate, numbered, and the last of them for sessions that may have missed some: to whom, not
 * which sessions. Numbers ascend over changes of owner, not without gaps.
 */
export class DispatchStream {
  readonly ownerId: string;
  readonly #bounds: StreamBounds;
  #kept: Kept[] = [];
  /** Where what is kept begins. */
  #head = 0;
  #bytes = 0;
  readonly #base: number;
  #last: number;
  #floor = 0;
  #toAll: { readonly n: number; readonly atMs: number } | null = null;
  /** What came under this number, and the same epoch, an earlier actor told; it ended without a successor. */
  readonly #began: number;

  /** @param epoch Under which the aggregate is owned; what came before was told under earlier ones. */
  constructor(ownerId: string, epoch: number, bounds: StreamBounds) {
    this.ownerId = ownerId;
    this.#bounds = bounds;
    this.#base = epoch * PER_EPOCH;
    this.#last = this.#base + bounds.numbers.high;
    // Who has this number has heard this actor, and none before.
    this.#began = bounds.numbers.high > 0 ? this.next() : this.#base;
  }

  /** Whether a session that has the stream up to `n` was left by an actor that ended here, and is told so, late perhaps. */
  isOrphan(n: number): boolean {
    return n < this.#began && n > this.#base;
  }

  /** The last dispatches of these names, ascending. */
  lastOf(names: ReadonlySet<string>, max: number): StreamDispatch[] {
    const found: StreamDispatch[] = [];
    for (let at = this.#kept.length - 1; at >= this.#head && found.length < max; at -= 1) {
      const { t, d, to, n, atMs } = present(this.#kept[at]);
      if (names.has(t)) found.push({ t, d, to, n, atMs });
    }
    return found.reverse();
  }

  /** The number that was given out last. */
  get last(): number {
    return this.#last;
  }

  /** All dispatches above this number are in memory. */
  get floor(): number {
    return this.#floor;
  }

  /** The number of the last dispatch that was for everyone, as far as is known and if it is of late; 0: there is none. */
  lastToAll(nowMs: number): number {
    const last = this.#toAll ?? this.#kept.at(-1);
    return last && last.atMs + this.#bounds.ageMs >= nowMs ? last.n : 0;
  }

  /** The dispatch of this number is for everyone: who is told of a later one has heard it, or has missed it. */
  toldAll(n: number, atMs: number): void {
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

  /** Numbers a dispatch and keeps it; call it in sending order. */
  add(dispatch: Omit<RecordedDispatch, 'n'>, atMs: number): StreamDispatch {
    const told = { ...dispatch, n: this.next(), atMs };
    this.#keep(told);
    this.#evict(atMs);
    return told;
  }

  /**
   * Takes what earlier owners have told, ascending; before the first `add`.
   *
   * @param floor The number up to which something may be missing.
   */
  restore(dispatches: Iterable<StreamDispatch>, floor: number): void {
    this.#floor = Math.max(this.#floor, floor);
    for (const each of dispatches) {
      this.#keep(each);
      this.#last = Math.max(this.#last, each.n);
    }
    this.#evict(Number.NEGATIVE_INFINITY);
  }

  /** The dispatches after this number, in order, or that some of them were evicted. */
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
      this.#floor = oldest.n;
      this.#bytes -= oldest.bytes;
      this.#head += 1;
    }
    // What has gone is cut off now and then: each time would cost the length of the rest.
    if (this.#head <= 64 || this.#head <= this.size) return;
    this.#kept = this.#kept.slice(this.#head);
    this.#head = 0;
  }
}

/** What records hold and what they do not beyond `floor`, in order, each number once. */
export function merged(
  told: readonly StreamDispatch[],
  unrecorded: readonly StreamDispatch[],
  floor: number,
): readonly StreamDispatch[] {
  if (unrecorded.length === 0) return told;
  const known = new Set(told.map(({ n }) => n));
  const others = unrecorded.filter(({ n }) => n > floor && !known.has(n));
  return [...told, ...others].sort((a, b) => a.n - b.n);
}

/** About how many bytes a payload takes. */
function weigh(value: unknown, depth: number): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (value === null || typeof value !== 'object' || depth === 0) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  if (Array.isArray(value)) for (const each of value) bytes += weigh(each, depth - 1);
  else for (const key in value) bytes += VALUE_BYTES + weigh(Reflect.get(value, key), depth - 1);
  return bytes;
}
