import zlib from 'node:zlib';
import { concat, type Splice } from './splice.ts';

type Compress = (bytes: Uint8Array, options: { readonly params: Record<number, number> }) => Uint8Array;

/** The runtime's zstd, which came with Node 22.15; null before it. */
const runtime = zlib as { readonly zstdCompressSync?: Compress };

// Parameter numbers of zstd.h.
const PARAMS: Record<number, number> = {
  /** compressionLevel */ 100: 3,
  /** windowLog */ 101: 17,
  /** contentSizeFlag */ 200: 0,
  /** checksumFlag */ 201: 0,
};
const MAGIC = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd);
/** No content size, no checksum, no dictionary; a window of 2^17 bytes. */
const HEADER = concat(MAGIC, Uint8Array.of(0x00, 7 << 3));

/**
 * Two compressed blocks that set the decoder's three repeated offsets to their values at the start of a frame (1, 4, 8),
 * because blocks taken from another frame may refer to those. The blocks copy spaces from 8, then 4, then 1 bytes back, and
 * so decode to 17 spaces before the payload, which JSON allows.
 *
 * First block: literals are eight times a space (RLE); one sequence, its three tables of one symbol each: literal
 * length code 8, offset code 3, match length code 0 (3 bytes); the bit stream is the offset's 3 bits (8 + 3 = value 11,
 * offset 8) under the end mark. Second: no literals, two sequences, offset code 2: values 7 and 4, offsets 4 and 1.
 *
 * @source RFC 8878 sections 3.1.1.3 and 3.1.1.5
 */
const RESET_OFFSETS = Uint8Array.of(
  ...[0x44, 0x00, 0x00, 0x41, 0x20, 0x01, 0x54, 0x08, 0x03, 0x00, 0x0b],
  ...[0x3c, 0x00, 0x00, 0x00, 0x02, 0x54, 0x00, 0x02, 0x00, 0x1c],
);

const LAST_BLOCK = 0x01;
const RLE_BLOCK = 1;

/** The blocks of a frame that this module compressed, with the last-block flag cleared. */
function blocksOf(frame: Uint8Array): Uint8Array {
  const blocks = frame.slice(HEADER.length);
  for (let at = 0, last = false; !last; ) {
    const head = (blocks[at] ?? 0) | ((blocks[at + 1] ?? 0) << 8) | ((blocks[at + 2] ?? 0) << 16);
    last = (head & LAST_BLOCK) !== 0;
    blocks[at] = (blocks[at] ?? 0) & ~LAST_BLOCK;
    at += 3 + (((head >> 1) & 3) === RLE_BLOCK ? 1 : head >> 3);
  }
  return blocks;
}

const BLOCK_BYTES_MAX = 1 << 17;

function stored(payload: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < payload.length; at += BLOCK_BYTES_MAX) {
    const part = payload.subarray(at, at + BLOCK_BYTES_MAX);
    const head = part.length << 3;
    parts.push(Uint8Array.of(head, head >>> 8, head >>> 16), part);
  }
  return concat(...parts);
}

const stream = (blocks: (payload: Uint8Array) => Uint8Array): Splice => ({
  header: HEADER,
  trailerBytes: 0,
  splice: (prefix, tail) => concat(blocks(prefix), stored(tail)),
  complete: blocks,
});

const { zstdCompressSync: compress } = runtime;

/**
 * `compress=zstd-stream` for JSON: each message ends on a block boundary of one frame that never ends. Null if the runtime
 * has no zstd.
 */
export const ZSTD_STREAM: Splice | null = compress
  ? stream((payload) => concat(RESET_OFFSETS, blocksOf(compress(payload, { params: PARAMS }))))
  : null;

/** `compress=zstd-stream` for ETF, which cannot contain padding spaces: its blocks are stored, so nothing is compressed. */
export const ZSTD_STREAM_STORED: Splice | null = compress ? stream(stored) : null;
