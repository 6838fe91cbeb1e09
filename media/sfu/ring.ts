/** Longer than any accepted packet with the bytes that encryption adds. */
export const SLOT_BYTES = 2048;

/** Ring of outgoing packets: one buffer, divided into slots that are used in turn. */
export class PacketRing {
  readonly bytes: Buffer;
  #next = 0;

  constructor(slots: number) {
    this.bytes = Buffer.alloc(slots * SLOT_BYTES);
  }

  /** Offset at which the next packet may be written; `SLOT_BYTES` are free from there. */
  take(): number {
    const offset = this.#next;
    this.#next = offset + SLOT_BYTES === this.bytes.length ? 0 : offset + SLOT_BYTES;
    return offset;
  }

  /** Returns the slot taken last, whose packet is no longer needed. */
  giveBack(offset: number): void {
    this.#next = offset;
  }
}
