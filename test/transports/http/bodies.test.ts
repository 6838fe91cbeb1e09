// Goal: over real sockets a body is bounded by what its operation declares, any client reads the whole rejection, and
// stalled uploads do not fail the requests of others.
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { request as undiciRequest } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Any, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { anything } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../../../transports/rest/operation.ts';
import { exchange, request, startApi } from '../../support/rest.ts';

const bucket = { per: null, limit: 100_000, windowMs: 1_000 } as const;
const KIB = 1024;

const operations = resource({
  oauth2_token: op({
    method: 'POST',
    path: '/open',
    auth: 'none',
    bucket,
    body: Obj({ text: Optional(Any()) }),
    status: 200,
    reply: anything,
    handle: () => ({ ok: true, value: {} }),
  }),
  create_dm: op({
    method: 'POST',
    path: '/plain',
    auth: 'any',
    bucket,
    body: Obj({ text: Optional(Any()) }),
    status: 200,
    reply: anything,
    handle: () => ({ ok: true, value: {} }),
  }),
  create_message: op({
    method: 'POST',
    path: '/upload',
    auth: 'any',
    bucket,
    body: Obj({ content: Optional(Str(0, 2000)) }),
    multipart: true,
    status: 200,
    reply: anything,
    handle: ({ files }) => ({ ok: true, value: { bytes: files[0]?.bytes.length ?? 0 } }),
  }),
  get_my_user: op({
    method: 'GET',
    path: '/users/@me',
    auth: 'any',
    bucket,
    status: 200,
    reply: anything,
    handle: ({ caller }) => ({ ok: true, value: { id: caller.userId } }),
  }),
});

type Api = Awaited<ReturnType<typeof startApi>>;
let api: Api;
const others: Api[] = [];
const held: Socket[] = [];

const start = async (options: Parameters<typeof startApi>[1] = {}): Promise<Api> => {
  const started = await startApi(operations, { globalPerSecond: 100_000, ...options });
  others.push(started);
  return started;
};

beforeAll(async () => {
  api = await startApi(operations, { globalPerSecond: 100_000 });
});
afterEach(() => {
  for (const socket of held.splice(0)) socket.destroy();
  for (const other of others.splice(0)) other.server.close();
});
afterAll(() => api.server.close());

const JSON_TYPE = { 'Content-Type': 'application/json' };
const SIGNED_IN = { ...JSON_TYPE, Authorization: 'Bearer good' };
const jsonOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
const TOO_LARGE = { message: 'Request entity too large', code: 40005 };
const isWhole = (text: string) => text.includes('40005}');

const post = async (path: string, body: string | FormData, headers: Record<string, string>, to = api) => {
  const response = await fetch(`${to.url}/api/v10${path}`, { method: 'POST', headers, body });
  return { status: response.status, body: await response.json(), headers: response.headers };
};

test.each([
  ['without a token', '/open', JSON_TYPE, 16 * KIB],
  ['with a token', '/plain', SIGNED_IN, 64 * KIB],
  ['as JSON to an operation with files', '/upload', SIGNED_IN, 64 * KIB],
])(
  '%s, a body of the default size is read and a larger body is rejected with 413',
  async (_, path, headers, bytesMax) => {
    expect(await post(path, jsonOf(bytesMax), headers)).toMatchObject({ status: 200 });
    expect(await post(path, jsonOf(bytesMax + 1), headers)).toMatchObject({ status: 413, body: TOO_LARGE });
  },
);

test('a form with files may be larger than a JSON body, but its payload_json may not', async () => {
  const form = (payload: string, bytes: number) => {
    const made = new FormData();
    made.set('payload_json', payload);
    made.set('files[0]', new Blob([new Uint8Array(bytes)]), 'a.bin');
    return made;
  };
  const auth = { Authorization: 'Bearer good' };
  expect(await post('/upload', form('{}', 9 << 20), auth)).toMatchObject({
    status: 200,
    body: { bytes: 9 << 20 },
  });
  const large = JSON.stringify({ content: 'x', padding: 'x'.repeat(64 * KIB) });
  expect(await post('/upload', form(large, 1), auth)).toMatchObject({ status: 413, body: TOO_LARGE });
});

test.each([100 * KIB, 5 << 20, 40 << 20])(
  'fetch reads the whole 413 response to a body of %s bytes',
  async (bytes) => {
    const body = jsonOf(bytes);
    for (let round = 0; round < 5; round += 1) {
      expect(await post('/open', body, JSON_TYPE)).toMatchObject({ status: 413, body: TOO_LARGE });
      expect(await post('/plain', body, SIGNED_IN)).toMatchObject({ status: 413, body: TOO_LARGE });
    }
  },
);

test.each([100 * KIB, 5 << 20, 40 << 20])(
  'undici reads the whole 413 response to a body of %s bytes',
  async (bytes) => {
    const { statusCode, body } = await undiciRequest(`${api.url}/api/v10/open`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: jsonOf(bytes),
    });
    expect([statusCode, await body.json()]).toEqual([413, TOO_LARGE]);
  },
);

test('an endless chunked body is answered with 413 while its client keeps sending', async () => {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  const head = request('POST /api/v10/open', { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' });
  const text = await talkOn(head, () => chunk, isWhole);
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
  expect(text).toMatch(/^connection: close\r$/im);
});

test('a client that sends before it reads still receives the 413 response', async () => {
  const headers = { ...JSON_TYPE, 'Content-Length': String(8 << 20), Connection: 'close' };
  const socket = connect(api.server.port, '127.0.0.1');
  held.push(socket);
  socket.pause();
  socket.write(request('POST /api/v10/open', headers));
  await new Promise<void>((resolve) => {
    socket.once('error', () => resolve());
    socket.write('x'.repeat(64 * KIB), () => resolve());
  });
  const text = await new Promise<string>((resolve) => {
    let all = '';
    socket.on('data', (data) => {
      all += data.toString('latin1');
      if (isWhole(all)) resolve(all);
    });
    socket.on('close', () => resolve(all));
    socket.resume();
  });
  expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*40005}/);
});

test('a connection serves the next request after a 413 to a body of 200 KiB', async () => {
  const tooLarge = 'x'.repeat(200 * KIB);
  const first = request(
    'POST /api/v10/open',
    { ...JSON_TYPE, 'Content-Length': String(tooLarge.length) },
    tooLarge,
  );
  const second = request('GET /api/v10/users/@me', { Authorization: 'Bearer good' });
  const text = await exchange(api.server, [first, second], (all) => all.includes('"id"'));
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
});

test('a client that sends Expect: 100-continue receives the 413 before it sends the body', async () => {
  const headers = { ...JSON_TYPE, 'Content-Length': String(30 << 20), Expect: '100-continue' };
  const text = await exchange(api.server, [request('POST /api/v10/open', headers)], isWhole);
  expect(text).toMatch(/HTTP\/1\.1 413 [\s\S]*40005}/);
});

test('a client that sends Expect: 100-continue and is accepted sends its body', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const body = jsonOf(1_000);
    const headers = { ...JSON_TYPE, Expect: '100-continue', 'Content-Length': body.length };
    const asked = httpRequest(`${api.url}/api/v10/open`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('continue', () => asked.end(body));
    asked.on('error', reject);
    asked.flushHeaders();
  });
  expect(status).toBe(200);
});

test.each([
  ['an unknown path', '/nowhere', 404],
  ['a wrong method', '/users/@me', 405],
  ['an invalid token', '/plain', 401],
])('a client that is still sending receives the answer to %s', async (_, path, status) => {
  for (let round = 0; round < 3; round += 1)
    expect(await post(path, 'x'.repeat(20 << 20), { ...JSON_TYPE, Authorization: 'Bot bad' })).toMatchObject({
      status,
    });
});

test('a large unread body outside of the API does not prevent the response', async () => {
  const response = await fetch(`${api.url}/elsewhere`, { method: 'POST', body: 'x'.repeat(20 << 20) });
  expect([response.status, await response.json()]).toMatchObject([404, { code: 0 }]);
});

test('an address is blocked after too many large bodies and wrong tokens', async () => {
  const guarded = await start({ inVainMax: 6 });
  const large = jsonOf(20 * KIB);
  for (let n = 0; n < 3; n += 1) {
    expect((await post('/open', large, JSON_TYPE, guarded)).status).toBe(413);
    expect((await post('/plain', '{}', { ...JSON_TYPE, Authorization: 'Bot bad' }, guarded)).status).toBe(
      401,
    );
  }
  const blocked = await post('/open', '{}', JSON_TYPE, guarded);
  expect(blocked).toMatchObject({ status: 429, body: { global: true } });
  expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(0);
  guarded.clock.advance(600_000);
  expect((await post('/open', '{}', JSON_TYPE, guarded)).status).toBe(200);
});

test('large bodies count against the /64 or the IPv4 address that a trusted proxy names', async () => {
  const guarded = await start({ inVainMax: 3, settings: { trustProxy: true } });
  const from = (address: string, body: string) =>
    post('/open', body, { ...JSON_TYPE, 'X-Forwarded-For': `198.51.100.1, ${address}` }, guarded);
  for (let n = 0; n < 3; n += 1)
    expect((await from(`2001:db8:1:2::${n + 1}`, jsonOf(20 * KIB))).status).toBe(413);
  expect((await from('2001:db8:1:2:ffff::', '{}')).status).toBe(429);
  expect((await from('2001:db8:1:3::1', '{}')).status).toBe(200);
  for (let n = 0; n < 3; n += 1) expect((await from('::ffff:192.0.2.1', jsonOf(20 * KIB))).status).toBe(413);
  expect((await from('192.0.2.1', '{}')).status).toBe(429);
  expect((await from('::ffff:192.0.2.2', '{}')).status).toBe(200);
});

const BODIES = {
  bytesMax: 64 << 20,
  reservedBytes: 48 << 20,
  addressBytesMax: 4 << 20,
  userBytesMax: 26 << 20,
};

/** Begins an upload and withholds its end; resolves when the bytes are written, or the server has answered or closed it. */
async function holdBack(
  to: Api,
  path: string,
  headers: Record<string, string>,
  bytes: number,
): Promise<Socket> {
  const socket = connect(to.server.port, '127.0.0.1');
  held.push(socket);
  socket.on('error', () => {});
  socket.resume();
  socket.write(request(`POST /api/v10${path}`, { ...headers, 'Content-Length': String(bytes + 10) }));
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.once('data', () => resolve());
    socket.write('x'.repeat(bytes), () => resolve());
  });
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  return socket;
}

test('a signed-in user can upload while 22 anonymous and 22 signed-in uploads are stalled', async () => {
  const busy = await start({ settings: { bodies: BODIES } });
  const type = 'multipart/form-data; boundary=b';
  for (let n = 0; n < 22; n += 1) {
    await holdBack(busy, '/open', JSON_TYPE, 16 * KIB - 20);
    const headers = { 'Content-Type': type, Authorization: `Bearer user-${3000 + n}` };
    await holdBack(busy, '/upload', headers, 3_000_000);
  }
  const form = new FormData();
  form.set('files[0]', new Blob([new Uint8Array(1 << 20)]), 'a.bin');
  expect(await post('/upload', form, { Authorization: 'Bearer user-2999' }, busy)).toMatchObject({
    status: 200,
    body: { bytes: 1 << 20 },
  });
  expect(await post('/open', '{}', JSON_TYPE, busy)).toMatchObject({ status: 200 });
});

test('a caller whose pending bodies fill its share receives 429 with Retry-After', async () => {
  const busy = await start({ settings: { bodies: { ...BODIES, userBytesMax: 1 << 20 } } });
  const auth = { Authorization: 'Bearer good' };
  const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
  await holdBack(busy, '/upload', { ...auth, ...type }, (1 << 20) - 40 * KIB);
  const refused = await post('/plain', jsonOf(60 * KIB), SIGNED_IN, busy);
  expect(refused).toMatchObject({ status: 429, body: { code: 0, retry_after: 2, global: false } });
  expect(refused.headers.get('retry-after')).toBe('2');
  const other = { ...JSON_TYPE, Authorization: 'Bearer user-7' };
  expect(await post('/plain', jsonOf(60 * KIB), other, busy)).toMatchObject({ status: 200 });
});

test('stalled uploads are evicted for an active upload when memory is short', async () => {
  const bodies = {
    bytesMax: 8 << 20,
    reservedBytes: 4 << 20,
    addressBytesMax: 4 << 20,
    userBytesMax: 8 << 20,
  };
  const busy = await start({ settings: { bodies } });
  const type = 'multipart/form-data; boundary=b';
  for (let n = 0; n < 4; n += 1) {
    const headers = { 'Content-Type': type, Authorization: `Bearer user-${3000 + n}` };
    await holdBack(busy, '/upload', headers, 2_000_000);
  }
  const form = new FormData();
  form.set('files[0]', new Blob([new Uint8Array(5_000_000)]), 'a.bin');
  const upload = () => post('/upload', form, { Authorization: 'Bearer user-2999' }, busy);
  const refused = await upload();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  busy.clock.advance(2_000);
  expect(await upload()).toMatchObject({ status: 200 });
});

test('a body with too little progress in ten seconds is ended with 408 before its time-out', async () => {
  const slow = await start({ settings: { requestTimeoutMs: 3_600_000 } });
  const begun = new Promise<void>((resolve) => {
    const { setTimer } = slow.clock;
    slow.clock.setTimer = (run, delayMs) => {
      resolve();
      return setTimer.call(slow.clock, run, delayMs);
    };
  });
  const head = request('POST /api/v10/plain', { ...SIGNED_IN, 'Content-Length': '60000' }, '{"text":"');
  const answer = exchange(slow.server, [head]);
  await begun;
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  slow.clock.advance(10_000);
  slow.clock.advance(10_000);
  expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
});

test('a keep-alive client receives the right status after each 413, 404 and 405', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, body: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { ...SIGNED_IN, 'Content-Length': Buffer.byteLength(body) };
      httpRequest(`${api.url}/api/v10${path}`, { method, agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      })
        .on('error', reject)
        .end(body);
    });
  const statuses = [];
  for (const [method, path, bytes] of [
    ['POST', '/plain', 100 * KIB],
    ['POST', '/nowhere', 1_000],
    ['PUT', '/plain', 300 * KIB],
    ['POST', '/plain', 1_000],
    ['DELETE', '/users/@me', 10],
    ['GET', '/users/@me', 0],
  ] as const)
    statuses.push(await ask(method, path, bytes === 0 ? '' : jsonOf(Math.max(20, bytes))));
  expect(statuses).toEqual([413, 404, 405, 200, 405, 200]);
  agent.destroy();
});

/** Writes a head, then `more` as fast as the socket takes it, until `enough` holds or the connection ends. */
function talkOn(head: string, more: () => string, enough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(api.server.port, '127.0.0.1');
    let text = '';
    const done = () => {
      socket.destroy();
      resolve(text);
    };
    const pump = () => {
      while (!socket.destroyed && socket.write(more()));
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (enough(text)) done();
    });
    socket.on('drain', pump);
    socket.on('error', done);
    socket.on('close', done);
    socket.write(head, pump);
  });
}
