// Goal: over real sockets, with and without TLS, the voice gateway serves, rejects and closes its clients with the codes
// that they understand.
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { VoiceAllowance } from '../../../engine/ratelimit/flood.ts';
import type { GatewaySettings } from '../../../transports/gateway/routes.ts';
import { startServer } from '../../../transports/http/server.ts';
import { voiceRoutes } from '../../../transports/voice/routes.ts';
import { voiceTls } from '../../../transports/voice/tls.ts';
import { VoiceClient, type VoiceTicket } from '../../support/voice-client.ts';
import { FakeCalls, LIMITS } from './harness.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-voice-'));
});
afterAll(() => rm(folder, { recursive: true }));
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

async function serve(
  change: Partial<GatewaySettings> = {},
  options: { tls?: boolean; main?: boolean; proxied?: boolean; counted?: string[] } = {},
) {
  const wheel = new TimerWheel(systemClock, 10);
  const calls = new FakeCalls();
  const faults: unknown[] = [];
  const routes = voiceRoutes({
    settings: {
      ...LIMITS,
      socketsMax: 100,
      socketsPerIpMax: 100,
      openFiles: null,
      trustProxy: false,
      ...change,
    },
    trustProxyOnOwnPort: options.proxied ?? false,
    port: calls,
    newAllowance: () => new VoiceAllowance(),
    version: 'guildhall 1.2.3',
    wheel,
    realTime: systemClock,
    nowMs: () => systemClock.monotonic(),
    defer: (run) => systemClock.defer(run),
    onFault: (error) => faults.push(error),
    watch: {
      blockedMs: () => ((options.counted?.length ?? 0) > 2 ? 1_500 : 0),
      count: (address) => options.counted?.push(address),
    },
  });
  const made = options.tls
    ? await voiceTls({ voice_tls: 'auto', tls_cert_file: null, tls_key_file: null, data_dir: folder }, [])
    : { tls: null, caFile: null };
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    installers: [options.main ? routes.onMainPort : routes.onOwnPort],
    ...(made.tls && { tls: made.tls }),
  });
  closers.push(
    () => wheel.stop(),
    () => server.close(),
    () => routes.close(),
  );
  const endpoint = `127.0.0.1:${server.port}`;
  const dialect = { caFile: made.caFile };
  const ticket: VoiceTicket = {
    endpoint,
    serverId: '5',
    channelId: '6',
    userId: '7',
    sessionId: 'abc',
    token: 'ticket',
  };
  return { routes, calls, faults, endpoint, dialect, ticket, port: server.port };
}

const dial = (endpoint: string, v: number | string | null = 8) =>
  VoiceClient.dial(endpoint, { v, caFile: null });

describe('a client', () => {
  it.each([false, true])('identifies, receives frames and disconnects (TLS: %s)', async (tls) => {
    const { calls, ticket, dialect, routes, faults } = await serve({}, { tls });
    const { client, ready } = await VoiceClient.ready(ticket, dialect, { max_dave_protocol_version: 1 });
    expect(ready).toEqual({ ssrc: 1 });
    expect(calls.identified[0]).toMatchObject({ version: 8, serverId: '5', userId: '7', maxDaveVersion: 1 });
    calls.sink?.sendBinary(25, Uint8Array.of(1, 2, 3), 40_000);
    expect((await client.waitFor(25)).payload).toEqual(Buffer.from([1, 2, 3]));
    client.beat(77);
    expect((await client.waitFor(6)).d).toEqual({ t: 77 });
    expect(calls.session.asked).toEqual([['acknowledge', 40_000]]);
    expect(routes.stats()).toMatchObject({ sockets: 1, framesReceived: 2, overflows: 0 });
    await client.close();
    await expect.poll(() => calls.session.detached).toEqual([false]);
    expect(routes.stats().sockets).toBe(0);
    expect(faults).toEqual([]);
  });

  it('resumes after its connection was cut', async () => {
    const { calls, ticket, dialect } = await serve();
    const first = await VoiceClient.ready(ticket, dialect);
    await first.client.terminate();
    await expect.poll(() => calls.session.detached).toEqual([true]);
    const second = await VoiceClient.connect(ticket.endpoint, dialect);
    second.resume(ticket, 12);
    expect((await second.waitFor(9)).d).toBeNull();
    expect(calls.resumed).toMatchObject([{ seqAck: 12, sessionId: 'abc' }]);
  });

  it.each([
    ['/', 8],
    ['', 4],
    ['/voice', 9],
    ['/voice/', 5],
  ])('receives HELLO at the path %j in version %i', async (path, v) => {
    const { endpoint } = await serve();
    const hello = await dial(endpoint + path, v).waitFor(8);
    expect(hello.d).toEqual({ v, heartbeat_interval: LIMITS.heartbeatIntervalMs });
  });

  it.each([null, '3', '1', '10', '0', '', '08', 'x', '8&encoding=etf'])(
    'is closed with 4012 and without a frame in version %j',
    async (v) => {
      const { endpoint } = await serve();
      const client = dial(endpoint, v);
      expect(await client.closed).toEqual({ code: 4012, reason: 'Unknown protocol.' });
      expect(client.received).toEqual([]);
    },
  );

  it('receives HELLO at /voice and not at / on the main port', async () => {
    const { endpoint } = await serve({}, { main: true });
    expect((await dial(endpoint).closed).code).toBe(1006);
    expect((await dial(`${endpoint}/voice`).waitFor(8)).op).toBe(8);
  });

  it('is closed with 4020 for a frame above the limit, and disconnected for a far larger frame', async () => {
    const { endpoint, faults } = await serve();
    const large = dial(endpoint);
    await large.waitFor(8);
    large.sendRaw(new Uint8Array((512 << 10) + 1).fill(26));
    expect((await large.closed).code).toBe(4020);
    const huge = dial(endpoint);
    await huge.waitFor(8);
    huge.sendRaw(new Uint8Array(1 << 20).fill(26));
    expect([1006, 1009]).toContain((await huge.closed).code);
    expect(faults).toEqual([]);
  });

  it('is closed when its Identify or its heartbeat is late', async () => {
    const { endpoint, ticket, dialect } = await serve({
      identifyTimeoutMs: 100,
      heartbeatIntervalMs: 1_000,
      heartbeatGraceMs: 50,
    });
    expect((await dial(endpoint).closed).code).toBe(4009);
    const { client } = await VoiceClient.ready(ticket, dialect);
    client.silence();
    expect((await client.closed).code).toBe(4009);
  });

  it('is rejected while its address has too many sockets', async () => {
    const { endpoint } = await serve({ socketsPerIpMax: 2 });
    const [first, second] = [dial(endpoint), dial(endpoint)];
    await Promise.all([first.waitFor(8), second.waitFor(8)]);
    expect((await dial(endpoint).closed).code).toBe(1006);
    await first.close();
    await expect
      .poll(
        async () =>
          (
            await dial(endpoint)
              .waitFor(8)
              .catch(() => ({ op: 0 }))
          ).op,
      )
      .toBe(8);
  });
});

describe('the address of a client', () => {
  it.each([
    [{ trustProxy: true }, {}, false],
    [{ trustProxy: true }, { main: true }, true],
    [{ trustProxy: false }, { main: true }, false],
    [{ trustProxy: false }, { proxied: true }, true],
  ])('is read from X-Forwarded-For for %j on %j: %s', async (settings, options, isTold) => {
    const { endpoint } = await serve({ ...settings, socketsPerIpMax: 1 }, options);
    const from = (address: string) =>
      new Promise<boolean>((resolve) => {
        const ws = new WebSocket(`ws://${endpoint}/voice?v=8`, { headers: { 'x-forwarded-for': address } });
        ws.on('message', () => resolve(true));
        ws.on('error', () => resolve(false));
        closers.push(() => ws.terminate());
      });
    expect(await from('203.0.113.1')).toBe(true);
    expect(await from('203.0.113.2')).toBe(isTold);
    expect(await from('203.0.113.1')).toBe(false);
  });
});

describe('a draining voice server', () => {
  it('closes its clients with a resumable code, and accepts no new ones', async () => {
    const { routes, calls, ticket, dialect, endpoint } = await serve();
    const { client } = await VoiceClient.ready(ticket, dialect);
    const drained = routes.drain(2_000);
    expect((await client.closed).code).toBe(4015);
    await drained;
    expect(calls.session.detached).toEqual([true]);
    expect((await dial(endpoint).closed).code).toBe(1006);
  });

  it('lets clients disconnect by themselves during the given grace period', async () => {
    const { routes, ticket, dialect } = await serve();
    const { client } = await VoiceClient.ready(ticket, dialect);
    const drained = routes.drain(60_000, 50_000);
    client.close(1000);
    expect((await client.closed).code).toBe(1000);
    await drained;
  });

  it('finishes at once without clients', async () => {
    const { routes } = await serve();
    await routes.drain(60_000);
  });
});

describe('malformed bytes', () => {
  it('do not affect other clients before or inside of TLS', async () => {
    const { port, ticket, dialect, faults } = await serve({}, { tls: true });
    for (const noise of ['GET / HTTP/1.1\r\n\r\n', Buffer.alloc(2_000, 0x16), '\x16\x03\x01\x02\x00\x01']) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(noise);
      closers.push(() => socket.destroy());
    }
    const { client } = await VoiceClient.ready(ticket, dialect);
    client.sendRaw(Buffer.from([0xff, 0xfe]), false);
    // Text that is not UTF-8 violates the WebSocket protocol itself.
    expect([1006, 1007, 4002]).toContain((await client.closed).code);
    expect(faults).toEqual([]);
  });
});

describe('bad IDENTIFYs of the voice gateway', () => {
  it('count against the address, which is refused with 429 once it is blocked', async () => {
    const counted: string[] = [];
    const { endpoint, ticket, dialect } = await serve({}, { counted });
    const wrong = await VoiceClient.connect(endpoint, dialect);
    wrong.identify({ ...ticket, token: 'guess' });
    expect(await wrong.closed).toMatchObject({ code: 4004 });
    const stale = await VoiceClient.connect(endpoint, dialect);
    stale.resume({ ...ticket, token: 'guess' }, 1);
    expect(await stale.closed).toMatchObject({ code: 4006 });
    expect(await dial(endpoint, 3).closed).toMatchObject({ code: 4012 });
    expect(counted).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
    const status = await new Promise((resolve) => {
      const ws = new WebSocket(`ws://${endpoint}/?v=8`);
      ws.on('error', () => {});
      ws.on('unexpected-response', (_, response) => {
        response.resume();
        resolve([response.statusCode, response.headers['retry-after']]);
      });
    });
    expect(status).toEqual([429, '2']);
  });

  it('are not counted for clients with a session', async () => {
    const counted: string[] = [];
    const { ticket, dialect } = await serve({}, { counted });
    const { client } = await VoiceClient.ready(ticket, dialect);
    client.identify(ticket);
    expect(await client.closed).toMatchObject({ code: 4005 });
    expect(counted).toEqual([]);
  });
});
