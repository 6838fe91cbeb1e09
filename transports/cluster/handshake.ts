import type { ShardInfo } from '../../actors/placement/ports.ts';
import type { Codec } from './codec.ts';
import { DecodeFault } from './packets.ts';

/** Link versions that a shard supports: the newest, and the oldest. */
export interface LinkVersions {
  readonly newest: number;
  readonly oldest: number;
}

/**
 * Link versions of this program. Within a version, methods, arguments and kinds of dispatches may be added: a shard answers
 * an unknown method with a fault and ignores unknown object keys and further parts of a frame. Otherwise the layout of packets and the
 * encoding of values may not change within a version; a new version is needed, and the program must support the previous one too.
 *
 * Version 2 carries requests and replies on the stream of frames; in version 1 each request is a unary call.
 */
export const LINK_VERSIONS: LinkVersions = { newest: 2, oldest: 1 };

/** A shard's description of itself in the handshake. */
export interface Greeting {
  readonly clusterId: string;
  readonly versions: LinkVersions;
  readonly shardId: string;
  readonly instance: string;
  /** The program's version, for logs. */
  readonly program: string;
}

const REFUSALS = ['cluster', 'version', 'certificate', 'instance', 'notReady', 'full'] as const;
/**
 * Why a handshake is refused. `cluster`, `version` and `certificate` persist until an operator acts; the others are
 * temporary: another run of the shard has this address, the shard is not ready to answer, or it has too many links.
 */
export type HandshakeRefusal = (typeof REFUSALS)[number];

export type HandshakeAnswer =
  | { readonly ok: true; readonly token: Buffer; readonly greeting: Greeting }
  | { readonly ok: false; readonly why: HandshakeRefusal; readonly message: string };

/** Why the other shard cannot be linked, or null if it can. */
export function handshakeRefusal(
  own: Pick<Greeting, 'clusterId' | 'versions'>,
  other: Greeting,
): { readonly why: HandshakeRefusal; readonly message: string } | null {
  if (own.clusterId !== other.clusterId)
    return {
      why: 'cluster',
      message: `The other shard belongs to the cluster "${other.clusterId}", not "${own.clusterId}".`,
    };
  const { newest, oldest } = other.versions;
  if (newest < own.versions.oldest || oldest > own.versions.newest)
    return {
      why: 'version',
      message: `The other shard supports link versions ${oldest} to ${newest}, this one ${own.versions.oldest} to ${own.versions.newest}.`,
    };
  return null;
}

export const greetingOf = (
  { id, instance, version }: Pick<ShardInfo, 'id' | 'instance' | 'version'>,
  clusterId: string,
  versions: LinkVersions,
): Greeting => ({ clusterId, versions, shardId: id, instance, program: version });

const parts = ({ clusterId, versions, shardId, instance, program }: Greeting): unknown[] => [
  clusterId,
  versions.newest,
  versions.oldest,
  shardId,
  instance,
  program,
];

const NAME_LENGTH_MAX = 256;

function greetingFrom(value: unknown): Greeting {
  const [clusterId, newest, oldest, shardId, instance, program] = Array.isArray(value) ? value : [];
  const isGreeting =
    [clusterId, shardId, instance, program].every(
      (each) => typeof each === 'string' && each.length <= NAME_LENGTH_MAX,
    ) && [newest, oldest].every((each) => Number.isSafeInteger(each) && each >= 0);
  if (!isGreeting) throw new DecodeFault('Malformed handshake.');
  return { clusterId, versions: { newest, oldest }, shardId, instance, program };
}

export const packHandshake = (codec: Codec, greeting: Greeting): Buffer => codec.pack(parts(greeting));

/** @throws DecodeFault */
export const unpackHandshake = (codec: Codec, payload: Buffer): Greeting =>
  greetingFrom(codec.unpack(payload));

export const packHandshakeAnswer = (codec: Codec, answer: HandshakeAnswer): Buffer =>
  codec.pack(answer.ok ? [true, answer.token, parts(answer.greeting)] : [false, answer.why, answer.message]);

/** @throws DecodeFault */
export function unpackHandshakeAnswer(codec: Codec, payload: Buffer): HandshakeAnswer {
  const value = codec.unpack(payload);
  const [ok, first, second] = Array.isArray(value) ? value : [];
  if (ok === true && Buffer.isBuffer(first)) return { ok, token: first, greeting: greetingFrom(second) };
  const why = REFUSALS.find((each) => each === first);
  if (ok !== false || why === undefined || typeof second !== 'string')
    throw new DecodeFault('Malformed handshake answer.');
  return { ok, why, message: second.slice(0, NAME_LENGTH_MAX) };
}
