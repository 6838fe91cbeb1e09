// Goal: a port that shards share never refuses a connection: while no shard listens, connections wait for the next shard.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { type HttpServer, startServer } from '../../../transports/http/server.ts';
import { openStandby, type Standby, type StandbyOptions } from '../../../transports/http/standby.ts';

const HOST = '127.0.0.1';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function arrange(options: Partial<StandbyOptions> = {}) {
  const state = { served: 0 };
  const standby = await openStandby({
    host: HOST,
    port: 0,
    served: () => state.served > 0,
    clock: systemClock,
    ...options,
  });
  closing.push(() => standby.close());
  const shard = async (name: string): Promise<HttpServer> => {
    const server = await startServer({
      ...{ host: HOST, port: standby.port, shared: true },
      installers: [(app) => void app.any('/who', (res) => void res.end(name))],
    });
    closing.push(() => server.close());
    state.served += 1;
    standby.changed();
    return server;
  };
  const leave = (server: HttpServer) => {
    state.served -= 1;
    server.close();
  };
  return { standby, state, shard, leave };
}

/** One request on a new connection; returns the error when there is no answer. */
const ask = ({ port }: Standby, timeoutMs = 5000): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const socket = connect(port, HOST, () =>
      socket.write('GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    );
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('silence')));
    socket.on('data', (data) => {
      text += data;
      if (/\r\n\r\n./s.test(text)) socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve(text.split('\r\n\r\n')[1] || 'closed'));
  });

/** Connections that stay open for further requests, from the first moment at which the port accepts one, until a request is answered. */
async function firstConnection(port: number): Promise<{ readonly text: string; readonly isClosed: boolean }> {
  for (;;) {
    const socket = connect(port, HOST);
    const isOpen = await new Promise<boolean>((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    );
    if (!isOpen) {
      await delay(1);
      continue;
    }
    let text = '';
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        text += data;
      });
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write('GET /who HTTP/1.1\r\nHost: a\r\n\r\n');
    const isClosed = await Promise.race([closed.then(() => true), delay(5_000).then(() => false)]);
    socket.destroy();
    // Before the port is shared, connections are closed at once.
    if (text !== '' || !isClosed) return { text, isClosed };
  }
}

describe('the port of shards', () => {
  test('answers 503 while it is being opened, and keeps no connection of that time', async () => {
    const { standby: other } = await arrange();
    const { port } = other;
    await other.close();
    const [{ text, isClosed }] = await Promise.all([firstConnection(port), arrange({ port })]);
    expect(text).toMatch(
      /^HTTP\/1.1 503 [\s\S]*\r\nRetry-After: 1\r\n[\s\S]*{"message":"503: Service Unavailable","code":0}$/,
    );
    expect(isClosed).toBe(true);
  });

  test('is served by the shards alone while one of them listens', async () => {
    const { standby, shard } = await arrange();
    expect(standby.accepts).toBe(true);
    await shard('one');
    await shard('two');
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(standby)));
    expect(new Set(answers)).toEqual(new Set(['one', 'two']));
    expect(standby.connections).toBe(0);
  });

  test('accepts requests while no shard listens, and the next shard serves them', async () => {
    const { standby, shard, leave } = await arrange();
    const early = ask(standby);
    await delay(50);
    expect(standby.connections).toBe(1);
    const first = await shard('one');
    expect(await early).toBe('one');
    leave(first);
    const between = Promise.all([ask(standby), ask(standby)]);
    await delay(50);
    await shard('two');
    expect(await between).toEqual(['two', 'two']);
  });

  test('loses no request when the last shard closes before the standby is notified', async () => {
    const { standby, state, shard } = await arrange();
    const first = await shard('one');
    first.close();
    const unknown = ask(standby);
    await delay(250);
    // The standby forwarded the connection to itself once per check, not in a busy loop.
    expect(standby.connections).toBeLessThan(8);
    state.served = 0;
    await delay(150);
    await shard('two');
    expect(await unknown).toBe('two');
  });

  test('closes waiting connections after their time-out and beyond their bound', async () => {
    const { standby } = await arrange({ connectionsMax: 2, waitMs: 100 });
    const answers = await Promise.all([ask(standby), ask(standby), ask(standby)]);
    for (const answer of answers) expect(['closed', 'ECONNRESET']).toContain(answer);
    await expect.poll(() => standby.connections).toBe(0);
  });

  test('closes a waiting connection at its time-out although earlier looks found no shard', async () => {
    const clock = new VirtualClock();
    const { standby } = await arrange({ clock, waitMs: 250 });
    const waiting = connect(standby.port, HOST).on('error', () => undefined);
    closing.push(() => waiting.destroy());
    await expect.poll(() => standby.connections).toBe(1);
    // The third look is the first one after the time-out.
    for (let looks = 0; looks < 3; looks += 1) clock.advance(100);
    await expect.poll(() => standby.connections).toBe(0);
  });

  test('forwards a connection from the port of a former forwarding connection', async () => {
    const clock = new VirtualClock();
    const { standby, state } = await arrange({ clock, waitMs: 100 });
    const { port } = standby;
    const made: Socket[] = [];
    const add = (message: unknown) => void made.push((message as { readonly socket: Socket }).socket);
    subscribe('net.client.socket', add);
    closing.push(() => unsubscribe('net.client.socket', add));
    const open = async (localPort?: number) => {
      const socket = connect({ host: HOST, port, localPort }).on('error', () => undefined);
      closing.push(() => socket.destroy());
      await once(socket, 'connect');
    };
    // No shard listens, so a connection is forwarded to the port itself, where it waits.
    state.served = 1;
    await open();
    await expect.poll(() => standby.connections).toBe(2);
    const formerPort = made[1]?.localPort;
    expect(formerPort).toBeGreaterThan(0);
    state.served = 0;
    clock.advance(100);
    await expect.poll(() => standby.connections).toBe(0);
    state.served = 1;
    await open(formerPort);
    await expect.poll(() => standby.connections).toBe(2);
  });

  test('is never shared with another server, and accepts nothing while no shard listens on IPv6', async () => {
    const { standby } = await arrange();
    await expect(startServer({ host: HOST, port: standby.port, installers: [] })).rejects.toThrow(
      'Cannot listen',
    );
    const taken = await startServer({ host: HOST, port: 0, installers: [] });
    closing.push(() => taken.close());
    await expect(
      openStandby({ host: HOST, port: taken.port, served: () => false, clock: systemClock }),
    ).rejects.toThrow('Cannot listen');
    const { standby: other, shard } = await arrange();
    await shard('one');
    const second = openStandby({ host: HOST, port: other.port, served: () => false, clock: systemClock });
    await expect(second).rejects.toThrow('Cannot listen');
    const six = await openStandby({ host: '::1', port: 0, served: () => false, clock: systemClock });
    expect([six.accepts, six.port > 0]).toEqual([false, true]);
  });
});
