// Goal: over real sockets a stock WebSocket client is served in every dialect, and the bounds on sockets hold.
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import zlib from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { GatewaySessions } from '../../../actors/session/sessions.ts';
import type { DispatchBody } from '../../../engine/fanout/body.ts';
import { watchInvalidCalls } from '../../../engine/ratelimit/invalid.ts';
import { Allowance } from '../../../engine/session/allowance.ts';
import { createGatewayRoutes, type GatewaySettings } from '../../../transports/gateway/routes.ts';
import { type AddressWatch, addressWatch } from '../../../transports/http/addresswatch.ts';
import { uWS } from '../../../transports/http/uws.ts';
import { dispatchOf, FakeBackend, SETTINGS } from '../../actors/session/harness.ts';
import { readEtf, StreamInflate, writeEtf } from '../../support/codec-client.ts';
import { IDENTIFY, LIMITS } from './harness.ts';

type Payload = { op: number; d: Record<string, unknown>; s: number | null; t: string | null };
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(
  change: Partial<GatewaySettings> = {},
  newAllowance = () => new Allowance(),
  watch: AddressWatch | null = null,
) {
  const wheel = new TimerWheel(systemClock, 10);
  const backend = new FakeBackend();
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  const nowMs = () => systemClock.monotonic();
  let made = 0;
  const sessions = new GatewaySessions({
    settings: SETTINGS,
    backend,
    wheel,
    nowMs,
    unixMs: Date.now,
    randomBytes: (size) => new Uint8Array(size).fill(++made),
    gatewayUrl: () => 'ws://127.0.0.1',
    onFault,
  });
  const app = uWS.App();
  const settings = {
    ...LIMITS,
    socketsMax: 100,
    socketsPerIpMax: 100,
    openFiles: null,
    trustProxy: false,
    ...change,
  };
  const gateway = createGatewayRoutes(app, {
    settings,
    port: sessions,
    newAllowance,
    wheel,
    realTime: systemClock,
    clock: systemClock,
    onFault,
    watch,
  });
  app.any('/*', (res) => void res.end('http'));
  const listening = await new Promise<unknown>((resolve) =>
    app.listen('127.0.0.1', 0, (token) => resolve(token)),
  );
  closers.push(() => {
    gateway.close();
    sessions.close();
    wheel.stop();
    uWS.us_listen_socket_close(listening as never);
  });
  return { gateway, sessions, backend, faults, port: uWS.us_socket_local_port(listening as never) };
}

type Read = (bytes: Buffer, binary: boolean) => Promise<unknown>;
const READERS: Record<string, () => Read> = {
  json: () => async (bytes) => JSON.parse(bytes.toString()),
  etf: () => async (bytes) => readEtf(bytes),
  zlibJson: () => {
    const inflate = new StreamInflate();
    return async (bytes) => JSON.parse((await inflate.message(bytes)).toString());
  },
  zlibEtf: () => {
    const inflate = new StreamInflate();
    return async (bytes) => readEtf(await inflate.message(bytes));
  },
  payload: () => async (bytes, binary) => JSON.parse((binary ? zlib.inflateSync(bytes) : bytes).toString()),
};

/** A client that reads frames one after the other and can wait for any of them. */
function client(port: number, path: string, read: Read = (READERS.json as () => Read)()) {
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  const got: Payload[] = [];
  let reading = Promise.resolve();
  let wake = () => {};
  ws.on('message', (data: Buffer, binary: boolean) => {
    reading = reading.then(async () => {
      got.push((await read(data, binary)) as Payload);
      wake();
    });
  });
  ws.on('error', () => {});
  closers.push(() => ws.terminate());
  const until = async (found: (payload: Payload) => boolean): Promise<Payload> => {
    for (;;) {
      const payload = got.find(found);
      if (payload) return payload;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const closed = new Promise<number>((resolve) => ws.on('close', resolve));
  return { ws, got, until, closed, say: (op: number, d: unknown) => ws.send(JSON.stringify({ op, d })) };
}

const named = (t: string) => (payload: Payload) => payload.t === t;
const deliverAll = (backend: FakeBackend, body: DispatchBody) => {
  for (const session of backend.live) session.deliver(body);
};

describe('the gateway over sockets', () => {
  it.each([
    ['/?v=10&encoding=json', 'json'],
    ['/', 'json'],
    ['/?encoding=json&v=9', 'json'],
    ['/gateway?v=10&encoding=json', 'json'],
    ['/?v=10&encoding=etf', 'etf'],
    ['/?compress=zlib-stream&encoding=json&v=10', 'zlibJson'],
    ['/?v=10&encoding=etf&compress=zlib-stream', 'zlibEtf'],
    ['/?v=10&encoding=json', 'payload'],
  ])('speaks on %s as %s', async (path, reader) => {
    const { port, backend, faults } = await serve();
    const { ws, until, got } = client(port, path, (READERS[reader] as () => Read)());
    const hello = await until(({ op }) => op === 10);
    expect(hello.d).toEqual({ heartbeat_interval: 41_250 });
    const say = (op: number, d: unknown) =>
      ws.send(path.includes('etf') ? writeEtf({ op, d }) : JSON.stringify({ op, d }));
    say(2, { ...IDENTIFY, compress: reader === 'payload' });
    await until((payload) => payload.t === 'GUILD_CREATE' && payload.s === 4);
    for (const size of [10, 5000, 100_000, 10]) deliverAll(backend, dispatchOf('é'.repeat(size)));
    say(1, 4);
    const last = await until(({ s }) => s === 8);
    await until(({ op }) => op === 11);
    expect(last.d).toEqual({ content: 'é'.repeat(10) });
    expect(got.filter(({ op }) => op === 0).map(({ s }) => s)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect((await until(named('READY'))).d.v).toBe(path.includes('v=9') ? 9 : 10);
    expect(faults).toEqual([]);
  });

  it.each([
    ['/?v=8', 4012],
    ['/?v=x', 4012],
    ['/?v=10&encoding=xml', 4002],
    ['/?v=10&compress=gzip', 4002],
  ])('sends HELLO to %s and closes with %i', async (path, code) => {
    const { port } = await serve();
    const { closed, got } = client(port, path);
    expect(await closed).toBe(code);
    expect(got.map(({ op }) => op)).toEqual([10]);
  });

  it.each([
    ['a payload of 5000 bytes', JSON.stringify({ op: 1, d: 'x'.repeat(5000) }), 4002],
    ['a payload of 60000 bytes', JSON.stringify({ op: 1, d: 'x'.repeat(60_000) }), 4002],
    ['an unknown opcode', '{"op":77}', 4001],
    ['a payload before IDENTIFY', '{"op":8,"d":{"guild_id":"1","query":"","limit":0}}', 4003],
  ])('closes %s with its code', async (_, text, code) => {
    const { port } = await serve();
    const { ws, closed, until } = client(port, '/?v=10&encoding=json');
    await until(({ op }) => op === 10);
    ws.send(text);
    expect(await closed).toBe(code);
  });

  it('resumes a session after a lost connection', async () => {
    const { port, backend, sessions } = await serve();
    const first = client(
      port,
      '/?v=10&encoding=json&compress=zlib-stream',
      (READERS.zlibJson as () => Read)(),
    );
    await first.until(({ op }) => op === 10);
    first.say(2, IDENTIFY);
    const ready = await first.until(named('READY'));
    await first.until(({ s }) => s === 4);
    first.ws.terminate();
    await first.closed;
    for (let index = 0; index < 300; index += 1) deliverAll(backend, dispatchOf(String(index)));
    const second = client(port, '/?v=10&encoding=json');
    await second.until(({ op }) => op === 10);
    second.say(6, { token: 'bot', session_id: ready.d.session_id, seq: 4 });
    await second.until(named('RESUMED'));
    expect(second.got.slice(1).map(({ s }) => s)).toEqual(
      Array.from({ length: 301 }, (_, index) => 5 + index),
    );
    expect(sessions.size).toBe(1);
  });

  it('ends the session of a client that closes with 1000', async () => {
    const { port, sessions, gateway } = await serve();
    const { ws, until, closed, say } = client(port, '/?v=10&encoding=json');
    await until(({ op }) => op === 10);
    say(2, IDENTIFY);
    await until(named('READY'));
    ws.close(1000);
    await closed;
    expect([sessions.size, gateway.stats().sockets]).toEqual([0, 0]);
  });

  it('closes a socket that never identifies', async () => {
    const { port } = await serve({ identifyTimeoutMs: 100 });
    expect(await client(port, '/?v=10&encoding=json').closed).toBe(4003);
  });

  it('closes a socket whose heartbeat stops, resumable', async () => {
    const { port, sessions } = await serve({ heartbeatIntervalMs: 100, heartbeatGraceMs: 50 });
    const { until, closed, say } = client(port, '/?v=10&encoding=json');
    await until(({ op }) => op === 10);
    say(2, IDENTIFY);
    expect(await closed).toBe(4000);
    expect(sessions.size).toBe(1);
  });

  it('refuses more sockets than it may have, and more of one address', async () => {
    for (const change of [{ socketsMax: 2 }, { socketsPerIpMax: 2 }]) {
      const { port, gateway } = await serve(change);
      const opened = [client(port, '/'), client(port, '/')];
      await Promise.all(opened.map(({ until }) => until(({ op }) => op === 10)));
      const third = client(port, '/');
      expect(await third.closed).toBe(1006);
      expect(gateway.stats().sockets).toBe(2);
      opened[0]?.ws.terminate();
      await vi.waitUntil(() => gateway.stats().sockets === 1);
      await client(port, '/').until(({ op }) => op === 10);
    }
  });

  it('answers 503 and closes the connection when the process may open no more files', async () => {
    let left = 1;
    const take = (): boolean => {
      left -= 1;
      return left >= 0;
    };
    const { port } = await serve({ openFiles: { take } });
    await client(port, '/').until(({ op }) => op === 10);
    const socket = connectTcp(port, '127.0.0.1');
    const closed = once(socket, 'close');
    socket.write(
      'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: 5/);
    await closed;
  });

  it('outlives a fault while a socket is being admitted', async () => {
    let broken = true;
    const { port, faults, gateway } = await serve({}, () => {
      if (broken) throw new Error('planted fault');
      return new Allowance();
    });
    const ws = new WebSocket(`ws://127.0.0.1:${port}/`);
    const [, response] = await once(ws, 'unexpected-response');
    response.destroy();
    expect(response.statusCode).toBe(500);
    expect(faults).toEqual([new Error('planted fault')]);
    broken = false;
    await client(port, '/').until(({ op }) => op === 10);
    expect(gateway.stats().sockets).toBe(1);
  });

  it.each<[how: string, written: (address: string) => string | string[]]>([
    ['at the end of a line', (address) => `10.9.9.9, ${address}`],
    ['in the last line', (address) => ['10.9.9.9', address]],
    ['with its port', (address) => `${address}:4444`],
  ])(
    'counts clients by the address %s from a trusted proxy, and ignores the header from others',
    async (_how, written) => {
      const from = (port: number, address: string) =>
        new WebSocket(`ws://127.0.0.1:${port}/`, {
          headers: { 'x-forwarded-for': written(address) } as never,
        });
      const ends = (ws: WebSocket) =>
        new Promise<string>((resolve) => {
          ws.once('open', () => resolve('open'));
          ws.once('error', () => resolve('refused'));
        });
      for (const [trustProxy, second] of [
        [true, 'open'],
        [false, 'refused'],
      ] as const) {
        const { port } = await serve({ socketsPerIpMax: 1, trustProxy });
        const first = from(port, '192.0.2.1');
        expect(await ends(first)).toBe('open');
        const other = from(port, '192.0.2.2');
        expect(await ends(other)).toBe(second);
        const again = from(port, '192.0.2.1');
        expect(await ends(again)).toBe('refused');
        for (const ws of [first, other, again]) ws.terminate();
      }
    },
  );

  it('requests a reconnect from all clients when it drains, and waits until they leave', async () => {
    const { port, gateway, sessions } = await serve();
    const clients = Array.from({ length: 5 }, () => client(port, '/?v=10&encoding=json'));
    for (const { until, say } of clients) {
      await until(({ op }) => op === 10);
      say(2, IDENTIFY);
      await until(named('READY'));
    }
    const drained = gateway.drain(2000);
    const codes = await Promise.all(
      clients.map(async ({ until, closed }) => {
        await until(({ op }) => op === 7);
        return closed;
      }),
    );
    await drained;
    expect(codes).toEqual([4000, 4000, 4000, 4000, 4000]);
    expect(sessions.size).toBe(5);
    const late = client(port, '/');
    expect(await late.closed).toBe(1006);
  });

  it('leaves plain HTTP to the HTTP server', async () => {
    const { port } = await serve();
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('http');
  });
});

describe('a client that stops reading', () => {
  /** A WebSocket client by hand, whose reading can be paused. */
  async function deaf(port: number): Promise<Socket> {
    const socket = connectTcp(port, '127.0.0.1');
    closers.push(() => socket.destroy());
    socket.write(
      'GET /?v=10&encoding=json HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    await once(socket, 'data');
    const text = Buffer.from(JSON.stringify({ op: 2, d: IDENTIFY }));
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]));
    await once(socket, 'data');
    socket.pause();
    return socket;
  }

  it('is closed within its bound while the others get everything', async () => {
    const { port, backend, gateway, sessions } = await serve({
      socketBufferBytesMax: 1 << 20,
      closeGraceMs: 200,
    });
    await deaf(port);
    const other = client(port, '/?v=10&encoding=json');
    await other.until(({ op }) => op === 10);
    other.say(2, IDENTIFY);
    await other.until(({ s }) => s === 4);
    const body = dispatchOf('x'.repeat(100_000));
    for (let seq = 5; seq < 205; seq += 1) {
      deliverAll(backend, body);
      await other.until(({ s }) => s === seq);
    }
    expect(gateway.stats().overflows).toBe(1);
    expect(gateway.stats().closes.get(4000)).toBe(1);
    for (let left = 100; gateway.stats().sockets > 1 && left > 0; left -= 1) {
      other.say(1, null);
      await other.until(({ op }) => op === 11);
      other.got.length = 0;
      await new Promise((resolve) => systemClock.setTimer(() => resolve(null), 20));
    }
    expect(gateway.stats().sockets).toBe(1);
    expect(sessions.size).toBe(2);
  });
});

describe('bad IDENTIFYs', () => {
  const watchOf = (limit: number) => {
    const counted: string[] = [];
    const invalid = watchInvalidCalls(1_000, { limit, windowMs: 600_000 });
    const { blockedMs, count } = addressWatch(invalid, () => systemClock.monotonic());
    const watch: AddressWatch = {
      blockedMs,
      count(address) {
        counted.push(address);
        count(address);
      },
    };
    return { watch, counted };
  };
  const upgrade = (
    port: number,
    from: string,
  ): Promise<{ status: number; retryAfter: number; body: unknown }> =>
    new Promise((resolve, reject) => {
      const ws = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { 'X-Forwarded-For': from } });
      closers.push(() => ws.terminate());
      ws.on('error', () => {});
      ws.on('open', () => resolve({ status: 101, retryAfter: 0, body: null }));
      ws.on('unexpected-response', (_, response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          const retryAfter = Number(response.headers['retry-after']);
          resolve({ status: response.statusCode ?? 0, retryAfter, body: JSON.parse(text) });
        });
        response.on('error', reject);
      });
    });

  it.each([
    ['a wrong token', 4004, JSON.stringify({ op: 2, d: { ...IDENTIFY, token: 'nobody' } })],
    [
      'a RESUME with a wrong token',
      4004,
      JSON.stringify({ op: 6, d: { token: 'nobody', session_id: 'x', seq: 1 } }),
    ],
    ['broken JSON', 4002, '{'],
    ['an IDENTIFY that lacks its fields', 4002, JSON.stringify({ op: 2, d: {} })],
    ['an opcode before IDENTIFY', 4003, JSON.stringify({ op: 3, d: {} })],
    ['an unknown opcode', 4001, JSON.stringify({ op: 99, d: {} })],
  ])('count against the address: %s', async (_, code, frame) => {
    const { watch, counted } = watchOf(100);
    const { port } = await serve({}, undefined, watch);
    const { until, closed, ws } = client(port, '/');
    await until(({ op }) => op === 10);
    ws.send(frame);
    expect([4001, 4002, code]).toContain(await closed);
    expect(counted).toEqual(['127.0.0.1']);
  });

  it('do not include identified clients and their later mistakes', async () => {
    const { watch, counted } = watchOf(100);
    const { port } = await serve({}, undefined, watch);
    const { until, closed, ws, say } = client(port, '/');
    await until(({ op }) => op === 10);
    say(2, IDENTIFY);
    await until(named('READY'));
    ws.send('{');
    expect(await closed).toBe(4002);
    expect(counted).toEqual([]);
  });

  it('block their network with 429 and Retry-After, behind a trusted proxy too', async () => {
    const { watch } = watchOf(3);
    const { port } = await serve({ trustProxy: true }, undefined, watch);
    for (let n = 1; n <= 3; n += 1) {
      const ws = new WebSocket(`ws://127.0.0.1:${port}/`, {
        headers: { 'X-Forwarded-For': `2001:db8::${n}` },
      });
      ws.on('message', () => ws.send('{'));
      const [code] = await once(ws, 'close');
      expect(code).toBe(4002);
    }
    const refused = await upgrade(port, '2001:db8::ffff');
    expect(refused).toMatchObject({ status: 429, body: { code: 0, global: true } });
    expect(refused.retryAfter).toBeGreaterThan(0);
    expect(await upgrade(port, '2001:db8:0:1::1')).toMatchObject({ status: 101 });
  });
});
