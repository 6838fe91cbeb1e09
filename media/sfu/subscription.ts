import { sequenceDelta } from '../rtp/sequence.ts';

/** Between the last picture of one layer and the first of another at least one frame's time must pass: 1/60 s at 90 kHz. */
const FRAME_TICKS_MIN = 1500;
const TICKS_PER_MS = 90;
/** A packet this far behind the switch is not late: its sender numbers anew. */
const LATE_MAX = 0x4000;
/** How far behind the newest packet a retransmission may be; the switch is forgotten beyond it. */
const KNOWN_MAX = 0x1000;

/** What decides which of several encodings of one picture is sent. */
interface Encoding {
  readonly quality: number;
  readonly active: boolean;
}

/** The layer to send to one who wants `quality`: the best that is active and not beyond it, or else the least there is. */
export function chooseLayer<L extends Encoding>(layers: readonly L[], quality: number): L | null {
  let chosen: L | null = null;
  for (const layer of layers) {
    if (!layer.active || quality <= 0) continue;
    if (chosen === null || better(layer, chosen, quality)) chosen = layer;
  }
  return chosen;
}

function better(layer: Encoding, than: Encoding, quality: number): boolean {
  if (layer.quality <= quality) return than.quality > quality || layer.quality > than.quality;
  return than.quality > quality && layer.quality < than.quality;
}

/**
 * One member watching another. The receiver sees a single stream under the sender's primary SSRC: when the layer behind it
 * changes, sequence numbers and timestamps go on without a gap.
 */
export class Subscription<Viewer, Layer> {
  readonly viewer: Viewer;
  /** What is sent now; null before the first keyframe. */
  layer: Layer | null = null;
  /** What shall be sent from its next keyframe on. */
  target: Layer | null = null;
  /** Add to what the layer has to get what the viewer sees. */
  sequenceOffset = 0;
  timestampOffset = 0;
  #begunAt = 0;
  #hasBegun = false;
  #lastSequence = 0;
  #lastTimestamp = 0;
  #lastMs = 0;
  #rtxSequence = 0;

  constructor(viewer: Viewer) {
    this.viewer = viewer;
  }

  get isWaiting(): boolean {
    return this.target !== null && this.target !== this.layer;
  }

  /** Nothing more is sent; the numbering is kept for when it goes on. */
  stop(): void {
    this.layer = null;
    this.target = null;
  }

  /**
   * Whether a packet of a layer goes to the viewer. Changes to the target's layer if this packet may begin one.
   *
   * @param beginsPicture what `beginsKeyframe` said; null (it cannot be told) lets the change happen at once
   */
  admit(
    layer: Layer,
    sequence: number,
    timestamp: number,
    beginsPicture: boolean | null,
    nowMs: number,
  ): boolean {
    if (layer === this.target && layer !== this.layer && beginsPicture !== false)
      this.#begin(layer, sequence, timestamp, nowMs);
    if (layer !== this.layer || !this.knows(sequence)) return false;
    const after = sequenceDelta(this.#begunAt, sequence);
    if (after < 0) this.#begunAt = sequence;
    else if (after > 2 * KNOWN_MAX) this.#begunAt = (sequence - KNOWN_MAX) & 0xffff;
    const out = (sequence + this.sequenceOffset) & 0xffff;
    if (sequenceDelta(this.#lastSequence, out) >= 0) {
      this.#lastSequence = out;
      this.#lastTimestamp = (timestamp + this.timestampOffset) >>> 0;
      this.#lastMs = nowMs;
    }
    return true;
  }

  /** Whether the layer's packet of this number is part of what is sent, and not from before the layer was changed to. */
  knows(sequence: number): boolean {
    const after = sequenceDelta(this.#begunAt, sequence);
    return after >= 0 || after < -LATE_MAX;
  }

  #begin(layer: Layer, sequence: number, timestamp: number, nowMs: number): void {
    this.layer = layer;
    this.#begunAt = sequence;
    if (this.#hasBegun) {
      const ticks = Math.max(FRAME_TICKS_MIN, Math.round((nowMs - this.#lastMs) * TICKS_PER_MS));
      this.sequenceOffset = (this.#lastSequence + 1 - sequence) & 0xffff;
      this.timestampOffset = (this.#lastTimestamp + ticks - timestamp) | 0;
    }
    this.#hasBegun = true;
    this.#lastSequence = (sequence + this.sequenceOffset) & 0xffff;
    this.#lastTimestamp = (timestamp + this.timestampOffset) >>> 0;
    this.#lastMs = nowMs;
  }

  /** Retransmissions have a numbering of their own, which starts and never jumps with the viewer. */
  nextRtxSequence(): number {
    this.#rtxSequence = (this.#rtxSequence + 1) & 0xffff;
    return this.#rtxSequence;
  }
}
