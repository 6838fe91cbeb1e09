// Goal: requests, replies and notifications share one stream: in order, at most once, and with shards of the earlier link version.
import { afterEach, describe, expect, test } from 'vitest';
import { LINK_VERSIONS } from '../../../transports/cluster/handshake.ts';
import { closeAll, context, linked, numbers, open, pair, road, tell, until } from './ends.ts';

afterEach(closeAll);

const OLD = { newest: 1, oldest: 1 };

describe('shards of a rolling upgrade', () => {
  test.each([
    ['from version 1 to 2', OLD, LINK_VERSIONS],
    ['from version 2 to 1', LINK_VERSIONS, OLD],
  ])('exchange requests and notifications %s', async (_, first, second) => {
    const [a, b] = await pair({ versions: second }, { versions: first });
    a.links.tell('b', tell(1));
    expect(await a.links.ask('b', 'm', [2], context())).toEqual(['a', 'm', 2]);
    await until(() => b.heard.length === 1);
    await until(() => a.links.metrics().peers[0]?.waitingBytes === 0);
  });
});

describe('a request over the stream', () => {
  test('finds what was sent before it, and nothing that was sent later', async () => {
    const seen: unknown[] = [];
    const a = await open({ id: 'a' });
    const b = await open({
      id: 'b',
      ask: async (_, __, [n]) => {
        seen.push([n, b.heard.at(-1)]);
        return null;
      },
    });
    a.links.follow([b.shard]);
    await until(() => linked(a));
    const asked = numbers(50).map((n) => {
      a.links.tell('b', tell(n));
      return a.links.ask('b', 'm', [n], context());
    });
    await Promise.all(asked);
    expect(seen).toEqual(numbers(50).map((n) => [n, n]));
  });

  test('is executed at most once although connections break, and a reply is for its own request', async () => {
    const executed: unknown[] = [];
    const a = await open({ id: 'a' });
    const b = await open({
      id: 'b',
      ask: async (_, __, [n]) => {
        executed.push(n);
        await new Promise((resolve) => setImmediate(resolve));
        return n;
      },
    });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    const kinds = new Set<unknown>();
    const answered: unknown[] = [];
    for (const n of numbers(2000)) {
      void a.links.ask('b', 'm', [n], context({ commandKey: 'x'.repeat(n % 700) })).then(
        (reply) => answered.push(reply === n ? n : `${n} was answered with ${reply}`),
        ({ kind }) => kinds.add(kind),
      );
      a.links.tell('b', tell(n));
      if (n % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (n % 400 === 200) way.cut();
      if (n % 400 === 300) await until(() => linked(a));
    }
    await until(() => a.links.metrics().peers[0]?.asksUnderWay === 0 && linked(a));
    await until(() => b.heard.length === 2000);
    expect(b.heard).toEqual(numbers(2000));
    expect(new Set(executed).size).toBe(executed.length);
    expect(answered.filter((n) => !executed.includes(n))).toEqual([]);
    expect(answered.length).toBeGreaterThan(500);
    expect([...kinds].filter((kind) => kind !== 'lost' && kind !== 'unreachable')).toEqual([]);
    expect(b.links.metrics().asksUnderWay).toBe(0);
  });

  test('is not executed after its sender has rejected it, although its batch is sent again', async () => {
    const executed: unknown[] = [];
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', ask: async (_, __, [n]) => executed.push(n) });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    way.hold();
    const asked = a.links.ask('b', 'm', [1], context()).catch((fault: unknown) => fault);
    a.links.tell('b', tell(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    way.cut();
    expect(await asked).toMatchObject({ kind: 'lost' });
    way.release();
    await until(() => b.heard.length === 1);
    expect(await a.links.ask('b', 'm', [2], context())).toBe(1);
    expect(executed).toEqual([2]);
  });

  test('is overloaded where the queue has no room for it, and breaks nothing', async () => {
    const a = await open({ id: 'a', bytesMax: 1 << 20 });
    const b = await open({ id: 'b' });
    const way = await road(b.shard.address);
    a.links.follow([{ ...b.shard, address: way.address }]);
    await until(() => linked(a));
    way.hold();
    const text = 'x'.repeat(100_000);
    for (const n of numbers(9)) a.links.tell('b', { kind: 'tell', method: 'm', key: 'k', args: [n, text] });
    await expect(a.links.ask('b', 'm', ['x'.repeat(200_000)], context())).rejects.toMatchObject({
      kind: 'overloaded',
    });
    way.release();
    await until(() => b.heard.length === 9);
    expect([a.broken, b.heard]).toEqual([[], numbers(9)]);
    expect(a.links.metrics().peers[0]).toMatchObject({ asksUnderWay: 0 });
  });

  test('has its reply replaced by a fault when its sender reads too slowly', async () => {
    const large = 'x'.repeat(1 << 20);
    const a = await open({ id: 'a' });
    const b = await open({ id: 'b', bytesMax: 4 << 20, ask: async () => large });
    a.links.follow([b.shard]);
    await until(() => linked(a));
    const asked = numbers(12).map(() => a.links.ask('b', 'm', [], context()).catch(({ kind }) => kind));
    const replies = await Promise.all(asked);
    expect(replies.filter((reply) => reply === large).length).toBeGreaterThanOrEqual(3);
    expect(replies.filter((reply) => reply === 'lost').length).toBeGreaterThan(0);
    expect(await a.links.ask('b', 'm', [], context())).toBe(large);
  });
});
