import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { dispatchRow } from '../../../protocol/dispatches.ts';
import { isRecord } from '../../../protocol/json.ts';
import { JSON_TAIL, type Lane, laneFor, stampDigits } from './lane.ts';
import { spliceAfter, ZLIB_STREAM } from './splice.ts';

/** Fewest streams that share a history. Below it, a compression for the group costs more than the bytes that it saves. */
const GROUP_MIN = 32;
/** A group with a smaller part of the streams that receive a dispatch ends. So a dispatch is compressed nine times at most. */
const GROUPS_MAX = 8;
/** @source RFC 1951, section 2: a back-reference reaches 32,768 bytes. */
const WINDOW_BYTES = 32_768;
/** A byte that UTF-8 never contains: no text can refer to what is filled with it. */
const NEVER = 0xff;
const TAIL_FROM_END = JSON_TAIL.length + ZLIB_STREAM.trailerBytes;

/** The history of the dispatch that is being compressed; overwritten by the next. */
const WINDOW = Buffer.allocUnsafeSlow(WINDOW_BYTES);

/**
 * The topic of a dispatch: its channel, or its guild. Only dispatches of one topic refer to each other; otherwise a writer in one
 * channel could learn from the sizes of encrypted frames what others write in another.
 */
function topicOf({ t, d }: DispatchBody): string | null {
  if (!isRecord(d)) return null;
  const { channel_id: channel, guild_id: guild } = d;
  if (typeof channel === 'string') return channel;
  return dispatchRow(t).guildWide && typeof guild === 'string' ? guild : null;
}

/** The part of a dispatch's history that all groups share. */
interface Shared {
  readonly topic: string | null;
  /** The dispatch as JSON, with the tail. */
  readonly text: Uint8Array;
  /** How many streams of this lane have carried it. */
  carried: number;
  /** The group of the streams that were in no group when they carried it. */
  group: HistoryGroup | null;
}

interface Step {
  readonly body: DispatchBody;
  readonly shared: Shared;
  readonly frame: Uint8Array;
}

/** Streams that have carried the same bytes since they joined. A stream that carries anything else leaves. */
class HistoryGroup {
  members = 0;
  /** Texts that the streams have carried, up to the size of the window. The newest is last. Empty once the group has ended. */
  #texts: Shared[];
  #bytes: number;
  /** The dispatches of this flush, and the number of the first. */
  #steps: Step[] = [];
  #from = 1;

  constructor(first: Shared) {
    this.#texts = [first];
    this.#bytes = first.text.length;
  }

  /** The dispatch of this flush that follows so many. */
  step(steps: number): Step | undefined {
    return this.#steps[steps - this.#from];
  }

  /** Whether a stream that has carried so many has carried all. */
  isNext(steps: number): boolean {
    return steps - this.#from === this.#steps.length;
  }

  /** Whether it is too small to have a dispatch compressed for it. Then all members have to leave. */
  ends(): boolean {
    const before = this.#texts.at(-1)?.carried ?? 0;
    if (this.members < GROUP_MIN || this.members * GROUPS_MAX < before) this.#end();
    return this.#texts.length === 0;
  }

  leave(): void {
    this.members -= 1;
    // The few that are left may be quiet for long.
    if (this.members < GROUP_MIN && this.#texts.length > 1) this.#end();
  }

  add(step: Step): void {
    this.#steps.push(step);
    this.#texts.push(step.shared);
    this.#bytes += step.shared.text.length;
    while (this.#bytes - (this.#texts[0]?.text.length ?? 0) >= WINDOW_BYTES)
      this.#bytes -= this.#texts.shift()?.text.length ?? 0;
  }

  /** The last bytes of the streams, without tails and other topics. Null when nothing of the topic is among them. */
  window(topic: string | null): Uint8Array | null {
    if (topic === null) return null;
    let from = WINDOW_BYTES;
    let isAny = false;
    for (let at = this.#texts.length - 1; at >= 0 && from > 0; at -= 1) {
      const { text, topic: its } = this.#texts[at] as Shared;
      const end = from;
      from = Math.max(0, end - text.length);
      WINDOW.fill(NEVER, from, end);
      const known = text.subarray(text.length - (end - from), text.length - JSON_TAIL.length);
      if (its === topic) WINDOW.set(known, from);
      isAny ||= its === topic;
    }
    return isAny ? WINDOW.subarray(from) : null;
  }

  /** All streams have carried what was written in this flush. */
  flushed(): void {
    this.#from += this.#steps.length;
    this.#steps = [];
  }

  #end(): void {
    this.#texts = [];
  }
}

/** Makes the histories of one gateway's connections. */
export class Histories {
  /** Encodes frames that refer to nothing. */
  readonly independent: Lane;
  readonly #plain: Lane;
  readonly #shared = new WeakMap<DispatchBody, Shared>();
  /** The groups that have carried a dispatch in this flush. */
  readonly #active = new Set<HistoryGroup>();
  readonly #afterFlush: (run: () => void) => void;

  /** @param afterFlush Calls its argument when all connections have written what was delivered to them. */
  constructor(afterFlush: (run: () => void) => void) {
    this.#afterFlush = afterFlush;
    const [alone, plain] = [laneFor('json', 'zlib-stream'), laneFor('json', '')];
    if (!alone || !plain) throw new Error('The gateway has no lane for zlib-stream.');
    this.independent = alone;
    this.#plain = plain;
  }

  /** The lane for a new connection: a shared history where it can have one. */
  laneOf(lane: Lane): Lane {
    return lane === this.independent ? new HistoryLane(this) : lane;
  }

  readonly #flushed = (): void => {
    for (const group of this.#active) group.flushed();
    this.#active.clear();
  };

  /** Compresses the next dispatch of a group; null when the group ends. */
  extend(group: HistoryGroup, body: DispatchBody): Step | null {
    if (group.ends()) return null;
    const shared = this.of(body);
    const window = group.window(shared.topic);
    const prefix = shared.text.subarray(0, shared.text.length - JSON_TAIL.length);
    const frame = window ? spliceAfter(window, prefix, JSON_TAIL) : this.independent.dispatch(body, 0);
    const step: Step = { body, shared, frame };
    group.add(step);
    if (this.#active.size === 0) this.#afterFlush(this.#flushed);
    this.#active.add(group);
    return step;
  }

  of(body: DispatchBody): Shared {
    const known = this.#shared.get(body);
    if (known) return known;
    const text = this.#plain.dispatch(body, 0);
    const shared: Shared = { topic: topicOf(body), text, carried: 0, group: null };
    this.#shared.set(body, shared);
    return shared;
  }
}

/**
 * One connection with `zlib-stream` in JSON. Streams that have carried the same bytes share a compression history: a dispatch is
 * compressed once for each such group and refers to the dispatches before it. The sequence number, which differs between
 * streams, is in a stored block of constant size that nothing refers to.
 */
class HistoryLane implements Lane {
  readonly #histories: Histories;
  #group: HistoryGroup | null = null;
  /** How many dispatches of the group the stream has carried. */
  #steps = 0;

  constructor(histories: Histories) {
    this.#histories = histories;
  }

  get header(): Uint8Array {
    return this.#histories.independent.header;
  }

  get ack(): Uint8Array {
    return this.#histories.independent.ack;
  }

  dispatch(body: DispatchBody, seq: number): Uint8Array {
    let frame: Uint8Array | null = null;
    if (body.recipients < GROUP_MIN) this.leave();
    else frame = this.#inGroup(body);
    if (frame === null) return this.#histories.independent.dispatch(body, seq);
    stampDigits(frame, frame.length - TAIL_FROM_END, seq);
    return frame;
  }

  control(op: number, d: unknown): Uint8Array {
    return this.#histories.independent.control(op, d);
  }

  isBinary(): boolean {
    return true;
  }

  withPayloadCompression(): Lane {
    return this;
  }

  leave(): void {
    this.#group?.leave();
    this.#group = null;
  }

  /** The frame for the group; null when the stream is to carry the one that refers to nothing. */
  #inGroup(body: DispatchBody): Uint8Array | null {
    const step = this.#group && this.#stepTo(body, this.#group);
    if (step) {
      this.#steps += 1;
      step.shared.carried += 1;
      return step.frame;
    }
    this.leave();
    const shared = this.#histories.of(body);
    shared.carried += 1;
    shared.group ??= new HistoryGroup(shared);
    shared.group.members += 1;
    this.#group = shared.group;
    this.#steps = 1;
    return null;
  }

  #stepTo(body: DispatchBody, group: HistoryGroup): Step | null {
    const steps = this.#steps;
    const step = group.step(steps) ?? (group.isNext(steps) ? this.#histories.extend(group, body) : null);
    return step?.body === body ? step : null;
  }
}
