// Goal: shards that link to each other over real connections lose, double and reorder nothing, know what became of a question, and take in only who belongs to them.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { Client, credentials } from '@grpc/grpc-js';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, test } from 'vitest';
import type { AskContext, LinkFrame, LinkHandler, ShardInfo } from '../../../actors/cluster/ports.ts';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { createCodec } from '../../../transports/cluster/codec.ts';
import type { LinkTls } from '../../../transports/cluster/door.ts';
import { createLinks, type GrpcLinks, type LinksOptions } from '../../../transports/cluster/links.ts';
import { LINK_SERVICE } from '../../../transports/cluster/service.ts';

const opened: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

interface End {
  readonly links: GrpcLinks;
  readonly shard: ShardInfo;
  /** What others have told it, numbers and breaks, in order. */
  readonly heard: unknown[];
  readonly broken: string[];
  readonly warnings: { readonly details: Record<string, unknown>; readonly text: string }[];
  readonly faults: string[];
}

const tell = (n: unknown): LinkFrame => ({ kind: 'tell', method: 'm', key: 'k', args: [n] });

type Options = Partial<LinksOptions> & {
  readonly id: string;
  readonly ask?: LinkHandler['ask'];
  readonly serves?: boolean;
};

async function open({ id, ask, serves = true, ...options }: Options): Promise<End> {
  const heard: unknown[] = [];
  const broken: string[] = [];
  const warnings: End['warnings'] = [];
  const faults: string[] = [];
  const self = { id, instance: `${id}-1`, version: '0.1.0', ...options.self };
  const links = await createLinks({
    clusterId: 'cluster',
    host: '127.0.0.1',
    port: 0,
    tls: null,
    bytesMax: 8 << 20,
    clock: systemClock,
    logger: {
      info: () => undefined,
      warn: (details: unknown, text: unknown) =>
        warnings.push({ details: details as Record<string, unknown>, text: String(text) }),
      error: () => undefined,
    } as unknown as LinksOptions['logger'],
    onFault: (where, fault) => faults.push(`${where}: ${(fault as Error).message}`),
    ...options,
    self,
  });
  opened.push(links);
  links.onBroken((shardId) => broken.push(shardId));
  const handler: LinkHandler = {
    ask: ask ?? (async (from, method, args) => [from, method, ...args]),
    told(from, frames) {
      for (const frame of frames) heard.push(frame.kind === 'tell' ? frame.args[0] : [from, frame]);
    },
    broken: () => heard.push('broken'),
  };
  const end = {
    links,
    shard: shardOf(self, links.address),
    heard,
    broken,
    warnings,
    faults,
    serve: () => links.serve(handler),
  };
  if (serves) end.serve();
  return end;
}

const shardOf = (self: Pick<ShardInfo, 'id' | 'instance' | 'version'>, address: string): ShardInfo => ({
  ...self,
  address,
  adminUrl: null,
  host: '',
  pid: 1,
  weight: 1,
  worker: 0,
  startedMs: 0,
  draining: false,
});

async function until(holds: () => boolean, withinMs = 10_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error('It did not come to that.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const linked = ({ links }: End): boolean => links.figures().peers.every(({ connected }) => connected);

/** Two shards, of which the first follows the second. */
async function pair(options: Partial<Options> = {}, first: Partial<Options> = {}): Promise<[End, End]> {
  const a = await open({ id: 'a', ...first });
  const b = await open({ id: 'b', ...options });
  a.links.follow([b.shard]);
  await until(() => linked(a));
  return [a, b];
}

const context = (change: Partial<AskContext> = {}): AskContext => ({
  key: 'k',
  deadlineMs: 5000,
  commandKey: null,
  trace: 't',
  ...change,
});

/** A way to a shard that can be cut, and made to hold everything back. */
async function road(address: string) {
  const [, port] = address.split(':');
  const pairs = new Set<readonly [Socket, Socket]>();
  let held = false;
  const server: Server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    const both = [near, far] as const;
    pairs.add(both);
    for (const [from, to] of [both, [far, near]] as const) {
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        pairs.delete(both);
      });
    }
    if (held) for (const socket of both) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const both of pairs) for (const socket of both) socket.destroy();
  };
  const each = (run: (socket: Socket) => void) => {
    for (const both of pairs) both.forEach(run);
  };
  opened.push({
    close() {
      server.close();
      cut();
    },
  });
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    cut,
    hold() {
      held = true;
      each((socket) => socket.pause());
    },
    release() {
      held = false;
      each((socket) => socket.resume());
    },
  };
}

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, n) => from + n);

describe('what is told', () => {
  test('arrives in order, and before there is a link it waits', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b' });
    a.links.follow([b.shard]);
    for (const n of numbers(100)) a.links.tell('b', tell(n));
    await until(() => linked(a));
    for (const n of numbers(5000, 100)) {
      a.links.tell('b', tell(n));
      if (n % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => b.heard.length === 5100);
    expect(b.heard).toEqual(numbers(5100));
    await until(() => a.links.figures().peers[0]?.waitingBytes === 0);
    expect(a.links.figures().peers).toMatchObject([{ shardId: 'b', tells: 5100, breaks: 0 }]);
  });

  test('goes on where it was interrupted: nothing is lost, doubled or out of order', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b' });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    for (const n of numbers(4000)) {
      a.links.tell('b', tell(n));
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (n % 1000 === 500) way.cut();
    }
    await until(() => b.heard.length >= 4000);
    expect(b.heard).toEqual(numbers(4000));
    expect(a.broken).toEqual([]);
    expect(a.warnings.some(({ text }) => text.includes('interrupted'))).toBe(true);
  });

  test('is broken off beyond the bound, and both sides hear of it before anything new', async () => {
    const bytesMax = 1 << 20;
    const a = await open({ id: 'a', bytesMax });
    const b = await open({ id: 'b' });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    a.links.tell('b', tell('first'));
    await until(() => b.heard.length === 1);
    way.hold();
    let most = 0;
    let last = 0;
    for (; last < 3000 && a.broken.length === 0; last += 1) {
      a.links.tell('b', { kind: 'tell', method: 'm', key: 'k', args: [last, 'x'.repeat(1000)] });
      most = Math.max(most, a.links.figures().peers[0]?.waitingBytes ?? 0);
      if (last % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(most).toBeLessThanOrEqual(bytesMax);
    expect(most).toBeGreaterThan(bytesMax / 2);
    way.release();
    a.links.tell('b', tell(last));
    await until(() => b.heard.at(-1) === last);
    const before = b.heard.slice(1, b.heard.indexOf('broken')) as number[];
    const after = b.heard.slice(b.heard.indexOf('broken') + 1) as number[];
    expect(before).toEqual(numbers(before.length));
    expect(after).toEqual(numbers(after.length, last + 1 - after.length));
    expect(before.length + after.length).toBeLessThan(last);
    expect(a.broken).toEqual(['b']);
    expect(b.links.figures().breaks).toBe(1);
  });

  test('to nobody who is known is counted', async () => {
    const a = await open({ id: 'a' });
    a.links.tell('nobody', tell(1));
    expect(a.links.figures().strays).toBe(1);
  });
});

describe('a question', () => {
  test('is answered, many at a time', async () => {
    const [a] = await pair();
    const answers = await Promise.all(
      numbers(500).map((n) => a.links.ask('b', 'm', [n, new Map([[n, 1n]])], context())),
    );
    expect(answers).toEqual(numbers(500).map((n) => ['a', 'm', n, new Map([[n, 1n]])]));
    expect(a.links.figures().peers).toMatchObject([{ asks: 500, asksUnderWay: 0 }]);
  });

  test('keeps what was asked and by whom', async () => {
    const seen: unknown[] = [];
    const [a] = await pair({
      ask: async (...all) => {
        seen.push(all);
        return null;
      },
    });
    const about = context({ commandKey: 'c.1', trace: 'c.1', deadlineMs: 1234 });
    await a.links.ask('b', 'm', [], about);
    expect(seen).toEqual([['a', 'm', [], about]]);
  });

  test.each([
    [new NotServed('later', 3), { name: 'NotServed', retryAfterSec: 3 }],
    [new LinkFault('notOwner', 'x'), { kind: 'notOwner' }],
    [Object.assign(new Error('gone'), { name: 'StorageFault' }), { name: 'StorageFault', message: 'gone' }],
    [new TypeError('bug'), { name: 'LinkFault', kind: 'failed', message: 'bug' }],
  ])('fails with what the other side has thrown: %s', async (fault, expected) => {
    const [a, b] = await pair({ ask: () => Promise.reject(fault) });
    await expect(a.links.ask('b', 'm', [], context())).rejects.toMatchObject(expected);
    expect(b.faults).toEqual(
      fault instanceof LinkFault || fault instanceof NotServed ? [] : [`m: ${fault.message}`],
    );
  });

  test('whose answer does not travel has failed', async () => {
    const [a] = await pair({ ask: async () => () => undefined });
    await expect(a.links.ask('b', 'm', [], context())).rejects.toMatchObject({ kind: 'failed' });
    await expect(a.links.ask('b', 'm', [() => undefined], context())).rejects.toThrow(TypeError);
  });

  test('is unreachable where there is no link, and only there', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', serves: false });
    await expect(a.links.ask('b', 'm', [], context())).rejects.toMatchObject({ kind: 'unreachable' });
    a.links.follow([b.shard]);
    await expect(a.links.ask('b', 'm', [], context())).rejects.toMatchObject({ kind: 'unreachable' });
  });

  test('is a timeout when it takes too long', async () => {
    const [a] = await pair({ ask: () => new Promise(() => undefined) });
    await expect(a.links.ask('b', 'm', [], context({ deadlineMs: 50 }))).rejects.toMatchObject({
      kind: 'timeout',
    });
  });

  test('is lost when the connection goes, or when either side ends', async () => {
    const forever = () => new Promise<never>(() => undefined);
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', ask: forever });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    const cut = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    await until(() => b.links.figures().asksUnderWay === 1);
    way.cut();
    expect(await cut).toMatchObject({ kind: 'lost' });
    await until(() => linked(a));
    const left = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    a.links.follow([]);
    expect(await left).toMatchObject({ kind: 'lost' });
    a.links.follow([b.shard]);
    await until(() => linked(a));
    const ended = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    await b.links.close();
    expect(await ended).toMatchObject({ kind: 'lost' });
  });

  test('is lost within seconds when the peer has vanished without a word', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', ask: () => new Promise(() => undefined) });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    way.hold();
    const startMs = performance.now();
    const asked = a.links.ask('b', 'm', [], context({ deadlineMs: 60_000 }));
    await expect(asked).rejects.toMatchObject({ kind: 'lost' });
    expect(performance.now() - startMs).toBeLessThan(9000);
  }, 20_000);

  test('is one too many beyond the bound, here and there', async () => {
    const forever = () => new Promise<never>(() => undefined);
    const [a] = await pair({ ask: forever }, { asksMax: 3 });
    const ask = (end: End) => end.links.ask('b', 'm', [], context({ deadlineMs: 500 }));
    const three = numbers(3).map(() => ask(a).catch(() => undefined));
    await expect(ask(a)).rejects.toMatchObject({ kind: 'overloaded' });
    await Promise.all(three);
    const [c, d] = await pair({ ask: forever, asksMax: 2 });
    const two = numbers(2).map(() => ask(c).catch(() => undefined));
    await until(() => d.links.figures().asksUnderWay === 2);
    await expect(ask(c)).rejects.toMatchObject({ kind: 'overloaded' });
    await Promise.all(two);
  });
});

describe('a shard', () => {
  test('that comes again as another run is linked anew', async () => {
    const [a, b] = await pair();
    a.links.tell('b', tell(1));
    await until(() => b.heard.length === 1);
    await b.links.close();
    const again = await open({ id: 'b', self: { id: 'b', instance: 'b-2', version: '0.1.0' } });
    a.links.follow([again.shard]);
    a.links.tell('b', tell(2));
    await until(() => again.heard.length === 1);
    expect(again.heard).toEqual([2]);
    expect(await a.links.ask('b', 'm', [], context())).toEqual(['a', 'm']);
  });

  test('whose earlier run has told something is known to have broken off', async () => {
    const [a, b] = await pair();
    a.links.tell('b', tell(1));
    await until(() => b.heard.length === 1);
    await a.links.close();
    const again = await open({ id: 'a', self: { id: 'a', instance: 'a-2', version: '0.1.0' } });
    again.links.follow([b.shard]);
    again.links.tell('b', tell(2));
    await until(() => b.heard.length === 3);
    expect(b.heard).toEqual([1, 'broken', 2]);
  });

  test('that is another one by now is not taken for the one that is sought', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b' });
    a.links.follow([{ ...b.shard, instance: 'b-0' }]);
    await until(() => (a.links.figures().peers[0]?.refusals ?? 0) > 2);
    expect(linked(a)).toBe(false);
    expect(a.warnings).toEqual([]);
  });

  test('is linked with the moment that it serves', async () => {
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', serves: false });
    a.links.follow([b.shard]);
    a.links.tell('b', tell(1));
    await until(() => (a.links.figures().peers[0]?.refusals ?? 0) > 0);
    expect(b.warnings).toEqual([]);
    (b as End & { serve(): void }).serve();
    await until(() => b.heard.length === 1);
  });
});

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

describe('who belongs to another cluster, or speaks otherwise', () => {
  test('is refused with one line on each side', async () => {
    const { a, b, isLinked } = await meet({ clusterId: 'other' }, {});
    expect(isLinked).toBe(false);
    expect(a.warnings.map(({ details }) => details.why)).toEqual(['cluster']);
    expect(String(a.warnings[0]?.details.reason)).toContain('cluster "cluster"');
    expect(b.warnings).toMatchObject([
      { text: 'A shard was refused.', details: { why: 'cluster', clusterId: 'other' } },
    ]);
    expect(b.links.figures().refusals).toBe(1);
  });

  test.each([
    [{ newest: 3, oldest: 2 }, { newest: 2, oldest: 1 }, true],
    [{ newest: 2, oldest: 1 }, { newest: 3, oldest: 2 }, true],
    [{ newest: 4, oldest: 3 }, { newest: 2, oldest: 1 }, false],
    [{ newest: 2, oldest: 1 }, { newest: 4, oldest: 3 }, false],
  ])('where versions are %o and %o: %s', async (first, second, expected) => {
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

describe('with certificates', () => {
  test('only who has one of the authority is let in, and only to such a one do we go', async () => {
    const [ours, others] = await Promise.all([authority('ours'), authority('others')]);
    const [first, second, foreign] = await Promise.all([ours.sign('a'), ours.sign('b'), others.sign('x')]);
    const good: LinkTls = { ca: ours.ca, ...second };

    const well = await meet({ tls: { ca: ours.ca, ...first } }, { tls: good });
    expect(well.isLinked).toBe(true);
    expect(await well.a.links.ask('b', 'm', [1], context())).toEqual(['a', 'm', 1]);

    // It trusts the other, and shows what the other does not trust.
    const intruder = await meet({ tls: { ca: ours.ca, ...foreign } }, { tls: good });
    expect(intruder.isLinked).toBe(false);
    expect(intruder.a.warnings.map(({ details }) => details.why)).toEqual(['unreachable']);
    expect(intruder.b.warnings).toMatchObject([{ details: { why: 'certificate', address: '127.0.0.1' } }]);
    expect(intruder.b.links.figures().refusals).toBeGreaterThan(0);

    const impostor = await meet({ tls: { ca: ours.ca, ...first } }, { tls: { ca: ours.ca, ...foreign } });
    expect(impostor.isLinked).toBe(false);
    expect(impostor.a.warnings.map(({ details }) => details.why)).toEqual(['certificate']);
  });

  test('nobody is let in without one', async () => {
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
    await expect(rawCall(bare, 'Hello', createCodec().pack([]))).rejects.toThrow();
    await until(() => b.links.figures().refusals > 0);
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

test('who says nothing that a shard says does no harm', async () => {
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
  const unasked = codec.packQuestion({ ...context(), token: Buffer.alloc(16), method: 'm', args: [] });
  const answer = await rawCall(client, 'Ask', unasked);
  expect(() => codec.unpackAnswer(answer)).toThrow(expect.objectContaining({ kind: 'unreachable' }));
  a.links.tell('b', tell(1));
  await until(() => b.heard.length === 1);
  expect(await a.links.ask('b', 'm', [], context())).toEqual(['a', 'm']);
});
