/** Browsers' RTP and RTCP packets that are passed between threads: many in one message, whose memory is transferred. */
export interface PacketBatch {
  /** For each packet, the SSRC of the member that sent it or receives it. */
  readonly ssrcs: Uint32Array<ArrayBuffer>;
  readonly lengths: Uint16Array<ArrayBuffer>;
  /** The packets, concatenated. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly count: number;
}

const PACKETS_MAX = 256;
const BYTES_MAX = 128 << 10;

/** Collects packets until `take`. A packet that does not fit must be added again after `take`. */
export class Batcher {
  #ssrcs = new Uint32Array(PACKETS_MAX);
  #lengths = new Uint16Array(PACKETS_MAX);
  #bytes = new Uint8Array(BYTES_MAX);
  #count = 0;
  #used = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Copies a packet. @returns false when the batch is full; an empty batch takes any packet of at most 65,535 bytes. */
  add(ssrc: number, packet: Uint8Array): boolean {
    if (this.#count === PACKETS_MAX || this.#used + packet.length > BYTES_MAX) return false;
    this.#ssrcs[this.#count] = ssrc;
    this.#lengths[this.#count] = packet.length;
    this.#bytes.set(packet, this.#used);
    this.#count += 1;
    this.#used += packet.length;
    return true;
  }

  /** Returns the packets so far and gives up their memory; the batcher continues with new memory. */
  take(): PacketBatch {
    const batch = {
      ssrcs: this.#ssrcs.slice(0, this.#count),
      lengths: this.#lengths.slice(0, this.#count),
      bytes: this.#bytes.slice(0, this.#used),
      count: this.#count,
    };
    this.#count = 0;
    this.#used = 0;
    return batch;
  }
}

/** The buffers to transfer with a batch that is posted to another thread. */
export const memoryOf = (batch: PacketBatch): ArrayBuffer[] => [
  batch.ssrcs.buffer,
  batch.lengths.buffer,
  batch.bytes.buffer,
];

/** Calls `each` with a view of every packet. */
export function unpack(batch: PacketBatch, each: (ssrc: number, packet: Uint8Array) => void): void {
  let at = 0;
  for (let index = 0; index < batch.count; index += 1) {
    const end = at + (batch.lengths[index] as number);
    each(batch.ssrcs[index] as number, batch.bytes.subarray(at, end));
    at = end;
  }
}
