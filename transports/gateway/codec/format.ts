import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { encodeEtf, encodeEtfDispatch } from './etf.encode.ts';

/**
 * A payload encoding (`encoding=json|etf`). A dispatch is a prefix shared by all recipients, followed by a tail of constant
 * width with the recipient's sequence number, so that the number can be written into the encoded frame in place.
 */
export interface Format {
  readonly name: 'json' | 'etf';
  /** The bytes after the prefix, with room for any number up to 2^31 - 1. */
  readonly tail: Uint8Array;
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
function stampDigits(frame: Uint8Array, tailAt: number, seq: number): void {
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

export const JSON_FORMAT: Format = {
  name: 'json',
  tail: Buffer.from(`${' '.repeat(SEQ_DIGITS)}}`),
  prefix: (body) => Buffer.from(`{"t":"${body.t}","op":0,"d":${body.json},"s":`),
  stamp: stampDigits,
  control: (op, d) => Buffer.from(JSON.stringify({ op, d, s: null, t: null })),
};

export const ETF_FORMAT: Format = {
  name: 'etf',
  tail: new Uint8Array(4),
  prefix: (body) => encodeEtfDispatch(body.t, body.d),
  stamp: stampInt32,
  control: (op, d) => encodeEtf({ op, d, s: null, t: null }),
};
