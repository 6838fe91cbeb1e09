import { inflateSync } from 'node:zlib';
import { readEtf, StreamInflate } from './codec-client.ts';

/** Dispatches that pass by on one gateway connection, from the server's bytes; the bytes go on unchanged. */
export class Wiretap {
  readonly #onDispatch: (t: string, d: Readonly<Record<string, unknown>>) => void;
  readonly #isEtf: boolean;
  readonly #inflate: StreamInflate | null;
  #bytes: Buffer = Buffer.alloc(0);
  #isUpgraded = false;
  #message: Buffer[] = [];
  #isBinary = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(url: string, onDispatch: (t: string, d: Readonly<Record<string, unknown>>) => void) {
    const query = new URLSearchParams(url.split('?')[1] ?? '');
    this.#onDispatch = onDispatch;
    this.#isEtf = query.get('encoding') === 'etf';
    this.#inflate = query.get('compress') === 'zlib-stream' ? new StreamInflate() : null;
  }

  /** @throws when the bytes are no WebSocket. */
  take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    if (!this.#isUpgraded) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.#isUpgraded = true;
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    for (let frame = this.#nextFrame(); frame; frame = this.#nextFrame()) this.#takeFrame(frame);
  }

  /** Resolves when everything taken was read; rejects with what could not be. */
  get read(): Promise<void> {
    return this.#turn;
  }

  #nextFrame(): { readonly head: number; readonly payload: Buffer } | null {
    const all = this.#bytes;
    if (all.length < 2) return null;
    const short = all[1]! & 0x7f;
    const at = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (all.length < at) return null;
    const length =
      short === 126 ? all.readUInt16BE(2) : short === 127 ? Number(all.readBigUInt64BE(2)) : short;
    if (all.length < at + length) return null;
    this.#bytes = all.subarray(at + length);
    return { head: all[0]!, payload: all.subarray(at, at + length) };
  }

  #takeFrame({ head, payload }: { readonly head: number; readonly payload: Buffer }): void {
    const opcode = head & 0x0f;
    if (opcode > 2) return;
    if (opcode !== 0) this.#isBinary = opcode === 2;
    this.#message.push(payload);
    if ((head & 0x80) === 0) return;
    const [first] = this.#message;
    const message = first && this.#message.length === 1 ? first : Buffer.concat(this.#message);
    const isBinary = this.#isBinary;
    this.#message = [];
    this.#turn = this.#turn.then(async () => this.#takeMessage(message, isBinary));
    this.#turn.catch(() => {});
  }

  async #takeMessage(message: Buffer, isBinary: boolean): Promise<void> {
    const plain = this.#inflate
      ? await this.#inflate.message(message)
      : isBinary && !this.#isEtf
        ? inflateSync(message)
        : message;
    const { op, t, d } = (this.#isEtf ? readEtf(plain) : JSON.parse(plain.toString())) as {
      op: number;
      t: string | null;
      d: Readonly<Record<string, unknown>>;
    };
    if (op === 0 && typeof t === 'string') this.#onDispatch(t, d);
  }
}
