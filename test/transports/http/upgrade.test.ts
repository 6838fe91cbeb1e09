// Goal: the first frame of a connection never travels with the response to the upgrade, which some clients would lose.

import type { WebSocket } from 'uWebSockets.js';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startServer } from '../../../transports/http/server.ts';
import { type Attached, SocketUpgrades, type UpgradedSocket } from '../../../transports/http/upgrade.ts';
import { LIMITS } from '../gateway/harness.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

class Recorder implements UpgradedSocket {
  readonly address = '127.0.0.1';
  readonly calls: string[] = [];
  readonly codes: number[] = [];
  sweepFault: Error | null = null;
  ws: WebSocket<Attached<Recorder>> | null = null;
  received(bytes: Uint8Array): void {
    this.calls.push(`received ${Buffer.from(bytes).toString()}`);
  }
  drained(): void {}
  closed(code: number): void {
    this.calls.push('closed');
    this.codes.push(code);
  }
  sweep(): void {
    this.calls.push('sweep');
    if (this.sweepFault) throw this.sweepFault;
  }
  extendDeadlines(ms: number): void {
    this.calls.push(`grant ${ms}`);
  }
  terminate(): void {
    this.calls.push('cut');
    this.ws?.close();
  }
}

/** Upgrades with timers that the test fires, and one client connected by hand. */
async function connected() {
  const timers: { readonly run: () => void; readonly delayMs: number }[] = [];
  const sweeps: (() => void)[] = [];
  const time = { nowMs: 0 };
  const faults: unknown[] = [];
  const socket = new Recorder();
  const upgrades = new SocketUpgrades<Recorder>({
    settings: { ...LIMITS, socketsMax: 10, socketsPerIpMax: 10, openFiles: null },
    frameBytesMax: 100,
    wheel: {
      add(run) {
        sweeps.push(run);
        return { cancel() {} };
      },
      after: (run) => void sweeps.push(run),
      pause: async () => false,
    },
    realTime: {
      monotonic: () => time.nowMs,
      setTimer(run, delayMs) {
        const timer = { run, delayMs };
        timers.push(timer);
        return { cancel: () => void timers.splice(timers.indexOf(timer), 1) };
      },
    },
    nowMs: () => time.nowMs,
    onFault: (fault) => {
      if (fault !== socket.sweepFault) throw fault;
      faults.push(fault);
    },
    admit: () => ({ socket, refusal: null }),
    opened(ws) {
      socket.calls.push('opened');
      socket.ws = ws;
      ws.send('HELLO');
    },
  });
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    installers: [(app) => upgrades.install(app, ['/'], false)],
  });
  const client = connect(server.port, '127.0.0.1');
  const received: Buffer[] = [];
  client.on('data', (bytes) => received.push(bytes));
  client.write(
    'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  await once(client, 'data');
  closers.push(
    () => client.destroy(),
    () => server.close(),
  );
  return { door: upgrades, socket, client, received, timers, sweeps, time, faults };
}

const text = (received: readonly Buffer[]) => Buffer.concat(received).toString('latin1');

test('the response to an upgrade is sent alone, and the first frame after a delay of 50 ms', async () => {
  const { received, timers, socket, client, time } = await connected();
  expect(text(received)).toMatch(/^HTTP\/1\.1 101 /);
  expect(text(received).split('\r\n\r\n')).toEqual([expect.any(String), '']);
  expect(socket.calls).toEqual([]);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([50]);
  time.nowMs = 50;
  timers.shift()?.run();
  await once(client, 'data');
  expect(text(received).split('\r\n\r\n')[1]?.slice(2)).toBe('HELLO');
  expect(socket.calls).toEqual(['opened']);
  expect(timers).toEqual([]);
});

test('a socket is opened before its first frame is delivered', async () => {
  const { client, socket, timers, time } = await connected();
  client.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  await once(client, 'data');
  expect(socket.calls).toEqual(['opened', 'received hi']);
  time.nowMs = 50;
  timers.shift()?.run();
  expect(socket.calls).toEqual(['opened', 'received hi']);
});

test('an unopened socket is not swept, and not opened after its client disconnects', async () => {
  const { client, socket, sweeps, timers, time } = await connected();
  sweeps.shift()?.();
  expect(socket.calls).toEqual([]);
  client.destroy();
  await expect.poll(() => socket.calls).toEqual(['closed']);
  time.nowMs = 50;
  timers.shift()?.run();
  expect(socket.calls).toEqual(['closed']);
});

test('deadlines are extended by a pause of the process before they are checked', async () => {
  const { socket, sweeps, timers, time } = await connected();
  time.nowMs = 50;
  timers.shift()?.run();
  for (const nowMs of [1000, 2500]) {
    time.nowMs = nowMs;
    sweeps.shift()?.();
  }
  expect(socket.calls).toEqual(['opened', 'sweep', 'sweep']);
  time.nowMs = 2500 + 1000 + 120_000;
  sweeps.shift()?.();
  expect(socket.calls.slice(3)).toEqual(['grant 120000', 'sweep']);
});

test('an exception of a sweep is reported, and the next sweep takes place', async () => {
  const { socket, sweeps, timers, time, faults } = await connected();
  time.nowMs = 50;
  timers.shift()?.run();
  socket.sweepFault = new Error('a bug');
  for (const nowMs of [1000, 2000]) {
    time.nowMs = nowMs;
    sweeps.shift()?.();
  }
  expect([socket.calls, faults]).toEqual([
    ['opened', 'sweep', 'sweep'],
    [socket.sweepFault, socket.sweepFault],
  ]);
});

test('a pending socket is opened and then terminated when the server closes its sockets', async () => {
  const { door: upgrades, socket, timers } = await connected();
  upgrades.close();
  expect(socket.calls.slice(0, 2)).toEqual(['opened', 'cut']);
  expect(timers).toEqual([]);
});

test.each([
  [1000, 1000],
  [4200, 4200],
  [1012, 1006],
  [3040, 1006],
])(
  'a close frame with code %i is reported as %i, because the library hides 1012 to 3999',
  async (sent, told) => {
    const { client, socket } = await connected();
    client.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, sent >> 8, sent & 255]));
    await expect.poll(() => socket.codes).toEqual([told]);
  },
);
