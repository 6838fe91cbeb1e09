import { sequenceDelta } from '../rtp/sequence.ts';

/** Least time between the last frame of one layer and the first of another: one frame, 1/60 s at 90 kHz. */
const FRAME_TICKS_MIN = 1500;
const TICKS_PER_MS = 90;
/** A packet this far behind the switch is not late: its sender has restarted its numbering. */
const LATE_MAX = 0x4000;
/** How far behind the newest packet a retransmission may be; past it, the position of the switch is advanced. */
const KNOWN_MAX = 0x1000;

/** The fields of an encoding that decide which layer is sent. */
interface Encoding {
  readonly quality: number;
  readonly active: boolean;
}

/** The best active layer that is not above `quality`; if all are above it, the lowest; null without an active layer. */
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
 * One member watching another. The receiver sees a single stream under the sender's primary SSRC: when the forwarded layer
 * changes, sequence numbers and timestamps continue without a gap.
 */
export class Subscription<Viewer, Layer> {
  readonly viewer: Viewer;
  /** The layer that is forwarded now; null before the first keyframe. */
  layer: Layer | null = null;
  /** The layer to forward from its next keyframe on. */
  target: Layer | null = null;
  /** Add these to the layer's values to get the values the viewer sees. */
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

  /** Stops forwarding; the numbering is kept for a later start. */
  stop(): void {
    this.layer = null;
    this.target = null;
  }

  /**
   * Whether a packet of a layer is forwarded to the viewer. Switches to the target layer if this packet may begin a keyframe.
   *
   * @param beginsPicture the result of `beginsKeyframe`; with null (unknown codec) the switch happens at once
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

  /** Whether the layer's packet with this number was forwarded, rather than sent before the switch to this layer. */
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

  /** Next sequence number for retransmissions, which are numbered per viewer without jumps. */
  nextRtxSequence(): number {
    this.#rtxSequence = (this.#rtxSequence + 1) & 0xffff;
    return this.#rtxSequence;
  }
}
