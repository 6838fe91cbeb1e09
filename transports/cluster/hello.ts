import type { ShardInfo } from '../../actors/placement/ports.ts';
import type { Codec } from './codec.ts';
import { DecodeFault } from './packets.ts';

/** Versions of the link that a shard speaks: the newest, and the oldest that it still understands. */
export interface LinkVersions {
  readonly newest: number;
  readonly oldest: number;
}

/**
 * Of this program. Within a version methods, their arguments and kinds of dispatches may be added: who does not know a
 * method answers with a fault, and what is not known in an object is passed over. The layout of packets, and what a value
 * looks like in one, may not change: for that the version rises, and the program must understand the one before.
 */
export const LINK_VERSIONS: LinkVersions = { newest: 1, oldest: 1 };

/** Who says hello, or answers it. */
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
 * Why a shard is refused. `cluster`, `version` and `certificate` stay as they are until someone does something; the
 * others pass: the shard at this address is another one by now, is not ready to answer, or knows too many others.
 */
export type HelloRefusal = (typeof REFUSALS)[number];

export type HelloAnswer =
  | { readonly ok: true; readonly token: Buffer; readonly greeting: Greeting }
  | { readonly ok: false; readonly why: HelloRefusal; readonly message: string };

/** What is wrong with the other side, or null. */
export function mismatch(
  own: Pick<Greeting, 'clusterId' | 'versions'>,
  other: Greeting,
): { readonly why: HelloRefusal; readonly message: string } | null {
  if (own.clusterId !== other.clusterId)
    return { why: 'cluster', message: `It is of the cluster "${other.clusterId}".` };
  const { newest, oldest } = other.versions;
  if (newest < own.versions.oldest || oldest > own.versions.newest)
    return { why: 'version', message: `It speaks versions ${oldest} to ${newest} of the link.` };
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
  if (!isGreeting) throw new DecodeFault('A greeting was expected.');
  return { clusterId, versions: { newest, oldest }, shardId, instance, program };
}

export const packHello = (codec: Codec, greeting: Greeting): Buffer => codec.pack(parts(greeting));

/** @throws DecodeFault */
export const unpackHello = (codec: Codec, payload: Buffer): Greeting => greetingFrom(codec.unpack(payload));

export const packHelloAnswer = (codec: Codec, answer: HelloAnswer): Buffer =>
  codec.pack(answer.ok ? [true, answer.token, parts(answer.greeting)] : [false, answer.why, answer.message]);

/** @throws DecodeFault */
export function unpackHelloAnswer(codec: Codec, payload: Buffer): HelloAnswer {
  const value = codec.unpack(payload);
  const [ok, first, second] = Array.isArray(value) ? value : [];
  if (ok === true && Buffer.isBuffer(first)) return { ok, token: first, greeting: greetingFrom(second) };
  const why = REFUSALS.find((each) => each === first);
  if (ok !== false || why === undefined || typeof second !== 'string')
    throw new DecodeFault('An answer to a greeting was expected.');
  return { ok, why, message: second.slice(0, NAME_LENGTH_MAX) };
}
