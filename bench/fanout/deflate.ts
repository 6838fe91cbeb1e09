import zlib from 'node:zlib';

/** Undocumented internals of Node's zlib, which libraries for synchronous compression of streams use as well. */
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
  /** Remaining room of the output and remaining bytes of the input, after a write. */
  readonly _writeState: Uint32Array;
}

const OUTPUT = Buffer.allocUnsafeSlow(64 << 10);

/** The zlib stream of one connection, compressed synchronously: each result is the complete output of one write. */
export class HistoryStream {
  readonly #deflate = zlib.createDeflate();
  readonly #native = this.#deflate as unknown as Native;

  /** Compresses a payload. @returns A copy. */
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
