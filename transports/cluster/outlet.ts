import type { Parcel } from './codec.ts';

/** Frames of a tick leave in batches of about this size. */
const BATCH_BYTES = 1 << 20;
/** What may be on its way without having been taken. */
const WINDOW_BYTES = 8 << 20;

interface Batch {
  readonly sequence: number;
  readonly packet: Buffer;
}

interface OutletOptions {
  /** What may wait, sent or not, until the peer has taken it. */
  readonly bytesMax: number;
  readonly pack: (sequence: number, parcels: readonly Parcel[]) => Buffer;
}

/**
 * What is told to one peer, in order, until the peer has taken it: frames, then batches, numbered from 1 within a
 * generation. A stream that fails takes nothing with it: the next one goes on behind what the peer has. What is too
 * much is dropped altogether, and the next generation begins, by which the peer knows that something is missing.
 */
export class Outlet {
  readonly #options: OutletOptions;
  #generation = 0;
  #frames: Parcel[] = [];
  #framesBytes = 0;
  /** Not taken by the peer, ascending. */
  #batches: Batch[] = [];
  #batchesBytes = 0;
  /** Of `#batches`, how many are on their way. */
  #sent = 0;
  #sentBytes = 0;
  #lastSequence = 0;

  constructor(options: OutletOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Bytes that the peer has not taken. */
  get waitingBytes(): number {
    return this.#framesBytes + this.#batchesBytes;
  }

  /** False when it would be too much; then nothing is kept of it, and the generation is to be ended. */
  add(parcel: Parcel): boolean {
    if (this.waitingBytes + parcel.bytes > this.#options.bytesMax) return false;
    this.#frames.push(parcel);
    this.#framesBytes += parcel.bytes;
    return true;
  }

  /** Drops everything. */
  endGeneration(): void {
    this.#generation += 1;
    this.#frames = [];
    this.#batches = [];
    this.#framesBytes = this.#batchesBytes = this.#sentBytes = 0;
    this.#sent = this.#lastSequence = 0;
  }

  /**
   * A stream begins, at whose other end this much of the generation is known. False when that is not so: something is
   * missing there, and the generation is to be ended.
   */
  begin(taken: number): boolean {
    if (taken < this.#lastSequence - this.#batches.length || taken > this.#lastSequence) return false;
    this.#sent = this.#sentBytes = 0;
    this.#drop(taken);
    return true;
  }

  /** The peer has taken the batches up to this one. False when it cannot have. */
  taken(sequence: number): boolean {
    const first = this.#batches[0]?.sequence ?? this.#lastSequence + 1;
    if (sequence >= first + this.#sent) return false;
    this.#drop(sequence);
    return true;
  }

  /** The next packet to be sent; null when there is none, or enough is on its way. */
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
