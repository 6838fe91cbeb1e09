import { BINARY_VOICE_OPS, VOICE_OP } from './voice.ts';

/** Opcodes that a voice client may send as text. */
const CLIENT_TEXT_OPS = [
  VOICE_OP.IDENTIFY,
  VOICE_OP.SELECT_PROTOCOL,
  VOICE_OP.HEARTBEAT,
  VOICE_OP.SPEAKING,
  VOICE_OP.RESUME,
  VOICE_OP.VIDEO,
  VOICE_OP.SESSION_UPDATE,
  VOICE_OP.MEDIA_SINK_WANTS,
  VOICE_OP.VOICE_BACKEND_VERSION,
  VOICE_OP.DAVE_TRANSITION_READY,
  VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME,
  VOICE_OP.NO_ROUTE,
] as const;

/** Opcodes that a voice client may send as binary frames. */
const CLIENT_BINARY_OPS = [VOICE_OP.DAVE_MLS_KEY_PACKAGE, VOICE_OP.DAVE_MLS_COMMIT_WELCOME] as const;

/** Opcodes that the voice gateway sends, as text or as binary frames. */
export const SERVER_VOICE_OPS = [
  VOICE_OP.HELLO,
  VOICE_OP.READY,
  VOICE_OP.SESSION_DESCRIPTION,
  VOICE_OP.HEARTBEAT_ACK,
  VOICE_OP.RESUMED,
  VOICE_OP.VOICE_BACKEND_VERSION,
  VOICE_OP.CLIENTS_CONNECT,
  VOICE_OP.CLIENT_DISCONNECT,
  VOICE_OP.SPEAKING,
  VOICE_OP.VIDEO,
  VOICE_OP.SESSION_UPDATE,
  VOICE_OP.MEDIA_SINK_WANTS,
  VOICE_OP.DAVE_PREPARE_TRANSITION,
  VOICE_OP.DAVE_EXECUTE_TRANSITION,
  VOICE_OP.DAVE_PREPARE_EPOCH,
  VOICE_OP.DAVE_MLS_EXTERNAL_SENDER,
  VOICE_OP.DAVE_MLS_PROPOSALS,
  VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION,
  VOICE_OP.DAVE_MLS_WELCOME,
] as const;

export type ServerVoiceOp = (typeof SERVER_VOICE_OPS)[number];
export type ClientTextOp = (typeof CLIENT_TEXT_OPS)[number];
export type ClientBinaryOp = (typeof CLIENT_BINARY_OPS)[number];

const TEXT_OPS: ReadonlySet<number> = new Set(CLIENT_TEXT_OPS);
const CLIENT_BINARY: ReadonlySet<number> = new Set(CLIENT_BINARY_OPS);
export const isClientTextOp = (op: unknown): op is ClientTextOp => typeof op === 'number' && TEXT_OPS.has(op);
export const isClientBinaryOp = (op: unknown): op is ClientBinaryOp =>
  typeof op === 'number' && CLIENT_BINARY.has(op);

/** A binary frame from the server: big-endian u16 sequence number, opcode, payload. */
interface ServerBinaryFrame {
  readonly seq: number;
  readonly op: number;
  readonly payload: Uint8Array;
}

/** A binary frame from a client: opcode, payload. */
interface ClientBinaryFrame {
  readonly op: number;
  readonly payload: Uint8Array;
}

const SERVER_HEADER_BYTES = 3;
const CLIENT_HEADER_BYTES = 1;

/** Encodes a frame with the low 16 bits of `seq`; sequence numbers wrap at 2^16. */
export function encodeServerFrame({ seq, op, payload }: ServerBinaryFrame): Uint8Array {
  const frame = new Uint8Array(SERVER_HEADER_BYTES + payload.length);
  frame[0] = seq >>> 8;
  frame[1] = seq;
  frame[2] = op;
  frame.set(payload, SERVER_HEADER_BYTES);
  return frame;
}

/**
 * Null when the frame is shorter than its header, or its opcode is not a binary one. The payload is a view of the
 * frame.
 */
export function decodeServerFrame(frame: Uint8Array): ServerBinaryFrame | null {
  const [high, low, op] = frame;
  if (high === undefined || low === undefined || op === undefined || !BINARY_VOICE_OPS.has(op)) return null;
  return { seq: (high << 8) | low, op, payload: frame.subarray(SERVER_HEADER_BYTES) };
}

export function encodeClientFrame({ op, payload }: ClientBinaryFrame): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(CLIENT_HEADER_BYTES + payload.length);
  frame[0] = op;
  frame.set(payload, CLIENT_HEADER_BYTES);
  return frame;
}

/** Null when the frame is empty, or its opcode is not a binary one. The payload is a view of the frame. */
export function decodeClientFrame(frame: Uint8Array): ClientBinaryFrame | null {
  const [op] = frame;
  if (op === undefined || !BINARY_VOICE_OPS.has(op)) return null;
  return { op, payload: frame.subarray(CLIENT_HEADER_BYTES) };
}
