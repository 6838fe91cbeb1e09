import { RPC_LIMITS, RPC_OP } from '../../protocol/rpc.ts';

/**
 * The frames of the local socket: opcode and byte length as unsigned 32-bit little-endian integers, then JSON in UTF-8.
 *
 * @source https://docs.discord.food/topics/rpc#ipc
 */
export interface RpcFrame {
  readonly op: number;
  /** Untrusted. */
  readonly data: unknown;
}

/** Why a stream cannot be read any further. */
type FrameProblem = 'unknown opcode' | 'frame too large' | 'malformed JSON';

const HEADER_BYTES = 8;
const OPS: ReadonlySet<number> = new Set(Object.values(RPC_OP));

export function encodeFrame(op: number, data: unknown): Uint8Array {
  const body = new TextEncoder().encode(JSON.stringify(data));
  const frame = new Uint8Array(HEADER_BYTES + body.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, op, true);
  view.setUint32(4, body.length, true);
  frame.set(body, HEADER_BYTES);
  return frame;
}

/**
 * Reads frames from a stream that is cut anywhere. It holds at most one frame (`RPC_LIMITS.frame_bytes_max`), which is
 * allocated when its header has arrived; a byte is copied once.
 */
export class FrameReader {
  readonly #header = new Uint8Array(HEADER_BYTES);
  readonly #maxBytes: number;
  /** The opcode of the frame that is being filled. */
  #op = 0;
  #body: Uint8Array | null = null;
  #filled = 0;
  #problem: FrameProblem | null = null;

  constructor(maxBytes: number = RPC_LIMITS.frame_bytes_max) {
    this.#maxBytes = maxBytes;
  }

  /** Why reading has ended; null while it goes on. Bytes after a problem are ignored. */
  get problem(): FrameProblem | null {
    return this.#problem;
  }

  /** @returns the frames that these bytes complete. */
  push(bytes: Uint8Array): RpcFrame[] {
    const frames: RpcFrame[] = [];
    let at = 0;
    while (this.#problem === null) {
      const part = this.#body ?? this.#header;
      const taken = bytes.subarray(at, at + part.length - this.#filled);
      part.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
      if (this.#filled < part.length) break;
      this.#filled = 0;
      if (this.#body === null) this.#begin();
      else this.#end(this.#body, frames);
    }
    return frames;
  }

  #begin(): void {
    const view = new DataView(this.#header.buffer);
    const lengthBytes = view.getUint32(4, true);
    this.#op = view.getUint32(0, true);
    if (!OPS.has(this.#op)) this.#problem = 'unknown opcode';
    else if (lengthBytes > this.#maxBytes) this.#problem = 'frame too large';
    else this.#body = new Uint8Array(lengthBytes);
  }

  #end(body: Uint8Array, frames: RpcFrame[]): void {
    this.#body = null;
    try {
      const data: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
      frames.push({ op: this.#op, data });
    } catch {
      this.#problem = 'malformed JSON';
    }
  }
}
