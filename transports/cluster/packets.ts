import type { MethodDefinition } from '@grpc/grpc-js';

/** Largest packet of a link, in bytes: a question, its answer, or a batch. */
export const PACKET_BYTES_MAX = 32 << 20;

/** Bytes at the start of a packet that its head may take. */
export const HEAD_BYTES_MAX = 6;

/** What came over a link is not what a shard sends. */
export class DecodeFault extends Error {
  override readonly name = 'DecodeFault';
}

/** Field 1 of the message `Packet`, whose wire type is "length-delimited". @source protocol/cluster.proto */
const PAYLOAD_TAG = 0x0a;

/**
 * Writes the head of a packet in front of its payload, which begins at `start` of `bytes` and goes to their end. There
 * must be room for `HEAD_BYTES_MAX` bytes.
 *
 * @returns The packet: a view of the same bytes.
 */
export function headed(bytes: Buffer, start: number): Buffer {
  let length = bytes.length - start;
  if (length > PACKET_BYTES_MAX) throw new RangeError(`A packet of ${length} bytes is too large for a link.`);
  const head = [PAYLOAD_TAG];
  for (; length > 0x7f; length >>>= 7) head.push((length & 0x7f) | 0x80);
  head.push(length);
  bytes.set(head, start - head.length);
  return bytes.subarray(start - head.length);
}

/** The payload of a packet as it came: a view of its bytes. @throws DecodeFault */
export function payloadOf(packet: Buffer): Buffer {
  if (packet.length === 0) return packet;
  let length = 0;
  let at = 1;
  for (let shift = 0; shift < 35; shift += 7, at += 1) {
    const byte = packet[at] ?? 0;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte <= 0x7f) break;
  }
  at += 1;
  if (packet[0] !== PAYLOAD_TAG || at + length !== packet.length)
    throw new DecodeFault('A packet is not framed as one.');
  return packet.subarray(at);
}

type Method = MethodDefinition<Buffer, Buffer>;

/** Packets are laid out by the codec, so nothing is left to serialize. */
const asIs = (packet: Buffer): Buffer => packet;

const method = (name: string, streams: boolean): Method => ({
  path: `/guildhall.cluster.Link/${name}`,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: asIs,
  requestDeserialize: payloadOf,
  responseSerialize: asIs,
  responseDeserialize: payloadOf,
});

/** The service `Link` of `protocol/cluster.proto`, by hand: a test holds that they agree. */
export const LINK_SERVICE = {
  Hello: method('Hello', false),
  Ask: method('Ask', false),
  Tell: method('Tell', true),
} as const;
