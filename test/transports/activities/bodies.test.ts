// Goal: bodies pass through the proxy of activities whole and one by one, as fast as the slower end, and end when either end does.
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { type ActivityProxy, openActivityProxy } from '../../../transports/activities/proxy.ts';

const APP = '1574520440439701504';
const BODY_MAX = 100_000;

let target: Server;
let proxy: ActivityProxy;
let handle: (asked: IncomingMessage, answer: ServerResponse) => void;
const faults: unknown[] = [];

beforeAll(async () => {
  target = http.createServer((asked, answer) => handle(asked, answer));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  proxy = await openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: [], privateOrigins: new Set<string>(), allowsLoopback: true, extraCa: null },
    ...{ trustProxy: false, requestBytesMax: BODY_MAX, onFault: (error: unknown) => faults.push(error) },
    clock: systemClock,
    targetOf: async (_, path) => ({ host: `127.0.0.1:${(target.address() as AddressInfo).port}`, path }),
  });
});
afterAll(async () => {
  target.closeAllConnections();
  target.close();
  await proxy.close();
  expect(faults).toEqual([]);
});

const hostOf = (app: string) => `${app}.localhost:${proxy.port}`;

const ask = (
  path: string,
  { method = 'GET', body }: { readonly method?: string; readonly body?: Buffer } = {},
) =>
  new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: proxy.port, path, method, agent: false };
    const sent = http.request({ ...options, headers: { host: hostOf(APP) } }, (answer) => {
      let text = '';
      answer.on('data', (part) => {
        text += String(part);
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
      );
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });

test.each([
  ['two lengths', 'Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello'],
  ['an unknown encoding', 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['no number as its length', 'Content-Length: 0x3\r\n\r\nabc'],
])('a request with %s is not passed on', async (_, rest) => {
  const arrived: string[] = [];
  handle = (asked, answer) => {
    arrived.push(asked.url ?? '');
    answer.end();
  };
  const answered = await new Promise<string>((resolve) => {
    let text = '';
    const head = `POST /a HTTP/1.1\r\nHost: ${hostOf(APP)}\r\n`;
    const socket = connect(proxy.port, '127.0.0.1', () => socket.write(head + rest));
    socket.on('data', (part) => {
      text += String(part);
    });
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
  expect(answered).toContain(' 400 ');
  expect(arrived).toEqual([]);
});

describe('a large body', () => {
  const large = Buffer.alloc(150_000, 'abcdefg');

  test.each([
    ['announced', { 'content-length': String(large.length) }],
    ['not announced', {}],
  ])('is received completely by a browser that reads slowly, %s', async (_, headers) => {
    let isWritten = false;
    handle = (__, answer) => {
      answer.writeHead(200, headers);
      answer.end(large, () => {
        isWritten = true;
      });
    };
    const parts: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: proxy.port, agent: false, headers: { host: hostOf(APP) } };
      http.get(options, async (answer) => {
        answer.on('error', reject);
        for await (const part of answer) {
          parts.push(part as Buffer);
          await new Promise((go) => setTimeout(go, 5));
        }
        resolve();
      });
    });
    expect(Buffer.concat(parts).equals(large)).toBe(true);
    expect(isWritten).toBe(true);
  });

  test('is read from the browser no faster than the target reads it', async () => {
    const body = Buffer.alloc(BODY_MAX, 'xyz');
    let go = (): void => undefined;
    handle = (asked, answer) => {
      go = () => {
        const parts: Buffer[] = [];
        asked.on('data', (part: Buffer) => parts.push(part));
        asked.on('end', () => answer.end(String(Buffer.concat(parts).equals(body))));
      };
    };
    const answered = ask('/', { method: 'POST', body });
    await new Promise((resolve) => setTimeout(resolve, 200));
    go();
    expect((await answered).body).toBe('true');
  });

  test('is aborted at the target when the browser disconnects', async () => {
    const ended = new Promise((resolve) => {
      handle = (asked) => asked.on('close', () => resolve(asked.complete));
    });
    const head = `POST / HTTP/1.1\r\nHost: ${hostOf(APP)}\r\nContent-Length: 1000\r\n\r\nsome`;
    const socket = connect(proxy.port, '127.0.0.1', () => socket.write(head));
    setTimeout(() => socket.destroy(), 100);
    expect(await ended).toBe(false);
  });
});

describe('a response', () => {
  test('sends its headers before its body, when its size is known or it is an event stream', async () => {
    for (const headers of [{ 'content-length': '4' }, { 'content-type': 'text/event-stream' }]) {
      let finish = (): void => undefined;
      handle = (_, answer) => {
        answer.writeHead(200, headers).flushHeaders();
        finish = () => answer.end('last');
      };
      const body = await new Promise<string>((resolve, reject) => {
        const options = { host: '127.0.0.1', port: proxy.port, agent: false, headers: { host: hostOf(APP) } };
        http.get(options, (answer) => {
          let text = '';
          finish();
          answer.on('data', (part) => {
            text += String(part);
          });
          answer.on('end', () => resolve(text)).on('error', reject);
        });
      });
      expect(body.replace(':\n\n', '')).toBe('last');
    }
  });

  test('leaves the connection to the target open for the next request', async () => {
    const ports = new Set<number | undefined>();
    handle = (asked, answer) => {
      ports.add(asked.socket.remotePort);
      answer.end('body');
    };
    for (let at = 0; at < 5; at += 1) expect((await ask('/')).body).toBe('body');
    expect(ports.size).toBe(1);
  });

  test('keeps its headers after HEAD and without a body', async () => {
    handle = (_, answer) => answer.writeHead(200, { 'content-length': '4', 'x-kept': 'caf\xe9' }).end('body');
    expect(await ask('/', { method: 'HEAD' })).toMatchObject({
      ...{ status: 200, body: '', headers: { 'content-length': '4', 'x-kept': 'caf\xe9' } },
    });
    handle = (_, answer) => answer.writeHead(304, { etag: '"1"' }).end();
    expect(await ask('/')).toMatchObject({ status: 304, body: '', headers: { etag: '"1"' } });
    handle = (_, answer) => answer.writeHead(200, { 'content-length': '0' }).end();
    expect(await ask('/')).toMatchObject({ status: 200, body: '' });
  });
});
