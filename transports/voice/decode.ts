import { MalformedJson, parseJson } from '../../protocol/json.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import {
  type ClientBinaryOp,
  type ClientTextOp,
  decodeClientFrame,
  isClientBinaryOp,
  isClientTextOp,
} from '../../protocol/voiceframing.ts';

type VoiceClose = (typeof VOICE_CLOSE)[keyof typeof VOICE_CLOSE];

/** A decoded frame. The `d` of a binary frame is its payload, copied. */
type Decoded =
  | { readonly op: ClientTextOp; readonly d: unknown }
  | { readonly op: ClientBinaryOp; readonly d: Uint8Array }
  | { readonly refused: VoiceClose };

/** Bound of a text frame; an SDP fragment is the longest. */
const VOICE_TEXT_BYTES_MAX = 64 << 10;
/**
 * Bound of a binary frame. A Welcome carries the whole ratchet tree, so a commit grows with the call: by 250 bytes a member,
 * 320 if all are new, in the published implementation's encoding. The bound is more than `call_members_max` needs.
 */
export const VOICE_BINARY_BYTES_MAX = 512 << 10;

/** Nesting limit of JSON; no opcode needs as many levels. */
const DEPTH_MAX = 32;
const UNDECODABLE: Decoded = { refused: VOICE_CLOSE.DECODE_ERROR };
const UNKNOWN: Decoded = { refused: VOICE_CLOSE.UNKNOWN_OPCODE };
const OVERSIZED: Decoded = { refused: VOICE_CLOSE.BAD_REQUEST };

export const isOversized = ({ length }: Uint8Array, binary: boolean): boolean =>
  length > (binary ? VOICE_BINARY_BYTES_MAX : VOICE_TEXT_BYTES_MAX);

/** Decodes a frame, or returns the close code for it. JSON in a binary frame fails: its first byte is not an opcode. */
export function decodeFrame(bytes: Uint8Array, binary: boolean): Decoded {
  if (isOversized(bytes, binary)) return OVERSIZED;
  return binary ? decodeBinary(bytes) : decodeText(bytes);
}

function decodeBinary(bytes: Uint8Array): Decoded {
  const frame = decodeClientFrame(bytes);
  if (!frame) return UNDECODABLE;
  const { op, payload } = frame;
  // Copy the payload: the native server reuses its memory once the frame is handled.
  return isClientBinaryOp(op) ? { op, d: payload.slice() } : UNKNOWN;
}

function decodeText(bytes: Uint8Array): Decoded {
  const value = parse(bytes);
  if (typeof value !== 'object' || value === null) return UNDECODABLE;
  const { op, d } = value as { op?: unknown; d?: unknown };
  if (!Number.isInteger(op)) return UNDECODABLE;
  return isClientTextOp(op) ? { op, d: d ?? null } : UNKNOWN;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, DEPTH_MAX);
  } catch (error) {
    if (error instanceof MalformedJson) return null;
    throw error;
  }
}
