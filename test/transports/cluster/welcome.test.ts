// Goal: a shard takes in only who belongs to its cluster, speaks its language and shows a certificate where one is asked for.
import { Client, credentials } from '@grpc/grpc-js';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../actors/runtime/clock.ts';
import { createCodec } from '../../../transports/cluster/codec.ts';
import { unpackHandshakeAnswer } from '../../../transports/cluster/handshake.ts';
import { LINK_SERVICE } from '../../../transports/cluster/packets.ts';
import type { LinkTls } from '../../../transports/cluster/server.ts';
import { closeAll, context, linked, type Options, open, opened, pair, tell, until } from './ends.ts';

afterEach(closeAll);

/** Whether a shard of these options is let in by one with those, and what each side says of it. */
async function meet(first: Partial<Options>, second: Partial<Options>) {
  const a = await open({ id: 'a', ...first });
  const b = await open({ id: 'b', ...second });
  a.links.follow([b.shard]);
  await until(() => linked(a) || a.warnings.length > 0);
  // Some time for a second complaint.
  if (!linked(a)) await new Promise((resolve) => setTimeout(resolve, 200));
  return { a, b, isLinked: linked(a) };
}

describe('a shard of another cluster, or with another protocol', () => {
  test('is refused with one line on each side', async () => {
    const { a, b, isLinked } = await meet({ clusterId: 'other' }, {});
    expect(isLinked).toBe(false);
    expect(a.warnings.map(({ details }) => details.why)).toEqual(['cluster']);
    expect(String(a.warnings[0]?.details.reason)).toContain('cluster "cluster"');
    expect(b.warnings).toMatchObject([
      { text: 'A shard was refused.', details: { why: 'cluster', clusterId: 'other' } },
    ]);
    expect(b.links.metrics().refusals).toBe(1);
  });

  test('is reported once although it is refused again and again', async () => {
    const setTimer: Clock['setTimer'] = (run, delayMs) => systemClock.setTimer(run, Math.min(delayMs, 20));
    const a = await open({ id: 'a', clusterId: 'other', clock: { ...systemClock, setTimer } });
    const b = await open({ id: 'b' });
    a.links.follow([b.shard]);
    await until(() => (a.links.metrics().peers[0]?.refusals ?? 0) > 2);
    expect(a.warnings.map(({ text }) => text)).toEqual(['Cannot link to a shard.']);
  });

  test.each([
    [{ newest: 3, oldest: 2 }, { newest: 2, oldest: 1 }, true],
    [{ newest: 2, oldest: 1 }, { newest: 3, oldest: 2 }, true],
    [{ newest: 4, oldest: 3 }, { newest: 2, oldest: 1 }, false],
    [{ newest: 2, oldest: 1 }, { newest: 4, oldest: 3 }, false],
  ])('is linked at versions %o and %o: %s', async (first, second, expected) => {
    const { a, b, isLinked } = await meet({ versions: first }, { versions: second });
    expect(isLinked).toBe(expected);
    const why = expected ? [] : ['version'];
    expect(a.warnings.map(({ details }) => details.why)).toEqual(why);
    expect(b.warnings.map(({ details }) => details.why)).toEqual(why);
  });
});

/** An authority, and certificates that it has signed. */
async function authority(name: string) {
  const ca = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return {
    ca: Buffer.from(ca.cert),
    async sign(commonName: string): Promise<Pick<LinkTls, 'cert' | 'key'>> {
      const leaf = await generate([{ name: 'commonName', value: commonName }], {
        keyType: 'ec',
        algorithm: 'sha256',
        ca: { key: ca.private, cert: ca.cert },
      });
      return { cert: Buffer.from(leaf.cert), key: Buffer.from(leaf.private) };
    },
  };
}

describe('a cluster with certificates', () => {
  test('a shard is linked only with a certificate of the same authority, in either direction', async () => {
    const [ours, others] = await Promise.all([authority('ours'), authority('others')]);
    const [first, second, foreign] = await Promise.all([ours.sign('a'), ours.sign('b'), others.sign('x')]);
    const good: LinkTls = { ca: ours.ca, ...second };

    const well = await meet({ tls: { ca: ours.ca, ...first } }, { tls: good });
    expect(well.isLinked).toBe(true);
    expect(await well.a.links.ask('b', 'm', [1], context())).toEqual(['a', 'm', 1]);

    // It trusts the other, and shows what the other does not trust.
    const intruder = await meet({ tls: { ca: ours.ca, ...foreign } }, { tls: good });
    expect(intruder.isLinked).toBe(false);
    expect(intruder.a.warnings).toMatchObject([
      {
        details: {
          why: 'certificate',
          reason: 'The shard refused the handshake: The certificate is not trusted.',
        },
      },
    ]);
    expect(intruder.b.warnings).toMatchObject([{ details: { why: 'certificate', address: '127.0.0.1' } }]);
    expect(intruder.b.links.metrics().refusals).toBeGreaterThan(0);

    const impostor = await meet({ tls: { ca: ours.ca, ...first } }, { tls: { ca: ours.ca, ...foreign } });
    expect(impostor.isLinked).toBe(false);
    expect(impostor.a.warnings.map(({ details }) => details.why)).toEqual(['certificate']);
  });

  test('a client without a certificate is rejected', async () => {
    const ours = await authority('ours');
    const b = await open({ id: 'b', tls: { ca: ours.ca, ...(await ours.sign('b')) } });
    const a = await open({ id: 'a' });
    a.links.follow([b.shard]);
    const bare = new Client(
      b.shard.address,
      credentials.createSsl(ours.ca, null, null, { checkServerIdentity: () => undefined }),
      { 'grpc.ssl_target_name_override': 'x' },
    );
    opened.push(bare);
    const codec = createCodec();
    const answer = unpackHandshakeAnswer(codec, await rawCall(bare, 'Hello', codec.pack([])));
    expect(answer).toMatchObject({ ok: false, why: 'certificate' });
    await expect(rawCall(bare, 'Ask', codec.pack([]))).rejects.toThrow('UNIMPLEMENTED');
    await until(() => b.links.metrics().refusals > 0);
    expect(linked(a)).toBe(false);
  });
});

function rawCall(client: Client, method: 'Hello' | 'Ask', packet: Buffer): Promise<Buffer> {
  const { path, responseDeserialize } = LINK_SERVICE[method];
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (bytes: Buffer) => bytes,
      responseDeserialize,
      packet,
      { deadline: Date.now() + 3000 },
      (error, answer) => (error ? reject(error) : resolve(answer ?? Buffer.alloc(0))),
    );
  });
}

test('malformed frames of a stranger do no harm', async () => {
  const [a, b] = await pair();
  const codec = createCodec();
  const client = new Client(b.shard.address, credentials.createInsecure());
  opened.push(client);
  const nonsense = [
    Buffer.alloc(0),
    Buffer.from([1, 2, 3]),
    codec.pack(['x']),
    codec.pack({ a: 1 }),
    codec.pack(Array(7).fill(Buffer.alloc(16))),
  ];
  for (const packet of nonsense) {
    for (const method of ['Hello', 'Ask'] as const)
      await rawCall(client, method, packet).catch(() => undefined);
    const { path, responseDeserialize } = LINK_SERVICE.Tell;
    const stream = client.makeBidiStreamRequest(path, (bytes: Buffer) => bytes, responseDeserialize);
    const over = new Promise<void>((resolve) => {
      stream.on('error', () => resolve());
      stream.on('end', () => resolve());
    });
    stream.on('data', () => undefined);
    stream.write(packet);
    stream.write(packet);
    await over;
  }
  const unasked = codec.packRequest({ ...context(), token: Buffer.alloc(16), method: 'm', args: [] });
  const answer = await rawCall(client, 'Ask', unasked);
  expect(() => codec.unpackAnswer(answer)).toThrow(expect.objectContaining({ kind: 'unreachable' }));
  a.links.tell('b', tell(1));
  await until(() => b.heard.length === 1);
  expect(await a.links.ask('b', 'm', [], context())).toEqual(['a', 'm']);
});
