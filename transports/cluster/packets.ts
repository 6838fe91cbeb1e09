import type { MethodDefinition } from '@grpc/grpc-js';

/** Largest packet of a link, in bytes: a request, its reply, or a batch. */
export const PACKET_BYTES_MAX = 32 << 20;

/** Largest frame of a batch, and largest answer, in bytes. The rest of the packet is for lengths and names. */
export const CONTENT_BYTES_MAX = PACKET_BYTES_MAX - (1 << 16);

/** Most bytes of the head of a packet. */
export const HEAD_BYTES_MAX = 6;

/** Bytes received over a link are not valid. */
export class DecodeFault extends Error {
  override readonly name = 'DecodeFault';
}

/**
 * Field 1 of the message `Packet`, whose wire type is "length-delimited".
 *
 * @source https://protobuf.dev/programming-guides/encoding/; the field is in protocol/cluster.proto
 */
const PAYLOAD_TAG = 0x0a;

/**
 * Writes the head of a packet in front of its payload, which extends from `start` to the end of `bytes`. There must be room
 * for `HEAD_BYTES_MAX` bytes before it.
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

/** The payload of a received packet: a view of its bytes. @throws DecodeFault */
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
    throw new DecodeFault('Malformed packet: wrong tag or length.');
  return packet.subarray(at);
}

type Method = MethodDefinition<Buffer, Buffer>;

/** No serialization: the codec produces finished packets. */
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

/** The service `Link` of `protocol/cluster.proto`, written by hand; a test checks that they agree. */
export const LINK_SERVICE = {
  Hello: method('Hello', false),
  Ask: method('Ask', false),
  Tell: method('Tell', true),
} as const;
