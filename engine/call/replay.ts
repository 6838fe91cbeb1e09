import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';

/** Bounds of a ring; all voice sessions share one object. */
export interface RingLimits {
  /** Frames kept; 0 keeps none. At most 32,767, so that a number is never reused while its frame is kept. */
  readonly framesMax: number;
  /** Bound of the sum of `weightBytes`: the oldest frames are dropped beyond it. The newest frame is always kept. */
  readonly bytesMax: number;
}

/** A frame sent to a voice session, without its number. */
export type Frame =
  | { readonly kind: 'json'; readonly op: ServerVoiceOp; readonly d: unknown; readonly weightBytes: number }
  | {
      readonly kind: 'binary';
      readonly op: ServerVoiceOp;
      readonly payload: Uint8Array;
      readonly weightBytes: number;
    };

export interface NumberedFrame {
  readonly seq: number;
  readonly frame: Frame;
}

/**
 * Size of the number cycle: 1 to 65,535, then 1 again. Binary frames have 16 bits for the number, and the published
 * client reads a 0 in JSON as no number.
 */
export const SEQ_CYCLE = 65_535;

export const nextSeq = (seq: number): number => (seq % SEQ_CYCLE) + 1;

/** Steps of `nextSeq` from one number to the other; 0 to 65,534. */
export const seqSteps = (from: number, to: number): number => (to - from + SEQ_CYCLE) % SEQ_CYCLE;

/**
 * The last frames of one voice session, JSON and binary in one order, for op 7; it also assigns their numbers. Bounded
 * by count and by bytes; acknowledged frames are dropped too.
 *
 * @source https://docs.discord.com/developers/topics/voice-connections#buffered-resume
 */
export class FrameRing {
  readonly #limits: RingLimits;
  #frames: (Frame | undefined)[] = [];
  /** Index of the oldest frame. */
  #head = 0;
  #weightBytes = 0;
  #lastSeq = 0;
  /** The numbers have restarted at least once. */
  #wrapped = false;
  /** No frame was dropped yet. */
  #isComplete = true;

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#frames.length - this.#head;
  }

  get weightBytes(): number {
    return this.#weightBytes;
  }

  /** Keeps a frame and returns its number. */
  push(frame: Frame): number {
    if (this.#lastSeq === SEQ_CYCLE) this.#wrapped = true;
    this.#lastSeq = nextSeq(this.#lastSeq);
    this.#frames.push(frame);
    this.#weightBytes += frame.weightBytes;
    while (this.size > this.#limits.framesMax) this.#dropOldest();
    while (this.size > 1 && this.#weightBytes > this.#limits.bytesMax) this.#dropOldest();
    return this.#lastSeq;
  }

  /**
   * Lists the frames that a client missed, oldest first; null when some of them are no longer kept.
   *
   * @param seq Last number the client received, unchecked; 0 or less for none.
   */
  since(seq: number): NumberedFrame[] | null {
    const missed = this.#missedBy(seq);
    if (missed === null) return null;
    const frames = this.#frames.slice(this.#frames.length - missed) as Frame[];
    let number = Math.max(seq, 0);
    return frames.map((frame) => {
      number = nextSeq(number);
      return { seq: number, frame };
    });
  }

  /** The client has received everything up to `seq`; an impossible number is ignored. */
  acknowledge(seq: number): void {
    const missed = seq <= 0 ? null : this.#missedBy(seq);
    if (missed !== null) while (this.size > missed) this.#dropOldest();
  }

  #missedBy(seq: number): number | null {
    if (!Number.isInteger(seq) || seq > SEQ_CYCLE) return null;
    if (seq <= 0) return this.#isComplete ? this.size : null;
    if (!this.#wrapped && seq > this.#lastSeq) return null;
    const missed = seqSteps(seq, this.#lastSeq);
    return missed <= this.size ? missed : null;
  }

  #dropOldest(): void {
    this.#weightBytes -= this.#frames[this.#head]?.weightBytes ?? 0;
    this.#frames[this.#head] = undefined;
    this.#head += 1;
    this.#isComplete = false;
    if (this.#head < 64 || this.#head * 2 < this.#frames.length) return;
    this.#frames = this.#frames.slice(this.#head);
    this.#head = 0;
  }
}
