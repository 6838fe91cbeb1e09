import zlib from 'node:zlib';

/**
 * Turns a frame's prefix and tail into bytes of a connection's compressed stream, independent of what the stream carried
 * before. So one compression serves every recipient, and an idle connection needs no compressor.
 */
export interface Splice {
  /** Start of a connection's stream; sent before its first frame. */
  readonly header: Uint8Array;
  /** Bytes of a spliced frame after its tail. */
  readonly trailerBytes: number;
  /** @param isShared Whether the bytes are sent to several recipients. */
  splice(prefix: Uint8Array, tail: Uint8Array, isShared: boolean): Uint8Array;
  /** Encodes a frame without a tail. */
  complete(payload: Uint8Array): Uint8Array;
}

/**
 * Concatenates into memory of its own. With a slice of a shared pool, every send would transfer the whole pool, and a
 * replay buffer that keeps the frame would keep the pool alive.
 */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Bytes that are sent once are compressed in half of the time, to about a tenth more bytes. */
const LEVEL = { shared: 6, single: 3 } as const;
/**
 * Room for the result, which Node allocates for each call outside of the heap. With its default of 16 KiB, compressing the guilds
 * of a READY makes V8 collect the whole heap again and again.
 */
const SMALL_RESULT = { chunkSize: 2048 } as const;
/**
 * Returns the same bytes for a payload that fits into this window, in half of the time: the compressor's memory,
 * which each call allocates and clears, is a tenth.
 */
const SMALL = { windowBits: 12, memLevel: 5, ...SMALL_RESULT } as const;
const SMALL_BYTES_MAX = 1 << SMALL.windowBits;

/** Raw deflate with a new state, which ends on a byte boundary after a sync flush. */
function deflated(payload: Uint8Array, isShared: boolean): Uint8Array {
  const level = isShared ? LEVEL.shared : LEVEL.single;
  const finishFlush = zlib.constants.Z_SYNC_FLUSH;
  const isSmall = payload.length <= SMALL_BYTES_MAX;
  return zlib.deflateRawSync(payload, isSmall ? { level, finishFlush, ...SMALL } : { level, finishFlush });
}

/** An empty stored block that is not the last: a sync flush ends with it, and clients wait for it. */
const SYNC_MARK = Uint8Array.of(0x00, 0x00, 0x00, 0xff, 0xff);
/** The lengths of an empty stored block, after its type and the bits up to the next byte. */
const EMPTY_LENGTHS_BYTES = 4;

/** Ends what a sync flush has written with the tail, which takes the place of the empty stored block's missing content. */
const withTail = (flushed: Uint8Array, tail: Uint8Array): Uint8Array =>
  concat(
    flushed.subarray(0, flushed.length - EMPTY_LENGTHS_BYTES),
    Uint8Array.of(tail.length, 0x00, ~tail.length, 0xff),
    tail,
    SYNC_MARK,
  );

/**
 * `compress=zlib-stream`. Raw deflate with a new state refers to nothing before it, and ends on a byte boundary after a sync
 * flush. The tail follows in a stored block, whose bytes are uncompressed.
 *
 * @source RFC 1950, RFC 1951 sections 3.2.3 and 3.2.4
 */
export const ZLIB_STREAM: Splice = {
  header: Uint8Array.of(0x78, 0x9c),
  trailerBytes: SYNC_MARK.length,
  splice: (prefix, tail, isShared) => withTail(deflated(prefix, isShared), tail),
  complete: (payload) => concat(deflated(payload, false)),
};

/** As `ZLIB_STREAM.splice`, for streams whose last bytes, uncompressed, are those of `history`. */
export const spliceAfter = (history: Uint8Array, prefix: Uint8Array, tail: Uint8Array): Uint8Array =>
  withTail(
    zlib.deflateRawSync(prefix, {
      level: LEVEL.shared,
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
      dictionary: history,
      ...(prefix.length <= SMALL_BYTES_MAX && SMALL_RESULT),
    }),
    tail,
  );

const ADLER_MODULUS = 65_521;
/** Bytes that can be added up before the sums could exceed 2^32. @source RFC 1950 section 9 */
const ADLER_RUN_BYTES = 5552;

function writeAdler32(of: Uint8Array, into: Uint8Array, intoAt: number): void {
  let a = 1;
  let b = 0;
  for (let at = 0; at < of.length; ) {
    const runEnd = Math.min(of.length, at + ADLER_RUN_BYTES);
    for (; at < runEnd; at += 1) {
      a += of[at] ?? 0;
      b += a;
    }
    a %= ADLER_MODULUS;
    b %= ADLER_MODULUS;
  }
  into[intoAt] = b >>> 8;
  into[intoAt + 1] = b;
  into[intoAt + 2] = a >>> 8;
  into[intoAt + 3] = a;
}

/** A complete zlib stream with its tail in a stored block; `sealStandalone` writes the checksum. */
export function complete(prefix: Uint8Array, tail: Uint8Array, isShared: boolean): Uint8Array {
  return concat(
    ZLIB_STREAM.header,
    deflated(prefix, isShared),
    Uint8Array.of(0x01, tail.length, 0x00, ~tail.length, 0xff),
    tail,
    new Uint8Array(4),
  );
}

/** Bytes of a standalone frame after its tail: the checksum. */
const STANDALONE_TRAILER_BYTES = 4;

/** Copies the tail of `plain` into the standalone frame made from it, and writes the checksum. */
export function sealStandalone(frame: Uint8Array, plain: Uint8Array, tailBytes: number): void {
  const tailAt = frame.length - STANDALONE_TRAILER_BYTES - tailBytes;
  frame.set(plain.subarray(plain.length - tailBytes), tailAt);
  writeAdler32(plain, frame, frame.length - STANDALONE_TRAILER_BYTES);
}
