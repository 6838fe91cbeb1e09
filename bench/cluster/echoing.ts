import type { MethodDefinition } from '@grpc/grpc-js';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { LinksOptions } from '../../transports/cluster/links.ts';

export const CONTENDERS = ['http2', 'grpc unary', 'grpc stream', 'link 1', 'link 2'] as const;
export type Contender = (typeof CONTENDERS)[number];

/** Bytes of a request and of its answer: about those of a command that writes a message. */
export const REQUEST_BYTES = 300;
const ANSWER_BYTES = 100;

export const answersTo = (requests: number): Buffer => Buffer.alloc(requests * ANSWER_BYTES);

/** How many answers these bytes are, with a fraction for the beginning of another. */
export const answersIn = (bytes: Buffer): number => bytes.length / ANSWER_BYTES;

const asIs = (bytes: Buffer): Buffer => bytes;
const method = (name: string, streams: boolean): MethodDefinition<Buffer, Buffer> => ({
  path: `/guildhall.bench.Echo/${name}`,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
export const ECHO_SERVICE = { Ask: method('Ask', false), Exchange: method('Exchange', true) } as const;

export const linkOptions = (id: string, newest: number, clock: Clock): LinksOptions => ({
  self: { id, instance: `${id}-1`, version: '0' },
  clusterId: 'bench',
  host: '127.0.0.1',
  port: 0,
  tls: null,
  bytesMax: 64 << 20,
  versions: { newest, oldest: 1 },
  clock,
  logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  onFault: (where, fault) => process.stderr.write(`${where}: ${String(fault)}\n`),
});
