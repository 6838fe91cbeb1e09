import { Packr } from 'msgpackr';
import type { LinkExtension, LinkFrame } from '../../actors/cluster/ports.ts';
import { LinkFault, type LinkFaultKind, NotServed } from '../../protocol/faults.ts';
import { DecodeFault, HEAD_BYTES_MAX, headed } from './service.ts';
import { checkShape, DEPTH_MAX } from './shape.ts';

/** A question as it travels. `token` says whose it is. */
export interface Question {
  readonly token: Buffer;
  readonly method: string;
  readonly key: string;
  readonly deadlineMs: number;
  readonly commandKey: string | null;
  readonly trace: string;
  readonly args: readonly unknown[];
}

/** A frame that waits to be sent. What is told is packed at once, since its arguments may change later. */
export interface Parcel {
  /** As it stands in a batch. */
  readonly parts: readonly unknown[];
  /** At least what it takes there. */
  readonly bytes: number;
}

/** Values and frames as packets, and back. What comes from the network is checked: all that can happen is a DecodeFault. */
export interface Codec {
  /** @throws TypeError for what does not travel; RangeError beyond `PACKET_BYTES_MAX`. */
  pack(value: unknown): Buffer;
  /** @throws DecodeFault */
  unpack(payload: Buffer): unknown;
  packQuestion(question: Question): Buffer;
  /** @throws DecodeFault */
  unpackQuestion(payload: Buffer): Question;
  packAnswer(value: unknown): Buffer;
  packFault(fault: unknown): Buffer;
  /** The answer. @throws what the other side has thrown, or DecodeFault */
  unpackAnswer(payload: Buffer): unknown;
  /** @throws TypeError for what does not travel. */
  parcel(frame: LinkFrame): Parcel;
  packBatch(sequence: number, parcels: readonly Parcel[]): Buffer;
  /** @throws DecodeFault */
  unpackBatch(payload: Buffer): { readonly sequence: number; readonly frames: LinkFrame[] };
}

/** `variableMapSize`: maps of any size. Records are off: a peer's bytes must not make code here. */
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  useBigIntExtension: true,
  useToJSON: false,
});

/** Of the library's own buffer; one that grew beyond is let go. */
const SCRATCH_BYTES = 1 << 14;

/** Lays a value out with room for the head of a packet. */
function packed(value: unknown): Buffer {
  const bytes: Buffer = packr.pack(value, RESET);
  const packet = Buffer.allocUnsafe(HEAD_BYTES_MAX + bytes.length);
  bytes.copy(packet, HEAD_BYTES_MAX);
  if (bytes.length > SCRATCH_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  return headed(packet, HEAD_BYTES_MAX);
}

/** Options of `pack`: use the buffer again; leave room in front. @source msgpackr's pack.js */
const RESET = 1024;
const RESERVE = 2048;
/** The library begins a new buffer when less is left of one. */
const SLACK_BYTES = 2200;

function parsed(payload: Buffer): unknown {
  checkShape(payload);
  try {
    return packr.unpack(payload);
  } catch (error) {
    throw new DecodeFault('A value cannot be read.', { cause: error });
  }
}

export function createCodec(extensions: readonly LinkExtension[] = []): Codec {
  const values = valuesWith(extensions);
  const unpack = (payload: Buffer) => values.revive(parsed(payload));
  return {
    pack: (value) => packed(values.flat(value, 0)),
    unpack,
    packQuestion({ token, method, key, deadlineMs, commandKey, trace, args }) {
      return packed([token, method, key, deadlineMs, commandKey, trace, values.flat(args, 1)]);
    },
    unpackQuestion(payload) {
      const [token, method, key, deadlineMs, commandKey, trace, args] = listOf(parsed(payload));
      return {
        token: bytesOf(token),
        method: textOf(method),
        key: textOf(key),
        deadlineMs: countOf(deadlineMs),
        commandKey: commandKey === null ? null : textOf(commandKey),
        trace: textOf(trace),
        args: values.revive(listOf(args)) as unknown[],
      };
    },
    packAnswer: (value) => packed([0, values.flat(value, 1)]),
    packFault: (fault) => packed(faultParts(fault)),
    unpackAnswer(payload) {
      const [outcome, ...rest] = listOf(parsed(payload));
      if (outcome === 0) return values.revive(rest[0]);
      throw faultOf(rest);
    },
    parcel: (frame) => parcelOf(frame, (args) => packr.pack(values.flat(args, 0))),
    packBatch,
    unpackBatch(payload) {
      const [sequence, ...parts] = listOf(parsed(payload));
      const frames = parts.map((each) => frameOf(listOf(each), (bytes) => listOf(unpack(bytes))));
      return { sequence: countOf(sequence), frames };
    },
  };
}

/** One copy of what the frames hold, into a buffer of their size. */
function packBatch(sequence: number, parcels: readonly Parcel[]): Buffer {
  let bytes = HEAD_BYTES_MAX + SLACK_BYTES;
  for (const parcel of parcels) bytes += parcel.bytes;
  packr.useBuffer(Buffer.allocUnsafeSlow(bytes));
  const batch: Buffer = packr.pack(
    [sequence, ...parcels.map(({ parts }) => parts)],
    RESERVE + HEAD_BYTES_MAX,
  );
  packr.useBuffer(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  return headed(batch, HEAD_BYTES_MAX);
}

const KINDS = { dispatch: 0, following: 1, tell: 2 } as const;
/** What the numbers, lengths and tokens of a frame take at most. */
const FRAME_BYTES = 64;

function parcelOf(frame: LinkFrame, pack: (args: readonly unknown[]) => Buffer): Parcel {
  if (frame.kind === 'dispatch') {
    const { t, json, ownerId, n, handles } = frame;
    const parts = [KINDS.dispatch, t, json, ownerId, n, littleEndian(handles)];
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
    const [, t, json, ownerId, n, handles] = parts;
    return {
      kind: 'dispatch',
      t: textOf(t),
      json: bytesOf(json),
      ownerId: textOf(ownerId),
      n: countOf(n),
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
  if (parts[0] !== KINDS.tell) throw new DecodeFault('A frame of an unknown kind.');
  const [, method, key, args, hops] = parts;
  return {
    kind: 'tell',
    method: textOf(method),
    key: textOf(key),
    args: unpackArgs(bytesOf(args)),
    hops: countOf(hops),
  };
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new DecodeFault('A list was expected.');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new DecodeFault('A text was expected.');
  return value;
}

function bytesOf(value: unknown): Buffer {
  if (!Buffer.isBuffer(value)) throw new DecodeFault('Bytes were expected.');
  return value;
}

function countOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new DecodeFault('A count was expected.');
  return value as number;
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** The numbers as bytes: of this machine's memory where it has the order of the wire. */
function littleEndian(numbers: Uint32Array): Buffer {
  const { buffer, byteOffset, byteLength } = numbers;
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32();
}

/** A copy: the bytes of a packet are not aligned. */
function numbersOf(bytes: Buffer): Uint32Array {
  if (bytes.length % 4 !== 0) throw new DecodeFault('Numbers of 4 bytes were expected.');
  const numbers = new Uint32Array(bytes.length / 4);
  const copy = Buffer.from(numbers.buffer);
  bytes.copy(copy);
  if (!IS_LITTLE_ENDIAN) copy.swap32();
  return numbers;
}

/** The key of an object that stands for something that MessagePack does not have: `[tag, what it is made of]`. */
const MARK = '\u0000';
const TAGS = { entries: 0, map: 1, set: 2, date: 3, numbers: 4 } as const;

/** Values that MessagePack does not have, as values that it has. */
function valuesWith(extensions: readonly LinkExtension[]) {
  const byTag = new Map(extensions.map((extension) => [extension.tag, extension]));
  if (byTag.size < extensions.length) throw new RangeError('Two extensions of a link have one tag.');
  const marked = (tag: number, value: unknown, depth: number) => ({ [MARK]: [tag, flat(value, depth + 2)] });

  function flat(value: unknown, depth: number): unknown {
    if (typeof value === 'function' || typeof value === 'symbol')
      throw new TypeError(`A ${typeof value} does not travel.`);
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    if (depth >= DEPTH_MAX - 2) throw new TypeError('A value is too deep to travel.');
    if (Array.isArray(value)) return value.map((each) => flat(each, depth + 1));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return flatObject(value, depth);
    return flatSpecial(value, depth);
  }

  function flatObject(value: object, depth: number): unknown {
    const flattened: Record<string, unknown> = {};
    for (const [key, each] of Object.entries(value)) {
      // One key is ours, and the other means something to the language.
      if (key === MARK || key === '__proto__') return marked(TAGS.entries, Object.entries(value), depth);
      flattened[key] = flat(each, depth + 1);
    }
    return flattened;
  }

  function flatSpecial(value: object, depth: number): unknown {
    const extension = extensions.find(({ Class }) => value instanceof Class);
    if (extension) return marked(extension.tag, extension.pack(value as never), depth);
    if (value instanceof Map) return marked(TAGS.map, [...value], depth);
    if (value instanceof Set) return marked(TAGS.set, [...value], depth);
    if (value instanceof Date) return marked(TAGS.date, value.getTime(), depth);
    if (value instanceof Uint32Array) return marked(TAGS.numbers, littleEndian(value), depth);
    throw new TypeError(`A ${value.constructor?.name} does not travel.`);
  }

  /** In place: what was parsed is nobody else's. */
  function revive(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) value[index] = revive(value[index]);
      return value;
    }
    const object = value as Record<string, unknown>;
    if (Object.hasOwn(object, MARK)) return unmarked(listOf(object[MARK]));
    for (const key of Object.keys(object)) object[key] = revive(object[key]);
    return object;
  }

  function unmarked([tag, packedValue]: readonly unknown[]): unknown {
    const value = revive(packedValue);
    if (tag === TAGS.date && typeof value === 'number') return new Date(value);
    if (tag === TAGS.numbers) return numbersOf(bytesOf(value));
    if (tag === TAGS.set) return new Set(listOf(value));
    if (tag === TAGS.map) return new Map(listOf(value).map(entryOf));
    if (tag === TAGS.entries)
      return Object.fromEntries(
        listOf(value)
          .map(entryOf)
          .map(([key, each]) => [textOf(key), each]),
      );
    const extension = byTag.get(tag as number);
    if (!extension) throw new DecodeFault('A value of a class that is not known here.');
    try {
      return extension.unpack(value as never);
    } catch (error) {
      throw new DecodeFault('A value of a class cannot be read.', { cause: error });
    }
  }

  return { flat, revive };
}

function entryOf(entry: unknown): [unknown, unknown] {
  const [key, value] = listOf(entry);
  return [key, value];
}

const LINK_FAULTS: Readonly<Record<LinkFaultKind, true>> = {
  unreachable: true,
  notOwner: true,
  overloaded: true,
  lost: true,
  timeout: true,
  failed: true,
};

/** Faults of another shard's storage, which mean to the asker what they mean there. They are told by their names. */
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
  return new DecodeFault('A fault of an unknown kind.');
}
