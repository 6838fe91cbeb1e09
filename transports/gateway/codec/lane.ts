import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { OP } from '../../../protocol/opcodes.ts';
import { encodeEtf, encodeEtfDispatch } from './etf.encode.ts';
import { complete, concat, type Splice, sealStandalone, ZLIB_STREAM } from './splice.ts';
import { ZSTD_STREAM, ZSTD_STREAM_STORED } from './zstd.ts';

/**
 * A payload encoding (`encoding=json|etf`). A dispatch is a prefix shared by all recipients, followed by a tail of constant
 * width with the recipient's sequence number, so that the number can be written into the encoded frame in place.
 */
interface Format {
  readonly name: 'json' | 'etf';
  /** The bytes after the prefix, with room for any number up to 2^31 - 1. */
  readonly tail: Uint8Array;
  /**
   * Encodes a dispatch, with a tail without a number, into memory of its own. With a slice of a shared pool, every send would
   * transfer the whole pool, and a replay buffer that keeps the frame would keep the pool alive.
   */
  frame(body: DispatchBody): Uint8Array;
  /** Encodes a dispatch without its tail. The bytes may be overwritten by the next call. */
  prefix(body: DispatchBody): Uint8Array;
  /** Writes `seq` into the tail that starts at `tailAt`. */
  stamp(frame: Uint8Array, tailAt: number, seq: number): void;
  /** Encodes a complete payload that is not a dispatch. */
  control(op: number, d: unknown): Uint8Array;
}

const SEQ_DIGITS = 10;
const SPACE = 0x20;
const ZERO = 0x30;

/** Writes digits right-aligned after spaces: JSON allows white space before a number, but no zeros. */
export function stampDigits(frame: Uint8Array, tailAt: number, seq: number): void {
  let at = tailAt + SEQ_DIGITS;
  let rest = seq;
  do {
    const tenth = (rest / 10) | 0;
    at -= 1;
    frame[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  } while (rest > 0);
  // Clear the digits left from a longer number; the first space ends them.
  while (at > tailAt && frame[at - 1] !== SPACE) {
    at -= 1;
    frame[at] = SPACE;
  }
}

function stampInt32(frame: Uint8Array, tailAt: number, seq: number): void {
  frame[tailAt] = seq >>> 24;
  frame[tailAt + 1] = seq >>> 16;
  frame[tailAt + 2] = seq >>> 8;
  frame[tailAt + 3] = seq;
}

const JSON_TAIL_TEXT = `${' '.repeat(SEQ_DIGITS)}}`;
/** The bytes after the prefix of a dispatch in JSON. */
export const JSON_TAIL: Uint8Array = Buffer.from(JSON_TAIL_TEXT);

const jsonText = ({ t, json }: DispatchBody): string => `{"t":"${t}","op":0,"d":${json},"s":`;

/** For payloads that are compressed at once: with memory of its own for each, V8 collects the heap more often. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const UTF8_BYTES_PER_UNIT_MAX = 3;

function jsonPrefix(body: DispatchBody): Uint8Array {
  const text = jsonText(body);
  const fits = text.length * UTF8_BYTES_PER_UNIT_MAX <= scratch.length;
  return fits ? scratch.subarray(0, scratch.write(text)) : Buffer.from(text);
}

function jsonFrame(body: DispatchBody): Uint8Array {
  const text = jsonText(body) + JSON_TAIL_TEXT;
  const frame = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  frame.write(text);
  return frame;
}

const JSON_FORMAT: Format = {
  name: 'json',
  tail: JSON_TAIL,
  frame: jsonFrame,
  prefix: jsonPrefix,
  stamp: stampDigits,
  control: (op, d) => Buffer.from(JSON.stringify({ op, d, s: null, t: null })),
};

const ETF_TAIL = new Uint8Array(4);

const ETF_FORMAT: Format = {
  name: 'etf',
  tail: ETF_TAIL,
  frame: (body) => concat(encodeEtfDispatch(body.t, body.d), ETF_TAIL),
  prefix: (body) => encodeEtfDispatch(body.t, body.d),
  stamp: stampInt32,
  control: (op, d) => encodeEtf({ op, d, s: null, t: null }),
};

/** One encoding variant of everything the server sends. A dispatch is encoded at most once per lane. */
export interface Lane {
  /** Encodes a dispatch for one recipient. The bytes are shared: they stay valid until the next call for this body. */
  dispatch(body: DispatchBody, seq: number): Uint8Array;
  /** Encodes a payload that is not a dispatch. */
  control(op: number, d: unknown): Uint8Array;
  /** Start of a connection's compressed stream; sent before its first frame. */
  readonly header: Uint8Array;
  /** The encoded heartbeat acknowledgement (op 11). */
  readonly ack: Uint8Array;
  isBinary(frame: Uint8Array): boolean;
  /** The lane for this connection after its IDENTIFY asked for payload compression. */
  withPayloadCompression(): Lane;
  /** To call when the connection carries a frame that is not a dispatch, or has ended. */
  leave(): void;
}

const NO_HEADER = new Uint8Array(0);

/** One format, compressed or, without a splice, as it is. */
class StreamLane implements Lane {
  readonly header: Uint8Array;
  readonly ack: Uint8Array;
  readonly #index: number;
  readonly #plainIndex: number;
  readonly #format: Format;
  readonly #splice: Splice | null;
  readonly #binary: boolean;
  readonly #tailFromEnd: number;
  readonly #compressed: () => Lane;

  constructor(
    index: number,
    plainIndex: number,
    format: Format,
    splice: Splice | null,
    compressed?: () => Lane,
  ) {
    this.#index = index;
    this.#plainIndex = plainIndex;
    this.#format = format;
    this.#splice = splice;
    this.#binary = splice !== null || format.name === 'etf';
    this.#tailFromEnd = format.tail.length + (splice?.trailerBytes ?? 0);
    this.#compressed = compressed ?? (() => this);
    this.header = splice?.header ?? NO_HEADER;
    this.ack = this.control(OP.HEARTBEAT_ACK, null);
  }

  dispatch(body: DispatchBody, seq: number): Uint8Array {
    const frame = body.lanes[this.#index] ?? this.#encode(body);
    this.#format.stamp(frame, frame.length - this.#tailFromEnd, seq);
    return frame;
  }

  control(op: number, d: unknown): Uint8Array {
    const plain = this.#format.control(op, d);
    return this.#splice ? this.#splice.complete(plain) : plain;
  }

  isBinary(): boolean {
    return this.#binary;
  }

  withPayloadCompression(): Lane {
    return this.#compressed();
  }

  leave(): void {}

  #encode(body: DispatchBody): Uint8Array {
    const frame = this.#splice
      ? this.#splice.splice(this.#prefix(body), this.#format.tail, !body.isForOne)
      : this.#format.frame(body);
    body.lanes[this.#index] = frame;
    return frame;
  }

  #prefix(body: DispatchBody): Uint8Array {
    const plain = body.lanes[this.#plainIndex];
    return plain?.subarray(0, plain.length - this.#format.tail.length) ?? this.#format.prefix(body);
  }
}

/** Dispatches of at least this size are compressed. The platform does not document its threshold. */
export const PAYLOAD_COMPRESSION_BYTES_MIN = 4096;
const ZLIB_FIRST_BYTE = 0x78;

/** JSON in which each large dispatch is a complete zlib stream (IDENTIFY's `compress`). */
class PayloadLane implements Lane {
  readonly header = JSON_LANE.header;
  readonly ack = JSON_LANE.ack;
  readonly #index: number;

  constructor(index: number) {
    this.#index = index;
  }

  dispatch(body: DispatchBody, seq: number): Uint8Array {
    const plain = JSON_LANE.dispatch(body, seq);
    if (plain.length < PAYLOAD_COMPRESSION_BYTES_MIN) return plain;
    const tailBytes = JSON_FORMAT.tail.length;
    let frame = body.lanes[this.#index];
    if (!frame) {
      frame = complete(plain.subarray(0, plain.length - tailBytes), JSON_FORMAT.tail, !body.isForOne);
      body.lanes[this.#index] = frame;
    }
    sealStandalone(frame, plain, tailBytes);
    return frame;
  }

  control(op: number, d: unknown): Uint8Array {
    return JSON_LANE.control(op, d);
  }

  /** Uncompressed frames start with a brace and are text. */
  isBinary(frame: Uint8Array): boolean {
    return frame[0] === ZLIB_FIRST_BYTE;
  }

  withPayloadCompression(): Lane {
    return this;
  }

  leave(): void {}
}

const PAYLOAD_INDEX = 4;
const JSON_LANE = new StreamLane(0, 0, JSON_FORMAT, null, () => PAYLOAD_LANE);
const ETF_LANE = new StreamLane(1, 1, ETF_FORMAT, null);
const ZLIB_JSON_LANE = new StreamLane(2, 0, JSON_FORMAT, ZLIB_STREAM);
const ZLIB_ETF_LANE = new StreamLane(3, 1, ETF_FORMAT, ZLIB_STREAM);
const PAYLOAD_LANE: Lane = new PayloadLane(PAYLOAD_INDEX);
const ZSTD_JSON_LANE = ZSTD_STREAM && new StreamLane(5, 0, JSON_FORMAT, ZSTD_STREAM);
const ZSTD_ETF_LANE = ZSTD_STREAM_STORED && new StreamLane(6, 1, ETF_FORMAT, ZSTD_STREAM_STORED);

const LANES: Readonly<Record<string, Lane | null>> = {
  'json/': JSON_LANE,
  'json/zlib-stream': ZLIB_JSON_LANE,
  'json/zstd-stream': ZSTD_JSON_LANE,
  'etf/': ETF_LANE,
  'etf/zlib-stream': ZLIB_ETF_LANE,
  'etf/zstd-stream': ZSTD_ETF_LANE,
};

/**
 * The lane for a connection's query parameters. @returns null when this server does not support them (zstd needs Node 22.15).
 */
export function laneFor(encoding: string, compress: string): Lane | null {
  const key = `${encoding}/${compress}`;
  return Object.hasOwn(LANES, key) ? (LANES[key] ?? null) : null;
}
