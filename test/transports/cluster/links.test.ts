// Goal: shards that link to each other over real connections lose, double and reorder nothing, and know what became of a question.
import { hostname } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { LINK_VERSIONS } from '../../../transports/cluster/handshake.ts';
import {
  closeAll,
  context,
  type End,
  linked,
  numbers,
  type Options,
  open as openEnd,
  pair as openPair,
  road,
  tell,
  until,
} from './ends.ts';

afterEach(closeAll);

describe('notifications between shards', () => {
  test('arrive in order, and wait while the shards are not linked', async () => {
    const a = await openEnd({ id: 'a' });
    const b = await openEnd({ id: 'b' });
    a.links.follow([b.shard]);
    for (const n of numbers(100)) a.links.tell('b', tell(n));
    await until(() => linked(a));
    for (const n of numbers(5000, 100)) {
      a.links.tell('b', tell(n));
      if (n % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => b.heard.length === 5100);
    expect(b.heard).toEqual(numbers(5100));
    await until(() => a.links.metrics().peers[0]?.waitingBytes === 0);
    expect(a.links.metrics().peers).toMatchObject([{ shardId: 'b', tells: 5100, breaks: 0 }]);
  });

  test('continue after an interrupted connection: none is lost, doubled or out of order', async () => {
    const a = await openEnd({ id: 'a' });
    const b = await openEnd({ id: 'b' });
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

  test('are dropped when their queue exceeds its bound, which both shards learn before anything newer arrives', async () => {
    const bytesMax = 1 << 20;
    const a = await openEnd({ id: 'a', bytesMax });
    const b = await openEnd({ id: 'b' });
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
      most = Math.max(most, a.links.metrics().peers[0]?.waitingBytes ?? 0);
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
    expect(b.links.metrics().breaks).toBe(1);
  });

  test('are counted as strays if the shard is unknown', async () => {
    const a = await openEnd({ id: 'a' });
    a.links.tell('nobody', tell(1));
    expect(a.links.metrics().strays).toBe(1);
  });
});

describe.each([
  ['over the stream', LINK_VERSIONS],
  ['by unary calls, as link version 1 has them', { newest: 1, oldest: 1 }],
])('a request to another shard, %s', (_, versions) => {
  const open = (options: Options) => openEnd({ versions, ...options });
  const pair = (options: Partial<Options> = {}, first: Partial<Options> = {}) =>
    openPair({ versions, ...options }, { versions, ...first });

  test('is answered, many at a time', async () => {
    const [a] = await pair();
    const answers = await Promise.all(
      numbers(500).map((n) => a.links.ask('b', 'm', [n, new Map([[n, 1n]])], context())),
    );
    expect(answers).toEqual(numbers(500).map((n) => ['a', 'm', n, new Map([[n, 1n]])]));
    expect(a.links.metrics().peers).toMatchObject([{ asks: 500, asksUnderWay: 0 }]);
  });

  test('arrives with its method, arguments, context and sender', async () => {
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

  test('fails when its arguments or its answer cannot be sent', async () => {
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

  test('is rejected with a timeout after its deadline', async () => {
    const [a, b] = await pair({ ask: () => new Promise(() => undefined) });
    await expect(a.links.ask('b', 'm', [], context({ deadlineMs: 50 }))).rejects.toMatchObject({
      kind: 'timeout',
    });
    await until(() => b.links.metrics().asksUnderWay === 0);
  });

  test('is answered although the other side ends meanwhile', async () => {
    let answer: (value: unknown) => void = () => undefined;
    const [a, b] = await pair({ ask: () => new Promise((resolve) => (answer = resolve)) });
    const asked = a.links.ask('b', 'm', [], context());
    await until(() => b.links.metrics().asksUnderWay === 1);
    const closing = b.links.close();
    answer('given away');
    expect(await asked).toBe('given away');
    await closing;
  });

  test('is rejected as lost when the connection breaks or either shard closes its links', async () => {
    const forever = () => new Promise<never>(() => undefined);
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', ask: forever });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    const cut = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    await until(() => b.links.metrics().asksUnderWay === 1);
    way.cut();
    expect(await cut).toMatchObject({ kind: 'lost' });
    await until(() => linked(a));
    const left = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    a.links.follow([]);
    expect(await left).toMatchObject({ kind: 'lost' });
    a.links.follow([b.shard]);
    await until(() => linked(a));
    const ended = a.links.ask('b', 'm', [], context()).catch((fault: unknown) => fault);
    await until(() => b.links.metrics().asksUnderWay === 1);
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
    await until(() => d.links.metrics().asksUnderWay === 2);
    await expect(ask(c)).rejects.toMatchObject({ kind: 'overloaded' });
    await Promise.all(two);
  });
});

describe('a shard', () => {
  test('is linked again when it returns as another instance', async () => {
    const [a, b] = await openPair();
    a.links.tell('b', tell(1));
    await until(() => b.heard.length === 1);
    await b.links.close();
    const again = await openEnd({ id: 'b', self: { id: 'b', instance: 'b-2', version: '0.1.0' } });
    a.links.follow([again.shard]);
    a.links.tell('b', tell(2));
    await until(() => again.heard.length === 1);
    expect(again.heard).toEqual([2]);
    expect(await a.links.ask('b', 'm', [], context())).toEqual(['a', 'm']);
  });

  test('stays linked when another instance of it that is no member tries to connect', async () => {
    const b = await openEnd({ id: 'b' });
    const run = (n: number) => openEnd({ id: 'a', self: { id: 'a', instance: `a-${n}`, version: '0.1.0' } });
    const [zombie, a] = [await run(1), await run(2)];
    b.links.follow([a.shard]);
    a.links.follow([b.shard]);
    await until(() => linked(a));
    zombie.links.follow([b.shard]);
    await until(() => b.links.metrics().refusals > 1);
    expect([linked(zombie), linked(a), b.heard]).toEqual([false, true, []]);
    // Its successor is let in as soon as it is known to be one.
    b.links.follow([zombie.shard]);
    await until(() => linked(zombie));
  });

  test('breaks off the notifications of its earlier instance when it returns as another instance', async () => {
    const [a, b] = await openPair();
    a.links.tell('b', tell(1));
    await until(() => b.heard.length === 1);
    await a.links.close();
    const again = await openEnd({ id: 'a', self: { id: 'a', instance: 'a-2', version: '0.1.0' } });
    again.links.follow([b.shard]);
    again.links.tell('b', tell(2));
    await until(() => b.heard.length === 3);
    expect(b.heard).toEqual([1, 'broken', 2]);
  });

  test('is not linked when its instance differs from the one in the directory', async () => {
    const a = await openEnd({ id: 'a' });
    const b = await openEnd({ id: 'b' });
    a.links.follow([{ ...b.shard, instance: 'b-0' }]);
    await until(() => (a.links.metrics().peers[0]?.refusals ?? 0) > 2);
    expect(linked(a)).toBe(false);
    expect(a.warnings).toEqual([]);
  });

  test('is advertised under the host name of its machine when it listens on all interfaces', async () => {
    const { links } = await openEnd({ id: 'a', host: '0.0.0.0' });
    expect(links.address).toBe(`${hostname()}:${links.port}`);
    const named = await openEnd({ id: 'b', address: 'shard-b.example:7000' });
    expect(named.links.address).toBe('shard-b.example:7000');
  });

  test('is linked as soon as it begins to serve', async () => {
    const a = await openEnd({ id: 'a' });
    const b = await openEnd({ id: 'b', serves: false });
    a.links.follow([b.shard]);
    a.links.tell('b', tell(1));
    await until(() => (a.links.metrics().peers[0]?.refusals ?? 0) > 0);
    expect(b.warnings).toEqual([]);
    b.serve();
    await until(() => b.heard.length === 1);
  });
});
