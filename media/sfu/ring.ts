/** Longer than any packet taken in, with what encryption adds. */
export const SLOT_BYTES = 2048;

/** Packets on their way out: one buffer, cut into slots that are used in turn. */
export class PacketRing {
  readonly bytes: Buffer;
  #next = 0;

  constructor(slots: number) {
    this.bytes = Buffer.alloc(slots * SLOT_BYTES);
  }

  /** Where the next packet may be written: `SLOT_BYTES` from here on. */
  take(): number {
    const offset = this.#next;
    this.#next = offset + SLOT_BYTES === this.bytes.length ? 0 : offset + SLOT_BYTES;
    return offset;
  }

  /** Gives back the place taken last: what lay there is no longer needed. */
  giveBack(offset: number): void {
    this.#next = offset;
  }
}
