// Goal: what the versions of the link have sent stays readable: shards of two program versions work together in a rolling upgrade.
import { describe, expect, test } from 'vitest';
import type { LinkFrame } from '../../../actors/placement/ports.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { CATALOGUE, type Method } from '../../../protocol/link.ts';
import { createCodec } from '../../../transports/cluster/codec.ts';
import {
  LINK_VERSIONS,
  packHandshake,
  packHandshakeAnswer,
  unpackHandshake,
  unpackHandshakeAnswer,
} from '../../../transports/cluster/handshake.ts';
import { payloadOf } from '../../../transports/cluster/packets.ts';

const codec = createCodec();
const token = Buffer.from('0123456789abcdef');
const greeting = {
  clusterId: 'guildhall',
  versions: { newest: 1, oldest: 1 },
  shardId: 'shard-0',
  instance: '00112233aabbccdd',
  program: '0.1.0',
};
const question = {
  ...{ token, method: 'guild.command', key: '1390000000000000001', deadlineMs: 5000 },
  ...{ commandKey: 'key', trace: 'trace' },
  args: ['createMessage', { content: 'hello', at: new Date(0), bits: 2n ** 70n, none: undefined }, null],
};
const answer = { ok: true, value: [1, 'two', Buffer.from('three')] };
const frames: readonly LinkFrame[] = [
  {
    ...{ kind: 'dispatch', t: 'MESSAGE_CREATE', json: Buffer.from('{"content":"hello"}') },
    ...{ ownerId: '1390000000000000001', n: 3 * 2 ** 32 + 7, handles: Uint32Array.of(1, 2, 300) },
  },
  { kind: 'following', handle: 3, ownerId: '1390000000000000001', epoch: 3, n: 3 * 2 ** 32 + 7 },
  {
    kind: 'tell',
    method: 'user.deliver',
    key: '1390000000000000002',
    args: [new Map([['a', new Set([1])]])],
  },
];

/** As version 1 has packed them. Never to be changed: what is sent otherwise is another version of the link. */
const SENT = {
  hello: 'CiyWqWd1aWxkaGFsbAEBp3NoYXJkLTCwMDAxMTIyMzNhYWJiY2NkZKUwLjEuMA==',
  welcome: 'CkCTw8QQMDEyMzQ1Njc4OWFiY2RlZpapZ3VpbGRoYWxsAQGnc2hhcmQtMLAwMDExMjIzM2FhYmJjY2RkpTAuMS4w',
  refusal: 'Cg2TwqdjbHVzdGVyom5v',
  question:
    'CokBl8QQMDEyMzQ1Njc4OWFiY2RlZq1ndWlsZC5jb21tYW5kszEzOTAwMDAwMDAwMDAwMDAwMDHNE4ija2V5pXRyYWNlk61jcmVhdGVNZXNzYWdl' +
    'hKdjb250ZW50pWhlbGxvomF0gaEAkgMApGJpdHPYQgAAAAAAAABAAAAAAAAAAACkbm9uZdQAAMA=',
  answer: 'ChqSAIKib2vDpXZhbHVlkwGjdHdvxAV0aHJlZQ==',
  notServed: 'ChWVAalOb3RTZXJ2ZWSmTGF0ZXIuAsI=',
  linkFault: 'ChSTAahub3RPd25lcqhBbm90aGVyLg==',
  batch:
    'CqsBlAmWAK5NRVNTQUdFX0NSRUFURcQTeyJjb250ZW50IjoiaGVsbG8ifbMxMzkwMDAwMDAwMDAwMDAwMDAxy0IIAAAAOAAAxAwBAAAAAgAAACwB' +
    'AACVAQOzMTM5MDAwMDAwMDAwMDAwMDAwMQPLQggAAAA4AACVAqx1c2VyLmRlbGl2ZXKzMTM5MDAwMDAwMDAwMDAwMDAwMsQRkYGhAJIBkZKhYYGh' +
    'AJICkQEA',
};
/** What version 2 has packed otherwise. Never to be changed either. */
const SENT_2 = {
  begin: 'ChWTxBAwMTIzNDU2Nzg5YWJjZGVmAwU=',
  questions:
    'CrYBkwqVAqx1c2VyLmRlbGl2ZXKzMTM5MDAwMDAwMDAwMDAwMDAwMsQRkYGhAJIBkZKhYYGhAJICkQEAlAMFTcR3lq1ndWlsZC5jb21tYW5kszEzOTAwMDAwMDAwMDAwMDAwMDHNE4ija2V5pXRyYWNlk61jcmVhdGVNZXNzYWdlhKdjb250ZW50pWhlbGxvomF0gaEAkgMApGJpdHPYQgAAAAAAAABAAAAAAAAAAACkbm9uZdQAAMA=',
  replies: 'CjaVCk3EGpIAgqJva8OldmFsdWWTAaN0d2/EBXRocmVlTsQUkwGobm90T3duZXKoQW5vdGhlci4=',
};
const sent = (name: keyof typeof SENT): Buffer => Buffer.from(SENT[name], 'base64');
const payload = (name: keyof typeof SENT): Buffer => payloadOf(sent(name));

test('the versions of the link are those of these packets', () => {
  expect(LINK_VERSIONS).toEqual({ newest: 2, oldest: 1 });
});

describe('what version 1 has sent', () => {
  test('is understood', () => {
    expect(unpackHandshake(codec, payload('hello'))).toEqual(greeting);
    expect(unpackHandshakeAnswer(codec, payload('welcome'))).toEqual({ ok: true, token, greeting });
    expect(unpackHandshakeAnswer(codec, payload('refusal'))).toEqual({
      ok: false,
      why: 'cluster',
      message: 'no',
    });
    expect(codec.unpackRequest(payload('question'))).toEqual(question);
    expect(codec.unpackAnswer(payload('answer'))).toEqual(answer);
    expect(codec.unpackBatch(payload('batch'))).toMatchObject({ sequence: 9, frames });
  });

  test('is thrown as a fault if it is one', () => {
    expect(() => codec.unpackAnswer(payload('notServed'))).toThrow(
      expect.objectContaining({ name: 'NotServed', message: 'Later.', retryAfterSec: 2 }),
    );
    expect(() => codec.unpackAnswer(payload('linkFault'))).toThrow(
      expect.objectContaining({ name: 'LinkFault', kind: 'notOwner', message: 'Another.' }),
    );
  });

  test('is sent so to a shard of that version', () => {
    const parcels = frames.map((frame) => codec.encodeFrame(frame));
    const now: Record<keyof typeof SENT, Buffer> = {
      hello: packHandshake(codec, greeting),
      welcome: packHandshakeAnswer(codec, { ok: true, token, greeting }),
      refusal: packHandshakeAnswer(codec, { ok: false, why: 'cluster', message: 'no' }),
      question: codec.packRequest(question),
      answer: codec.packAnswer(answer),
      notServed: codec.packFault(new NotServed('Later.', 2)),
      linkFault: codec.packFault(new LinkFault('notOwner', 'Another.')),
      batch: codec.packBatch(9, parcels),
    };
    for (const [name, packet] of Object.entries(now))
      expect([name, packet.toString('base64')]).toEqual([name, SENT[name as keyof typeof SENT]]);
  });
});

describe('what version 2 has sent', () => {
  const { token: _, ...asked } = question;
  const packed = (): Record<keyof typeof SENT_2, Buffer> => ({
    begin: codec.pack([token, 3, 5]),
    questions: codec.packBatch(10, [codec.encodeFrame(frames[2]!), codec.encodeQuestion(5, 77, asked)]),
    replies: codec.packReplies(10, [
      { id: 77, answer: codec.encodeAnswer(answer) },
      { id: 78, answer: codec.encodeFault(new LinkFault('notOwner', 'Another.')) },
    ]),
  });
  const payload = (name: keyof typeof SENT_2): Buffer => payloadOf(Buffer.from(SENT_2[name], 'base64'));

  test('is understood', () => {
    expect(codec.unpack(payload('begin'))).toEqual([token, 3, 5]);
    expect(codec.unpackBatch(payload('questions'))).toMatchObject({
      sequence: 10,
      frames: [frames[2], { kind: 'question', streamId: 5, id: 77, ...asked }],
    });
    const { taken, replies } = codec.unpackReplies(payload('replies'));
    expect([taken, replies.map(({ id }) => id)]).toEqual([10, [77, 78]]);
    expect(codec.unpackAnswer(replies[0]!.answer)).toEqual(answer);
    expect(() => codec.unpackAnswer(replies[1]!.answer)).toThrow(
      expect.objectContaining({ kind: 'notOwner' }),
    );
  });

  test('is sent so', () => {
    for (const [name, packet] of Object.entries(packed()))
      expect([name, packet.toString('base64')]).toEqual([name, SENT_2[name as keyof typeof SENT_2]]);
  });

  test('acknowledges in the words of version 1 as well', () => {
    expect(codec.unpackReplies(payloadOf(codec.pack(12)))).toEqual({ taken: 12, replies: [] });
  });
});

const signatureOf = (name: string, { args, reply, kind }: Method): string =>
  `${name}(${args.map((each) => each.name).join(', ')})${kind === 'tell' ? '' : ` → ${reply.name}`}`;

test('each method of the catalogue is packed as catalogue.txt records: a change of its schemas shows as a changed line', async () => {
  const lines = [...CATALOGUE].map(([name, row]) => {
    const args = row.args.map(({ example }) => example);
    const { deadlineMs, trace } = question;
    const keyed = row.repeat === 'keyed' ? 'key' : null;
    const packet =
      row.kind === 'ask'
        ? codec.packRequest({ token, method: name, key: row.by, deadlineMs, commandKey: keyed, trace, args })
        : codec.packBatch(1, [codec.encodeFrame({ kind: 'tell', method: name, key: row.by, args })]);
    const answer = row.kind === 'ask' ? codec.packAnswer(row.reply.example).toString('base64') : '-';
    const run = `${row.kind}, by ${row.by}, ${row.repeat}${row.reads ? ', reads' : ''}, since ${row.since}`;
    return [signatureOf(name, row), run, packet.toString('base64'), answer].join('\n  ');
  });
  await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('catalogue.txt');
});
