import { Packr } from 'msgpackr';
import type { LinkExtension } from '../../actors/cluster/ports.ts';
import type { LinkFrame } from '../../actors/placement/ports.ts';
import { LinkFault, type LinkFaultKind, NotServed } from '../../protocol/faults.ts';
import { CONTENT_BYTES_MAX, DecodeFault, HEAD_BYTES_MAX, headed } from './packets.ts';
import { checkPayload } from './payloadcheck.ts';
import { bytesOf, countOf, listOf, littleEndian, numbersOf, textOf } from './reading.ts';
import { SECRETS } from './secrets.ts';
import { ValueCodec } from './valuecodec.ts';

/** A request to another shard. */
export interface LinkQuestion {
  readonly method: string;
  readonly key: string;
  readonly deadlineMs: number;
  readonly commandKey: string | null;
  readonly trace: string;
  readonly args: readonly unknown[];
}

/** A request as a unary call of link version 1. `token` identifies the sender. */
export interface LinkRequest extends LinkQuestion {
  readonly token: Buffer;
}

/**
 * A request in a batch. `streamId` names the stream on which it was asked: a batch that is sent again on a later stream is
 * not answered, because its sender has rejected the request.
 */
export interface QuestionFrame extends LinkQuestion {
  readonly kind: 'question';
  readonly streamId: number;
  readonly id: number;
}

/** The encoded answer to a question. */
export interface EncodedReply {
  readonly id: number;
  readonly answer: Buffer;
}

/** An encoded frame that waits to be sent. Frames are encoded at once, because their arguments may change later. */
export interface EncodedFrame {
  /** The frame's elements in a batch. */
  readonly parts: readonly unknown[];
  /** Upper bound of its encoded size. */
  readonly bytes: number;
}

/** Encodes values and frames as packets, and decodes them. Decoding validates its input and throws only DecodeFault. */
export interface Codec {
  /** @throws TypeError for a value that cannot be encoded; RangeError above `PACKET_BYTES_MAX`. */
  pack(value: unknown): Buffer;
  /** @throws DecodeFault */
  unpack(payload: Buffer): unknown;
  packRequest(question: LinkRequest): Buffer;
  /** @throws DecodeFault */
  unpackRequest(payload: Buffer): LinkRequest;
  packAnswer(value: unknown): Buffer;
  packFault(fault: unknown): Buffer;
  /** The answer of a reply. @throws TypeError for a value that cannot be encoded; RangeError when it is too large. */
  encodeAnswer(value: unknown): Buffer;
  encodeFault(fault: unknown): Buffer;
  /** Returns the value of an answer. @throws the fault that the other shard reported, or DecodeFault */
  unpackAnswer(payload: Buffer): unknown;
  /** @throws TypeError for a value that cannot be encoded. */
  encodeFrame(frame: LinkFrame): EncodedFrame;
  /** @throws TypeError for a value that cannot be encoded; RangeError when it is too large. */
  encodeQuestion(streamId: number, id: number, question: LinkQuestion): EncodedFrame;
  packBatch(sequence: number, parcels: readonly EncodedFrame[]): Buffer;
  /** @throws DecodeFault */
  unpackBatch(payload: Buffer): {
    readonly sequence: number;
    readonly frames: readonly (LinkFrame | QuestionFrame)[];
  };
  /** Acknowledges all batches up to `taken`, and brings replies. */
  packReplies(taken: number, replies: readonly EncodedReply[]): Buffer;
  /** Also understands the acknowledgements of link version 1. @throws DecodeFault */
  unpackReplies(payload: Buffer): { readonly taken: number; readonly replies: readonly EncodedReply[] };
}

/** `variableMapSize`: maps of any size. Records are off, because msgpackr compiles code from a peer's record definitions. */
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  useBigIntExtension: true,
  useToJSON: false,
});

/** Size of msgpackr's own buffer; a buffer that grew beyond it is replaced. */
const SCRATCH_BYTES = 1 << 14;

/** Encodes a value with room for the head of a packet. */
function packed(value: unknown): Buffer {
  const bytes: Buffer = packr.pack(value, RESET);
  const packet = Buffer.allocUnsafe(HEAD_BYTES_MAX + bytes.length);
  bytes.copy(packet, HEAD_BYTES_MAX);
  if (bytes.length > SCRATCH_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  return headed(packet, HEAD_BYTES_MAX);
}

/**
 * Options of `pack`: reset the buffer; reserve room in front.
 *
 * @source https://github.com/kriszyp/msgpackr/blob/master/pack.js
 */
const RESET = 1024;
const RESERVE = 2048;
/** msgpackr starts a new buffer when fewer bytes than this are left of one. */
const SLACK_BYTES = 2200;

function parsed(payload: Buffer): unknown {
  checkPayload(payload);
  try {
    return packr.unpack(payload);
  } catch (error) {
    throw new DecodeFault('Malformed MessagePack value.', { cause: error });
  }
}

export function createCodec(extensions: readonly LinkExtension[] = [SECRETS]): Codec {
  const values = new ValueCodec(extensions);
  const unpack = (payload: Buffer) => values.revive(parsed(payload));
  return {
    pack: (value) => packed(values.flatten(value, 0)),
    unpack,
    packRequest: (question) => packed([question.token, ...questionParts(question, values)]),
    unpackRequest(payload) {
      const [token, ...parts] = listOf(parsed(payload));
      return { token: bytesOf(token), ...questionOf(parts, values) };
    },
    packAnswer: (value) => packed([0, values.flatten(value, 1)]),
    packFault: (fault) => packed(faultParts(fault)),
    encodeAnswer: (value) => checkedSize(packr.pack([0, values.flatten(value, 1)])),
    encodeFault: (fault) => packr.pack(faultParts(fault)),
    unpackAnswer(payload) {
      const [outcome, ...rest] = listOf(parsed(payload));
      if (outcome === 0) return values.revive(rest[0]);
      throw faultOf(rest);
    },
    encodeFrame: (frame) => encodedFrameOf(frame, (args) => packr.pack(values.flatten(args, 0))),
    encodeQuestion(streamId, id, question) {
      const bytes = checkedSize(packr.pack(questionParts(question, values)));
      return { parts: [KINDS.question, streamId, id, bytes], bytes: FRAME_BYTES + bytes.length };
    },
    packBatch,
    unpackBatch(payload) {
      const [sequence, ...all] = listOf(parsed(payload));
      const frames = all.map((each) => {
        const parts = listOf(each);
        if (parts[0] !== KINDS.question) return frameOf(parts, (bytes) => listOf(unpack(bytes)));
        const [, streamId, id, bytes] = parts;
        const question = questionOf(listOf(parsed(bytesOf(bytes))), values);
        return { kind: 'question' as const, streamId: countOf(streamId), id: countOf(id), ...question };
      });
      return { sequence: countOf(sequence), frames };
    },
    packReplies: (taken, replies) =>
      packedWithin(
        [taken, ...replies.flatMap(({ id, answer }) => [id, answer])],
        replies.reduce((sum, { answer }) => sum + FRAME_BYTES + answer.length, FRAME_BYTES),
      ),
    unpackReplies,
  };
}

const questionParts = (
  { method, key, deadlineMs, commandKey, trace, args }: LinkQuestion,
  values: ValueCodec,
): unknown[] => [method, key, deadlineMs, commandKey, trace, values.flatten(args, 1)];

function questionOf(parts: readonly unknown[], values: ValueCodec): LinkQuestion {
  const [method, key, deadlineMs, commandKey, trace, args] = parts;
  return {
    method: textOf(method),
    key: textOf(key),
    deadlineMs: countOf(deadlineMs),
    commandKey: commandKey === null ? null : textOf(commandKey),
    trace: textOf(trace),
    args: values.revive(listOf(args)) as unknown[],
  };
}

/** @throws DecodeFault */
function unpackReplies(payload: Buffer): { readonly taken: number; readonly replies: EncodedReply[] } {
  const value = parsed(payload);
  if (typeof value === 'number') return { taken: countOf(value), replies: [] };
  const [taken, ...parts] = listOf(value);
  const replies: EncodedReply[] = [];
  for (let at = 0; at < parts.length; at += 2)
    replies.push({ id: countOf(parts[at]), answer: bytesOf(parts[at + 1]) });
  return { taken: countOf(taken), replies };
}

/** @throws RangeError when a packet has no room for these bytes. */
function checkedSize(bytes: Buffer): Buffer {
  if (bytes.length > CONTENT_BYTES_MAX)
    throw new RangeError(`A value of ${bytes.length} bytes is too large for a link.`);
  return bytes;
}

function packBatch(sequence: number, parcels: readonly EncodedFrame[]): Buffer {
  let bytes = FRAME_BYTES;
  for (const parcel of parcels) bytes += parcel.bytes;
  return packedWithin([sequence, ...parcels.map(({ parts }) => parts)], bytes);
}

/**
 * Encodes a value of at most `bytes` bytes. What fits msgpackr's own buffer is copied out of it; anything larger is encoded
 * into a buffer of its own, so that it is copied once.
 */
function packedWithin(value: unknown, bytes: number): Buffer {
  if (bytes < SCRATCH_BYTES - SLACK_BYTES) return packed(value);
  packr.useBuffer(Buffer.allocUnsafeSlow(HEAD_BYTES_MAX + SLACK_BYTES + bytes));
  const batch: Buffer = packr.pack(value, RESERVE + HEAD_BYTES_MAX);
  packr.useBuffer(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  return headed(batch, HEAD_BYTES_MAX);
}

/** Frames of link version 1, and the question of version 2. */
const KINDS = { dispatch: 0, following: 1, tell: 2, question: 3 } as const;
/** Upper bound of the numbers, lengths and tokens of a frame. */
const FRAME_BYTES = 64;

function encodedFrameOf(frame: LinkFrame, pack: (args: readonly unknown[]) => Buffer): EncodedFrame {
  if (frame.kind === 'dispatch') {
    const { t, json, ownerId, n, epoch, handles } = frame;
    const parts: unknown[] = [KINDS.dispatch, t, json, ownerId, n, littleEndian(handles)];
    if (epoch) parts.push(epoch);
    const bytes = FRAME_BYTES + 3 * (t.length + ownerId.length) + json.length + handles.byteLength;
    return { parts, bytes };
  }
  if (frame.kind === 'following') {
    const { handle, ownerId, epoch, n } = frame;
    return {
      parts: [KINDS.following, handle, ownerId, epoch, n],
      bytes: FRAME_BYTES + 3 * ownerId.length,
    };
  }
  const { method, key, hops = 0 } = frame;
  const args = pack(frame.args);
  const bytes = FRAME_BYTES + 3 * (method.length + key.length) + args.length;
  return { parts: [KINDS.tell, method, key, args, hops], bytes };
}

function frameOf(parts: readonly unknown[], unpackArgs: (bytes: Buffer) => unknown[]): LinkFrame {
  if (parts[0] === KINDS.dispatch) {
    const [, t, json, ownerId, n, handles, epoch] = parts;
    return {
      kind: 'dispatch',
      t: textOf(t),
      json: bytesOf(json),
      ownerId: textOf(ownerId),
      n: countOf(n),
      ...(epoch !== undefined && { epoch: countOf(epoch) }),
      handles: numbersOf(bytesOf(handles)),
    };
  }
  if (parts[0] === KINDS.following) {
    const [, handle, ownerId, epoch, n] = parts;
    return {
      kind: 'following',
      handle: countOf(handle),
      ownerId: textOf(ownerId),
      epoch: countOf(epoch),
      n: countOf(n),
    };
  }
  if (parts[0] !== KINDS.tell) throw new DecodeFault('Unknown kind of frame.');
  const [, method, key, args, hops] = parts;
  return {
    kind: 'tell',
    method: textOf(method),
    key: textOf(key),
    args: unpackArgs(bytesOf(args)),
    hops: countOf(hops),
  };
}

const LINK_FAULTS: Readonly<Record<LinkFaultKind, true>> = {
  unreachable: true,
  notOwner: true,
  overloaded: true,
  lost: true,
  timeout: true,
  failed: true,
};

/** Faults of another shard's storage that keep their meaning for the sender of a request; they are sent by name. */
const KEPT_NAMES = new Set(['StorageFault', 'StaleEpoch']);
const MESSAGE_LENGTH_MAX = 1000;

const NOT_SERVED = 'NotServed';

function faultParts(fault: unknown): unknown[] {
  const message = (fault instanceof Error ? fault.message : String(fault)).slice(0, MESSAGE_LENGTH_MAX);
  if (fault instanceof NotServed)
    return [1, NOT_SERVED, message, fault.retryAfterSec, fault.cause instanceof LinkFault];
  if (fault instanceof LinkFault) return [1, fault.kind, message];
  if (fault instanceof Error && KEPT_NAMES.has(fault.name)) return [1, fault.name, message];
  return [1, 'failed', message];
}

function faultOf([kind, text, retryAfterSec, isMidway]: readonly unknown[]): Error {
  const name = textOf(kind);
  const message = textOf(text).slice(0, MESSAGE_LENGTH_MAX);
  if (name === NOT_SERVED) {
    const cause = isMidway === true ? new LinkFault('failed', message) : undefined;
    return new NotServed(message, countOf(retryAfterSec), cause && { cause });
  }
  if (Object.hasOwn(LINK_FAULTS, name)) return new LinkFault(name as LinkFaultKind, message);
  if (KEPT_NAMES.has(name)) return Object.assign(new Error(message), { name });
  return new DecodeFault('Unknown kind of fault.');
}
