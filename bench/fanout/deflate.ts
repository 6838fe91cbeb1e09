import zlib from 'node:zlib';

/** Not in Node's documentation, but what the libraries for synchronous compression of streams stand on. */
interface Native {
  readonly _handle: {
    writeSync(
      flush: number,
      from: Uint8Array,
      at: number,
      bytes: number,
      to: Buffer,
      toAt: number,
      toBytes: number,
    ): void;
  };
  /** Room left in the output and bytes left of the input, after a write. */
  readonly _writeState: Uint32Array;
}

const OUTPUT = Buffer.allocUnsafeSlow(64 << 10);

/** A zlib stream of one connection, compressed in step: each result completes what was written. */
export class HistoryStream {
  readonly #deflate = zlib.createDeflate();
  readonly #native = this.#deflate as unknown as Native;

  /** @returns A copy. */
  write(payload: Uint8Array): Buffer {
    const { _handle: handle, _writeState: state } = this.#native;
    handle.writeSync(zlib.constants.Z_SYNC_FLUSH, payload, 0, payload.length, OUTPUT, 0, OUTPUT.length);
    const [roomLeft = 0, inputLeft = 0] = state;
    if (roomLeft === 0 || inputLeft > 0) throw new RangeError('The payload is too large for one write.');
    return Buffer.from(OUTPUT.subarray(0, OUTPUT.length - roomLeft));
  }

  close(): void {
    this.#deflate.close();
  }
}
