// Goal: whatever comes over a link is read as what a shard has sent, or refused in one way, at once and without harm.
import { LinkFault, NotServed } from '../../protocol/faults.ts';
import { createCodec } from '../../transports/cluster/codec.ts';
import {
  packHandshake,
  packHandshakeAnswer,
  unpackHandshake,
  unpackHandshakeAnswer,
} from '../../transports/cluster/handshake.ts';
import { DecodeFault, payloadOf } from '../../transports/cluster/packets.ts';
import { over } from './parsers.ts';
import type { Random } from './random.ts';

const codec = createCodec();
const token = Buffer.alloc(16, 7);
const greeting = {
  clusterId: 'cluster',
  versions: { newest: 2, oldest: 1 },
  shardId: 'shard-0',
  instance: 'run',
  program: '1.2.3',
};
const args = [
  { type: 'createMessage', draft: { content: 'hello', embeds: [{ fields: [] }], nonce: undefined } },
  new Map<unknown, unknown>([
    ['a', 1n],
    ['b', new Set([new Date(0), 2n ** 70n, -1.5])],
  ]),
  Buffer.from('bytes'),
];
const frames = [
  {
    kind: 'dispatch',
    t: 'T',
    json: Buffer.from('{"a":1}'),
    ownerId: '1',
    n: 2 ** 40,
    epoch: 256,
    handles: Uint32Array.of(1, 2),
  },
  { kind: 'following', handle: 3, ownerId: '1', epoch: 4, n: 5 },
  { kind: 'tell', method: 'm', key: 'k', args },
] as const;

const PACKETS: readonly Buffer[] = [
  codec.packRequest({ token, method: 'm', key: 'k', deadlineMs: 1, commandKey: null, trace: 't', args }),
  codec.packAnswer(args),
  codec.packFault(new NotServed('x')),
  codec.packFault(new LinkFault('lost', 'x')),
  codec.packBatch(
    1,
    frames.map((frame) => codec.encodeFrame(frame)),
  ),
  packHandshake(codec, greeting),
  packHandshakeAnswer(codec, { ok: true, token, greeting }),
  packHandshakeAnswer(codec, { ok: false, why: 'version', message: 'x' }),
];

const READERS: readonly ((payload: Buffer) => unknown)[] = [
  codec.unpackRequest,
  codec.unpackAnswer,
  codec.unpackBatch,
  (payload) => unpackHandshake(codec, payload),
  (payload) => unpackHandshakeAnswer(codec, payload),
];

interface Input {
  readonly bytes: Buffer;
  readonly reader: number;
}

function input(random: Random): Input {
  const bytes = random.next() < 0.2 ? random.bytes(200) : random.mangled(random.pick(PACKETS));
  return { bytes, reader: random.below(READERS.length) };
}

/** A packet as it comes over the wire. */
export const fuzzLinks = over<Input>(
  input,
  ({ bytes, reader }, watch) => {
    try {
      READERS[reader]?.(payloadOf(bytes));
      watch.count('read');
    } catch (fault) {
      // An answer may be a fault of the other side, or of a name that is kept.
      const isAnswer = fault instanceof LinkFault || fault instanceof NotServed;
      if (!isAnswer && !(fault instanceof DecodeFault)) throw fault;
      watch.count(isAnswer ? 'fault' : 'refused');
    }
  },
  ({ bytes, reader }) => `reader ${reader} and ${bytes.toString('hex')}`,
);
