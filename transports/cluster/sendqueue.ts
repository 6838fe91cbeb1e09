import type { EncodedFrame } from './codec.ts';

/** The frames of a tick are sent in batches of about this size. */
const BATCH_BYTES = 1 << 20;
/** Most bytes that may be sent without acknowledgement. */
const WINDOW_BYTES = 8 << 20;

interface Batch {
  readonly sequence: number;
  readonly packet: Buffer;
}

interface SendQueueOptions {
  /** Most bytes that are queued, sent or not, until the peer acknowledges them. */
  readonly bytesMax: number;
  readonly pack: (sequence: number, parcels: readonly EncodedFrame[]) => Buffer;
}

/**
 * The send queue to one peer. Keeps frames and then batches, numbered from 1 within a generation, in order until the peer
 * acknowledges them. After a failed stream the next one continues with the first batch the peer has not received. On
 * overflow the whole queue is dropped and a new generation starts, from which the peer knows that frames are missing.
 */
export class SendQueue {
  readonly #options: SendQueueOptions;
  #generation = 0;
  #frames: EncodedFrame[] = [];
  #framesBytes = 0;
  /** Unacknowledged batches, ascending. */
  #batches: Batch[] = [];
  #batchesBytes = 0;
  /** How many of `#batches` were sent. */
  #sent = 0;
  #sentBytes = 0;
  #lastSequence = 0;

  constructor(options: SendQueueOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Bytes that the peer has not acknowledged. */
  get waitingBytes(): number {
    return this.#framesBytes + this.#batchesBytes;
  }

  /** Queues a frame. @returns false on overflow: the frame is not kept, and the caller must end the generation. */
  add(parcel: EncodedFrame): boolean {
    if (this.waitingBytes + parcel.bytes > this.#options.bytesMax) return false;
    this.#frames.push(parcel);
    this.#framesBytes += parcel.bytes;
    return true;
  }

  /** Drops the queue and starts the next generation. */
  endGeneration(): void {
    this.#generation += 1;
    this.#frames = [];
    this.#batches = [];
    this.#framesBytes = this.#batchesBytes = this.#sentBytes = 0;
    this.#sent = this.#lastSequence = 0;
  }

  /**
   * Starts a stream; `taken` is the last batch of the generation that the peer has. @returns false if that cannot be: frames
   * are missing at the peer, and the caller must end the generation.
   */
  begin(taken: number): boolean {
    if (taken < this.#lastSequence - this.#batches.length || taken > this.#lastSequence) return false;
    this.#sent = this.#sentBytes = 0;
    this.#drop(taken);
    return true;
  }

  /** Handles an acknowledgement of the batches up to this one. @returns false when they were not all sent. */
  taken(sequence: number): boolean {
    const first = this.#batches[0]?.sequence ?? this.#lastSequence + 1;
    if (sequence >= first + this.#sent) return false;
    this.#drop(sequence);
    return true;
  }

  /** The next packet to send; null when there is none, or when the window is full. */
  next(): Buffer | null {
    if (this.#sentBytes >= WINDOW_BYTES) return null;
    if (this.#sent === this.#batches.length) this.#seal();
    const batch = this.#batches[this.#sent];
    if (!batch) return null;
    this.#sent += 1;
    this.#sentBytes += batch.packet.length;
    return batch.packet;
  }

  #seal(): void {
    if (this.#frames.length === 0) return;
    let bytes = 0;
    let count = 0;
    for (const frame of this.#frames) {
      if (count > 0 && bytes + frame.bytes > BATCH_BYTES) break;
      bytes += frame.bytes;
      count += 1;
    }
    const parcels = count === this.#frames.length ? this.#frames : this.#frames.slice(0, count);
    this.#frames = count === this.#frames.length ? [] : this.#frames.slice(count);
    this.#framesBytes -= bytes;
    this.#lastSequence += 1;
    const packet = this.#options.pack(this.#lastSequence, parcels);
    this.#batches.push({ sequence: this.#lastSequence, packet });
    this.#batchesBytes += packet.length;
  }

  #drop(sequence: number): void {
    let count = 0;
    for (const batch of this.#batches) {
      if (batch.sequence > sequence) break;
      count += 1;
      this.#batchesBytes -= batch.packet.length;
      if (count <= this.#sent) this.#sentBytes -= batch.packet.length;
    }
    this.#batches = this.#batches.slice(count);
    this.#sent = Math.max(0, this.#sent - count);
  }
}
