// Goal: the origin of an activity reaches what its application has mapped and nothing else, and no target changes what the origin is.
import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { mappedTargets } from '../../../engine/application/mappings.ts';
import type { UrlMapping } from '../../../engine/user/facts.ts';
import { type ActivityProxy, openActivityProxy } from '../../../transports/activities/proxy.ts';

const [APP, OTHER] = ['1574520440439701504', '1574520440439701505'];
const BODY_MAX = 100_000;
const ANSWER_MAX = 200_000;

let target: Server;
let sockets: WebSocketServer;
let proxy: ActivityProxy;
let mappings: UrlMapping[] = [];
let handle: (asked: IncomingMessage, answer: ServerResponse) => void;
const faults: unknown[] = [];
const targetHost = () => `127.0.0.1:${(target.address() as AddressInfo).port}`;

beforeAll(async () => {
  target = http.createServer((asked, answer) => handle(asked, answer));
  sockets = new WebSocketServer({ server: target, handleProtocols: (all) => [...all][0] ?? false });
  sockets.on('connection', (socket, asked) => {
    socket.send(JSON.stringify({ path: asked.url, headers: asked.headers }));
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  proxy = await openActivityProxy({
    ...{ host: '127.0.0.1', port: 0, baseUrl: 'http://localhost', server: () => 'http://127.0.0.1:1' },
    ...{ embedders: ['http://127.0.0.1:*'], privateOrigins: new Set<string>(), allowsLoopback: true },
    clock: systemClock,
    ...{
      trustProxy: false,
      extraCa: null,
      requestBytesMax: BODY_MAX,
      answerBytesMax: ANSWER_MAX,
      onFault: (error: unknown) => faults.push(error),
    },
    targetOf: async (id, path) => mappedTargets(String(id) === APP ? mappings : [])(path),
    resolve: (host, done) =>
      done(null, [{ address: host.startsWith('inside') ? '10.0.0.1' : '127.0.0.1', family: 4 }]),
  });
});
afterAll(async () => {
  sockets.close();
  target.closeAllConnections();
  target.close();
  await proxy.close();
  expect(faults).toEqual([]);
});
beforeEach(() => {
  mappings = [
    { prefix: '/', target: `${targetHost()}/site` },
    { prefix: '/api/{room}', target: `${targetHost()}/rooms/{room}` },
  ];
  handle = (asked, answer) => answer.end(JSON.stringify({ path: asked.url, headers: asked.headers }));
});

interface ReceivedRequest {
  readonly app?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer;
}
interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const hostOf = (app: string) => `${app}.localhost:${proxy.port}`;

const ask = (
  path: string,
  { app = APP, method = 'GET', headers = {}, body }: ReceivedRequest = {},
): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: proxy.port, path, method, agent: false };
    const sent = http.request({ ...options, headers: { host: hostOf(app), ...headers } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({
          ...{ status: answer.statusCode ?? 0, headers: answer.headers },
          body: Buffer.concat(chunks).toString(),
        }),
      );
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
const told = async (path: string, asked?: ReceivedRequest) =>
  JSON.parse((await ask(path, asked)).body) as { path: string; headers: IncomingHttpHeaders };

describe('a request', () => {
  test.each([
    ['/', '/site/'],
    ['/a/b?c=d%20e', '/site/a/b?c=d%20e'],
    ['/.proxy/a', '/site/a'],
    ['/.proxy', '/site/'],
    ['/api/red/x', '/rooms/red/x'],
    ['/.proxy/api/red', '/rooms/red'],
  ])('maps the path %s to %s', async (path, reached) => {
    expect((await told(path)).path).toBe(reached);
  });

  test('forwards the headers of the page, and none that identify the user or upstream proxies', async () => {
    const { headers } = await told('/', {
      method: 'POST',
      body: Buffer.from('x'),
      headers: {
        ...{ authorization: 'Bearer of the game', 'content-type': 'text/plain', 'x-custom': '1' },
        ...{ 'x-forwarded-for': '9.9.9.9', forwarded: 'for=9.9.9.9', 'x-real-ip': '9.9.9.9' },
        ...{ 'x-client-ip': '9.9.9.9', 'fastly-client-ip': '9.9.9.9', 'cf-connecting-ip': '9.9.9.9' },
        ...{ 'sec-fetch-site': 'same-origin', cookie: '__Host-sid=1; session=ours; __Host-b=2' },
        ...{ connection: 'keep-alive, x-hop', 'x-hop': '1', te: 'trailers' },
      },
    });
    expect(headers).toMatchObject({
      ...{ host: targetHost(), authorization: 'Bearer of the game', cookie: 'sid=1; b=2', 'x-custom': '1' },
    });
    for (const name of ['x-hop', 'te']) expect(headers).not.toHaveProperty(name);
    expect(JSON.stringify(headers)).not.toContain('9.9.9.9');
  });

  test.each([
    ['same-origin', 'cors', 'empty', true],
    ['none', 'navigate', 'document', true],
    ['cross-site', 'navigate', 'iframe', true],
    ['cross-site', 'no-cors', 'image', false],
    ['same-site', 'cors', 'empty', false],
  ])('is forwarded from %s by %s for %s with cookies: %s', async (site, mode, dest, carries) => {
    const fetched = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
    const { headers } = await told('/', { headers: { ...fetched, cookie: '__Host-sid=1' } });
    expect(headers.cookie).toBe(carries ? 'sid=1' : undefined);
  });

  test('is refused for a host, an application or a path without a mapping', async () => {
    expect((await ask('/', { headers: { host: 'localhost' } })).status).toBe(404);
    expect((await ask('/', { headers: { host: `${APP}.evil.test` } })).status).toBe(404);
    expect((await ask('/', { app: OTHER })).status).toBe(404);
    mappings = [{ prefix: '/only', target: targetHost() }];
    expect((await ask('/other')).status).toBe(404);
    expect((await ask('http://evil.test/')).status).toBe(505);
    const worker = { 'service-worker': 'script' };
    expect((await ask('/sw.js', { headers: worker })).status).toBe(403);
  });

  test('is not forwarded to a private address, by number or by name', async () => {
    for (const private_ of ['10.0.0.1', '169.254.169.254', '[fd00::1]', 'inside.test', '0.0.0.0']) {
      mappings = [{ prefix: '/', target: private_ }];
      expect((await ask('/')).status, private_).toBe(502);
    }
  });

  test.each([
    [
      'chunked',
      (inner: string) =>
        `Transfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    ],
    [
      'of a length whose header is listed as hop-by-hop',
      (inner: string) => `Connection: content-length\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    ],
  ])('is received as one request if its body is %s, whatever the body contains', async (_, framed) => {
    const arrived: string[] = [];
    handle = (asked, answer) => {
      let body = '';
      asked.on('data', (part) => {
        body += part;
      });
      asked.on('end', () => {
        arrived.push(`${asked.method} ${asked.url} ${body.length}`);
        answer.end('done');
      });
    };
    const inner = `GET /stolen HTTP/1.1\r\nHost: ${targetHost()}\r\n\r\n`;
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST'])
      await new Promise<void>((resolve, reject) => {
        const socket = connect(proxy.port, '127.0.0.1', () =>
          socket.write(`${method} /a HTTP/1.1\r\nHost: ${hostOf(APP)}\r\n${framed(inner)}`),
        );
        socket.on('error', reject);
        socket.once('data', () => {
          socket.destroy();
          resolve();
        });
      });
    expect((await ask('/next')).status).toBe(200);
    const whole = ['GET', 'DELETE', 'OPTIONS', 'POST'].map((method) => `${method} /site/a ${inner.length}`);
    expect(arrived).toEqual([...whole, 'GET /site/next 0']);
  });

  test('has a body of at most the bound', async () => {
    handle = (asked, answer) => {
      let bytes = 0;
      asked.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      asked.on('end', () => answer.end(String(bytes)));
    };
    const post = (bytes: number, headers = {}) =>
      ask('/', { method: 'POST', body: Buffer.alloc(bytes), headers }).then(
        ({ status, body }) => [status, body] as const,
      );
    expect(await post(BODY_MAX)).toEqual([200, String(BODY_MAX)]);
    expect((await post(BODY_MAX + 1).catch(() => [413]))[0]).toBe(413);
    const chunked = { 'transfer-encoding': 'chunked' };
    expect((await post(BODY_MAX + 1, chunked).catch(() => [413]))[0]).toBe(413);
  });
});

describe('a response', () => {
  const answerWith = (status: number, headers: http.OutgoingHttpHeaders) => {
    handle = (_, answer) => answer.writeHead(status, headers).end('body');
  };

  test('cannot change the security of the origin', async () => {
    answerWith(200, {
      ...{
        'content-security-policy': 'default-src *',
        'x-frame-options': 'DENY',
        'referrer-policy': 'unsafe-url',
      },
      ...{
        'strict-transport-security': 'max-age=9',
        'clear-site-data': '"*"',
        refresh: '0;url=http://evil.test',
      },
      ...{ 'cross-origin-opener-policy': 'unsafe-none', 'cross-origin-embedder-policy': 'unsafe-none' },
      ...{ 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' },
      ...{ 'permissions-policy': 'camera=*', 'service-worker-allowed': '/', 'alt-svc': 'h3=":443"' },
      ...{ 'www-authenticate': 'Basic', 'x-kept': '1', 'content-type': 'text/html' },
    });
    const { headers } = await ask('/');
    expect(headers).toMatchObject({ 'x-kept': '1', 'content-type': 'text/html' });
    const server = 'http://127.0.0.1:1';
    expect(String(headers['content-security-policy']).split('; ')).toEqual([
      "default-src 'self' blob: data: 'unsafe-inline' 'unsafe-eval'",
      `connect-src 'self' blob: data: ws://${hostOf(APP)} ${server}`,
      `img-src 'self' blob: data: ${server}`,
      "frame-src 'self' blob: data:",
      "worker-src 'self' blob:",
      ...["object-src 'none'", "base-uri 'self'", "form-action 'self'"],
      `frame-ancestors 'self' ${server} http://127.0.0.1:*`,
    ]);
    expect(headers['referrer-policy']).toBe('same-origin');
    for (const name of [
      'x-frame-options',
      'strict-transport-security',
      'clear-site-data',
      'refresh',
      'alt-svc',
    ])
      expect(headers).not.toHaveProperty(name);
    for (const name of ['access-control-allow-origin', 'service-worker-allowed', 'www-authenticate'])
      expect(headers).not.toHaveProperty(name);
  });

  test('sets cookies for its own host and the embedding page only', async () => {
    answerWith(200, {
      'set-cookie': [
        'sid=1; Domain=localhost; Path=/deep; HttpOnly; SameSite=Lax',
        'a=b; Max-Age=5',
        '=nameless',
        '__Host-__Http-sid=1',
        `long=${'x'.repeat(5_000)}`,
      ],
    });
    expect((await ask('/')).headers['set-cookie']).toEqual([
      '__Host-sid=1; HttpOnly; Path=/; Secure; SameSite=None; Partitioned',
      '__Host-a=b; Max-Age=5; Path=/; Secure; SameSite=None; Partitioned',
    ]);
  });

  test.each([
    ['/next', '/next'],
    ['next?a=1', '/a/next?a=1'],
    ['/site/b', '/b'],
  ])('redirects for the location %s of the target to %s', async (location, to) => {
    answerWith(302, { location: location === '/next' ? `http://${targetHost()}/site/next` : location });
    expect(await ask('/a/x')).toMatchObject({ status: 302, headers: { location: to } });
  });

  test('does not redirect out of its mapping', async () => {
    for (const location of ['http://evil.test/', '//evil.test', '/other', 'javascript:alert(1)']) {
      answerWith(302, { location });
      const { status, headers } = await ask('/a');
      expect([status, headers.location], location).toEqual([502, undefined]);
    }
  });

  test.each([
    (self: string) => `http://${self}//evil.test/x`,
    (self: string) => `http://${self}/%2f/../..//evil.test/x`,
    () => `http://${targetHost()}/site//evil.test/x`,
  ])('never redirects a path to another host: %s', async (location) => {
    answerWith(302, { location: location(hostOf(APP)) });
    const { headers } = await ask('/a');
    expect(new URL(String(headers.location), `http://${hostOf(APP)}`).host).toBe(hostOf(APP));
  });

  test.each(['//', '//[', '//evil.test/x'])(
    'redirects within its mapping when %s was asked for',
    async (path) => {
      mappings = [{ prefix: '/', target: targetHost() }];
      answerWith(302, { location: '/next' });
      expect(await ask(path)).toMatchObject({ status: 302, headers: { location: '/next' } });
    },
  );

  test('has at most the bound of bytes, announced or not', async () => {
    answerWith(200, { 'content-length': String(ANSWER_MAX + 1) });
    expect((await ask('/')).status).toBe(502);
    const ofBytes = (bytes: number) => {
      handle = (_, answer) => {
        for (let left = bytes; left > 0; left -= 50_000) answer.write(Buffer.alloc(Math.min(left, 50_000)));
        answer.end();
      };
      return ask('/').then(({ body }) => body.length);
    };
    expect(await ofBytes(ANSWER_MAX)).toBe(ANSWER_MAX);
    await expect(ofBytes(ANSWER_MAX + 1)).rejects.toThrow();
  });

  test('is rejected when it switches protocols without a request to do so', async () => {
    handle = (asked) =>
      void asked.socket.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
    expect((await ask('/')).status).toBe(502);
  });

  test('is streamed as the target writes it', async () => {
    let finish = (): void => undefined;
    handle = (_, answer) => {
      answer.write('first');
      finish = () => answer.end('last');
    };
    const parts: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: proxy.port, agent: false, headers: { host: hostOf(APP) } };
      http.get(options, (answer) => {
        answer.on('data', (chunk: Buffer) => {
          parts.push(String(chunk));
          if (parts.length === 1) finish();
        });
        answer.on('end', resolve);
        answer.on('error', reject);
      });
    });
    expect(parts).toEqual(['first', 'last']);
  });

  test('is aborted for the browser where the target aborts it', async () => {
    handle = (_, answer) => {
      answer.writeHead(200, { 'content-length': '100' });
      answer.write('some', () => answer.destroy());
    };
    await expect(ask('/')).rejects.toThrow();
    handle = (asked) => asked.socket.destroy();
    expect((await ask('/')).status).toBe(502);
    mappings = [{ prefix: '/', target: '127.0.0.1:1' }];
    expect((await ask('/')).status).toBe(502);
  });

  test('is the relay at its own path, for pages that may embed activities', async () => {
    const { status, headers, body } = await ask('/.guildhall/relay?frame_id=1');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toContain(
      'frame-ancestors http://127.0.0.1:1 http://127.0.0.1:*',
    );
    expect(body).toContain('<script>');
  });
});

describe('a WebSocket', () => {
  const open = (path: string, headers: Record<string, string>) =>
    new WebSocket(`ws://127.0.0.1:${proxy.port}${path}`, ['chat'], {
      headers: { host: hostOf(APP), ...headers },
    });
  const refusedWith = (socket: WebSocket) =>
    new Promise<number | undefined>((resolve, reject) => {
      socket.on('unexpected-response', (_, answer) => resolve(answer.statusCode));
      socket.on('open', () => reject(new Error('It was opened.')));
      socket.on('error', () => undefined);
    });

  test('passes text and bytes both ways, with the cookies of the application', async () => {
    const origin = `http://${hostOf(APP)}`;
    const socket = open('/.proxy/live?x=1', { origin, cookie: '__Host-sid=1; a=b' });
    const next = () =>
      new Promise<readonly [Buffer, boolean]>((resolve) =>
        socket.once('message', (data, isBinary) => resolve([data as Buffer, isBinary])),
      );
    const [first] = await next();
    const seen = JSON.parse(String(first)) as { path: string; headers: IncomingHttpHeaders };
    expect(seen).toMatchObject({ path: '/site/live?x=1', headers: { cookie: 'sid=1', origin } });
    expect(socket.protocol).toBe('chat');
    const bytes = Buffer.alloc(200_000, 7);
    socket.send(bytes);
    expect(await next()).toEqual([bytes, true]);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(4000);
    expect(await closed).toBe(4000);
  });

  test('stays open until one side closes it, many times in a row', async () => {
    const origin = `http://${hostOf(APP)}`;
    const closing: unknown[] = [];
    for (let i = 0; i < 500; i++) {
      const socket = open('/live', { origin });
      socket.once('message', () => socket.close(4000));
      closing.push(await new Promise((resolve) => socket.once('close', resolve)));
    }
    expect(closing).toEqual(Array(500).fill(4000));
  });

  test.each(['close', 'close, Upgrade', 'keep-alive'])(
    'is refused to a connection that is announced as "%s"',
    async (connection) => {
      const lines = ['GET /live HTTP/1.1', `Host: ${hostOf(APP)}`, `Origin: http://${hostOf(APP)}`];
      lines.push(
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      );
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(proxy.port, '127.0.0.1', () =>
          socket.write(`${lines.join('\r\n')}\r\nConnection: ${connection}\r\n\r\n`),
        );
        socket.on('error', reject);
        socket.once('data', (data) => resolve(String(data)));
      });
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
    },
  );

  test('is refused to pages of other origins, and without a mapping', async () => {
    expect(await refusedWith(open('/', { origin: 'http://evil.test' }))).toBe(403);
    expect(await refusedWith(open('/', { origin: `http://${hostOf(OTHER)}` }))).toBe(403);
    mappings = [{ prefix: '/only', target: '127.0.0.1:1' }];
    expect(await refusedWith(open('/other', { origin: `http://${hostOf(APP)}` }))).toBe(404);
    const gone = open('/only', { origin: `http://${hostOf(APP)}` });
    await expect(new Promise((_, reject) => gone.on('error', reject))).rejects.toThrow();
  });
});

test('malformed bytes on a connection end that connection alone', async () => {
  for (const garbage of [
    '\0\0\0\0',
    'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n',
    'GET http://[ HTTP/1.1\r\n\r\n',
  ])
    await new Promise<void>((resolve) => {
      const socket = connect(proxy.port, '127.0.0.1', () => socket.end(garbage));
      socket.on('close', () => resolve());
      socket.on('error', () => undefined);
      socket.resume();
    });
  expect((await ask('/')).status).toBe(200);
});
