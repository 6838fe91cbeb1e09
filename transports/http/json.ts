import { type Refusal, refusal } from '../../protocol/refusal.ts';

/** How deep arrays and objects of a request may nest. No schema of the interface goes deeper than twelve. */
export const DEPTH_MAX = 64;
/** Brackets and commas outside of strings: each makes a value, and a value takes many times the bytes of its text. */
export const TOKENS_MAX = 200_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ESCAPES =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;
const utf8 = new TextDecoder('utf-8', { fatal: true });

export type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads a JSON text of a client, bounded in depth and in number of values before anything is built from it.
 * A lone surrogate, which only an escape can bring, becomes U+FFFD: no string in the house is ill-formed.
 */
export function readJson(bytes: Uint8Array): ReadJson {
  if (!withinBounds(bytes)) return { ok: false, refusal: refusal('INVALID_JSON') };
  try {
    const text = utf8.decode(bytes);
    const wellFormed = text.includes('\\u') ? text.replace(ESCAPES, pairedOrReplaced) : text;
    return { ok: true, value: JSON.parse(wellFormed) };
  } catch {
    // Whatever the decoder or the parser minds, the client's text is at fault.
    return { ok: false, refusal: refusal('INVALID_JSON') };
  }
}

/** A surrogate pair is twelve characters of escapes; six that begin with `d8` to `df` are one without its other half. */
function pairedOrReplaced(sequence: string): string {
  return sequence.length === 6 ? '\\ufffd' : sequence;
}

function withinBounds(bytes: Uint8Array): boolean {
  let depth = 0;
  let tokens = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === 0x5b || byte === 0x7b) {
      tokens += 1;
      if (++depth > DEPTH_MAX) return false;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    else if (byte === 0x2c) tokens += 1;
    if (tokens > TOKENS_MAX) return false;
  }
  return true;
}

/** Index of the quote that closes a string begun before `start`; the length of the text when none does. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (at - 1 - slashes >= start && bytes[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return bytes.length;
}
