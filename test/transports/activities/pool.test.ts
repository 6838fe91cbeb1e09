// Goal: connections to targets are reused only where that is safe, and are bounded in number and time.
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createSecureServer } from 'node:tls';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { type ActivityProxy, openActivityProxy } from '../../../transports/activities/proxy.ts';

const APP = '1574520440439701504';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** @param count Which request of the connection it is, from 1 on. */
type Answering = (asked: string, socket: Socket, count: number) => void;

/** A target that answers with bytes of the test's choice. */
async function openTarget(answering: Answering, server: Server = createServer(), event = 'connection') {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    let count = 0;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      count += 1;
      asked.push(String(bytes));
      answering(String(bytes), socket, count);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked, sockets };
}

type Options = Partial<Parameters<typeof openActivityProxy>[0]>;

async function openProxy(hostOf: (path: string) => string, options: Options = {}): Promise<ActivityProxy> {
  const faults: unknown[] = [];
  const proxy = await openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: [], privateOrigins: new Set<string>(), allowsLoopback: true, extraCa: null },
    ...{ trustProxy: false, requestBytesMax: 1 << 20, onFault: (error: unknown) => faults.push(error) },
    clock: systemClock,
    targetOf: (_, path) => ({ host: hostOf(path), path }),
    ...options,
  });
  closing.push(async () => {
    await proxy.close();
    expect(faults).toEqual([]);
  });
  return proxy;
}

const ask = (
  proxy: ActivityProxy,
  { method = 'GET', body = '', path = '/' } = {},
): Promise<[number, string]> =>
  new Promise((resolve, reject) => {
    const headers = { host: `${APP}.localhost:${proxy.port}` };
    const sent = http.request(
      { host: '127.0.0.1', port: proxy.port, agent: false, path, method, headers },
      (answer) => {
        let text = '';
        answer.on('data', (part) => {
          text += String(part);
        });
        answer.on('end', () => resolve([answer.statusCode ?? 0, text])).on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });

const okWith = (body: string, header = '') =>
  `HTTP/1.1 200 OK\r\n${header}Content-Length: ${body.length}\r\n\r\n${body}`;

describe('a kept connection that ends instead of answering', () => {
  const openWith = async () => {
    const target = await openTarget((_, socket, count) => {
      if (count === 1) socket.write(okWith('first'));
      else socket.destroy();
    });
    const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
    expect(await ask(proxy)).toEqual([200, 'first']);
    return { target, proxy };
  };

  test.each(['GET', 'HEAD', 'DELETE'])('is replaced once for %s', async (method) => {
    const { target, proxy } = await openWith();
    expect((await ask(proxy, { method }))[0]).toBe(200);
    expect(target.asked.length).toBe(3);
  });

  test.each([
    ['POST', ''],
    ['POST', 'body'],
    ['PUT', 'body'],
  ])('is not replaced for %s with the body "%s"', async (method, body) => {
    const { target, proxy } = await openWith();
    expect((await ask(proxy, { method, body }))[0]).toBe(502);
    expect(target.asked.filter((text) => text.startsWith(method)).length).toBe(1);
  });
});

test('a new connection that ends instead of answering is not replaced', async () => {
  const target = await openTarget((_, socket) => socket.destroy());
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  expect((await ask(proxy))[0]).toBe(502);
  expect(target.asked.length).toBe(1);
});

test('a kept connection that ends after the start of an answer is not replaced', async () => {
  const target = await openTarget((_, socket, count) => {
    if (count === 1) socket.write(okWith('first'));
    else socket.end('HTTP/1.1 200 OK\r\n');
  });
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  expect(await ask(proxy)).toEqual([200, 'first']);
  expect((await ask(proxy))[0]).toBe(502);
  expect(target.asked.length).toBe(2);
});

test.each([
  ['bytes after the answer', `${okWith('one')}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen`],
  ['Connection: close', okWith('one', 'Connection: close\r\n')],
  ['Keep-Alive: timeout=1', okWith('one', 'Keep-Alive: timeout=1\r\n')],
  ['HTTP/1.0', okWith('one').replace('1.1', '1.0')],
])('a connection with %s is not used again', async (_, text) => {
  const connections = new Set<Socket>();
  const target = await openTarget((__, socket) => {
    connections.add(socket);
    socket.write(text);
  });
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  for (let at = 0; at < 3; at += 1) expect(await ask(proxy)).toEqual([200, 'one']);
  expect(connections.size).toBe(3);
});

test('unsolicited bytes close the connection and are sent to no browser', async () => {
  const target = await openTarget((_, socket) => {
    socket.write(okWith('one'));
    setTimeout(() => socket.write(okWith('stolen')), 50);
  });
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  expect(await ask(proxy)).toEqual([200, 'one']);
  await expect.poll(() => target.sockets.size).toBe(0);
  expect(await ask(proxy)).toEqual([200, 'one']);
});

test.each([
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['a folded line', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n'],
  ['no HTTP', 'hello\r\n\r\n'],
])('an answer with %s becomes a 502', async (_, text) => {
  const target = await openTarget((__, socket) => socket.write(text));
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  expect((await ask(proxy))[0]).toBe(502);
  await expect.poll(() => target.sockets.size).toBe(0);
});

test('a response delimited by the end of its connection is complete, and truncated chunks are not', async () => {
  const target = await openTarget((asked, socket) => {
    if (asked.startsWith('GET /chunks'))
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
    else socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(300_000)}`);
  });
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  expect((await ask(proxy))[1].length).toBe(300_000);
  await expect(ask(proxy, { path: '/chunks' })).rejects.toThrow();
});

test('an idle connection is closed before most targets would close it', async () => {
  const target = await openTarget((_, socket) => socket.write(okWith('x', 'Keep-Alive: timeout=2\r\n')));
  const proxy = await openProxy(() => `127.0.0.1:${target.port}`);
  await ask(proxy);
  expect(target.sockets.size).toBe(1);
  await sleep(1_700);
  expect(target.sockets.size).toBe(0);
});

test('an idle connection of one target makes room for another target, and a busy one does not', async () => {
  const open = (body: string) =>
    openTarget((asked, socket) => void (asked.startsWith('GET /hold') || socket.write(okWith(body))));
  const [one, other] = [await open('one'), await open('other')];
  const proxy = await openProxy((path) => `127.0.0.1:${path.endsWith('other') ? other.port : one.port}`, {
    bounds: { targetConnections: 1 },
  });
  expect(await ask(proxy)).toEqual([200, 'one']);
  expect(await ask(proxy, { path: '/other' })).toEqual([200, 'other']);
  await expect.poll(() => one.sockets.size).toBe(0);
  const held = ask(proxy, { path: '/hold' }).catch(() => null);
  await expect.poll(() => one.sockets.size).toBe(1);
  expect((await ask(proxy, { path: '/other' }))[0]).toBe(502);
  for (const socket of one.sockets) socket.destroy();
  await held;
});

test('a request with a body of unknown size reaches the target in chunks, and a connection is kept after it', async () => {
  const server = http.createServer((asked, answer) => {
    let size = 0;
    asked.on('data', (part: Buffer) => {
      size += part.length;
    });
    asked.on('end', () =>
      answer.end(`${asked.headers['transfer-encoding']} ${size} ${asked.socket.remotePort}`),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => server.close());
  const proxy = await openProxy(() => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  const post = () =>
    new Promise<string>((resolve, reject) => {
      const headers = { host: `${APP}.localhost:${proxy.port}` };
      const options = { host: '127.0.0.1', port: proxy.port, agent: false, method: 'POST', headers };
      const sent = http.request(options, (answer) => answer.on('data', (part) => resolve(String(part))));
      sent.on('error', reject);
      for (let at = 0; at < 10; at += 1) sent.write('x'.repeat(20_000));
      sent.end();
    });
  const [first, second] = [await post(), await post()];
  expect(first).toMatch(/^chunked 200000 \d+$/);
  expect(second).toBe(first);
  server.closeAllConnections();
});

test('a request whose browser leaves while its mapping is looked up does not reach the target', async () => {
  const target = await openTarget((_, socket) => socket.write(okWith('one')));
  const at = (path: string) => ({ host: `127.0.0.1:${target.port}`, path });
  let [isAsked, find] = [false, (_: ReturnType<typeof at>): void => undefined];
  const late = new Promise<ReturnType<typeof at>>((resolve) => {
    find = resolve;
  });
  const proxy = await openProxy(() => '', {
    targetOf: (_, path) => {
      isAsked ||= path === '/late';
      return path === '/late' ? late : at(path);
    },
  });
  const browser = connect(proxy.port, '127.0.0.1');
  browser.write(`POST /late HTTP/1.1\r\nHost: ${APP}.localhost:${proxy.port}\r\nContent-Length: 5\r\n\r\n`);
  await expect.poll(() => isAsked).toBe(true);
  browser.destroy();
  await once(browser, 'close');
  // The proxy sees the end of that connection while it answers others; the first answer may be earlier on a busy machine.
  for (let n = 0; n < 5; n += 1) expect(await ask(proxy)).toEqual([200, 'one']);
  find(at('/late'));
  expect(await ask(proxy)).toEqual([200, 'one']);
  expect(target.asked.filter((text) => text.startsWith('POST'))).toEqual([]);
  expect(target.sockets.size).toBe(1);
});

describe('a target with TLS', () => {
  const answering: Answering = (asked, socket) =>
    void socket.write(okWith(asked.startsWith('GET /large') ? 'x'.repeat(300_000) : 'secret'));

  test('is reached over a kept connection when its certificate is trusted, and not otherwise', async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
      ...{ keyType: 'ec', curve: 'P-256', algorithm: 'sha256' },
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
      ],
    });
    const target = await openTarget(answering, createSecureServer({ key, cert }), 'secureConnection');
    const origins = {
      privateOrigins: new Set([`https://localhost:${target.port}`, `https://127.0.0.1:${target.port}`]),
    };
    const proxy = await openProxy(() => `localhost:${target.port}`, { ...origins, extraCa: cert });
    expect(await ask(proxy)).toEqual([200, 'secret']);
    expect((await ask(proxy, { path: '/large' }))[1].length).toBe(300_000);
    expect(target.sockets.size).toBe(1);
    const distrusting = await openProxy(() => `localhost:${target.port}`, origins);
    expect((await ask(distrusting))[0]).toBe(502);
    // The certificate names another host than the mapping.
    const elsewhere = await openProxy(() => `127.0.0.1:${target.port}`, { ...origins, extraCa: cert });
    expect((await ask(elsewhere))[0]).toBe(502);
    expect(target.asked.length).toBe(2);
  });
});
