// Goal: over a real socket every request gets the platform's status, headers and body, however hostile it is.
import { Agent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { Arr, Bool, Obj, Optional, Snowflake, Str } from '../../../protocol/schemas/request.ts';
import { anything, none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../../../transports/rest/operation.ts';
import { exchange, request, startApi } from '../../support/rest.ts';

const bucket = { per: null, limit: 1_000, windowMs: 1_000 } as const;

const ok = { bucket, status: 200, reply: anything } as const;
const operations = resource({
  get_my_user: op({
    method: 'GET',
    path: '/users/@me',
    auth: 'any',
    ...ok,
    handle: ({ caller, authority }) => ({
      ok: true,
      value: { id: caller.userId, reason: authority.by.reason },
    }),
  }),
  get_user: op({
    method: 'GET',
    path: '/users/:user_id',
    auth: 'any',
    query: Obj({ flag: Optional(Bool()), ids: Optional(Arr(Snowflake(), 3)) }),
    ...ok,
    handle: ({ params, query }) => ({ ok: true, value: { id: params.user_id, ...query } }),
  }),
  create_message: op({
    method: 'POST',
    path: '/channels/:channel_id/messages',
    auth: 'any',
    body: Obj({ content: Optional(Str(0, 2000)) }),
    bodyBytesMax: 2 << 20,
    multipart: true,
    ...ok,
    handle: ({ body, files }) => ({
      ok: true,
      value: { ...body, files: files.map(({ field, filename, bytes }) => [field, filename, bytes.length]) },
    }),
  }),
  leave_guild: op({
    method: 'DELETE',
    path: '/users/@me/guilds/:guild_id',
    auth: 'any',
    bucket,
    status: 204,
    reply: none,
    handle: () => ({ ok: true }),
  }),
  list_user_messages: op({
    method: 'GET',
    path: '/users/:user_id/messages',
    auth: 'any',
    ...ok,
    handle: ({ params }) => ({ ok: true, value: { id: params.user_id } }),
  }),
  open: op({
    method: 'GET',
    path: '/open',
    auth: 'none',
    ...ok,
    handle: () => ({ ok: true, value: {} }),
  }),
  get_gateway: op({
    method: 'GET',
    path: '/gateway',
    auth: 'none',
    ...ok,
    handle: () => Promise.reject(new Error('the database is away')),
  }),
  get_bot_gateway: op({
    method: 'GET',
    path: '/gateway/bot',
    auth: 'any',
    ...ok,
    handle: () => Promise.reject(new NotServed('between two owners', 2.5)),
  }),
  get_my_application: op({
    method: 'GET',
    path: '/applications/@me',
    auth: 'any',
    ...ok,
    handle: () => Promise.reject(new LinkFault('lost', 'The aggregate was released.')),
  }),
});

let api: Awaited<ReturnType<typeof startApi>>;
const AUTH = { Authorization: 'Bot good' };
const JSON_AUTH = { ...AUTH, 'Content-Type': 'application/json' };

beforeAll(async () => {
  api = await startApi(operations, { globalPerSecond: 100_000 });
});
afterAll(() => api.server.close());

const call = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(api.url + path, init);
  const text = await response.text();
  return { response, status: response.status, body: text === '' ? null : JSON.parse(text) };
};

test('a JSON response has the type application/json, allows any origin and does not name the server', async () => {
  const { response, status, body } = await call('/api/v10/users/@me', { headers: AUTH });
  expect(status).toBe(200);
  expect(body).toEqual({ id: '1000', reason: null });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('x-ratelimit-bucket')).toMatch(/^[0-9a-f]{32}$/);
  expect(response.headers.has('uwebsockets')).toBe(false);
});

test.each(['/api/v10', '/api/v9', '/api'])('%s is served', async (base) => {
  expect((await call(`${base}/users/%40me`, { headers: AUTH })).body).toMatchObject({ id: '1000' });
});

test.each(['/api/v6', '/api/v7', '/api/v8', '/api/v11', '/api/v0'])('%s is unsupported', async (base) => {
  const { status, body } = await call(`${base}/users/@me`, { headers: AUTH });
  expect([status, body.code]).toEqual([400, 50041]);
});

test('an unknown path is 404, a wrong method is 405, and an unimplemented operation is 404 with its name', async () => {
  expect(await call('/api/v10/no/such/path')).toMatchObject({
    status: 404,
    body: { message: '404: Not Found', code: 0 },
  });
  expect(await call('/elsewhere')).toMatchObject({ status: 404, body: { code: 0 } });
  expect(await call('/api/v10/users/@me', { method: 'POST' })).toMatchObject({
    status: 405,
    body: { message: '405: Method Not Allowed', code: 0 },
  });
  const unbuilt = await call('/api/v10/voice/regions', { headers: AUTH });
  expect(unbuilt).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining('list_voice_regions') },
  });
});

test('a request without a valid token is rejected with 401', async () => {
  const unauthorized = { status: 401, body: { message: '401: Unauthorized', code: 0 } };
  for (const Authorization of ['', 'bad', 'Bot', 'Bot bad', 'Basic good', `Bot ${'x'.repeat(600)}`])
    expect(await call('/api/v10/users/@me', { headers: { Authorization } })).toMatchObject(unauthorized);
});

test.each([
  ['Bot good', '1000'],
  ['bot good', '1000'],
  ['BOT   good', '1000'],
  ['bearer good', '2000'],
  ['good', '2000'],
])('reads the credential %j, whatever the case of its scheme', async (Authorization, id) => {
  expect(await call('/api/v10/users/@me', { headers: { Authorization } })).toMatchObject({ body: { id } });
});

test.each(['', 'bad', 'Bot bad', 'Basic good', 'Bot good'])(
  'an operation without authentication ignores the credential %j',
  async (Authorization) => {
    expect(await call('/api/v10/open', { headers: { Authorization } })).toMatchObject({ status: 200 });
  },
);

test('the id of the caller in a path stands for @me, and the id of another user does not', async () => {
  const own = (path: string, init: RequestInit = {}) => call(path, { headers: AUTH, ...init });
  expect(await own('/api/v10/users/1000')).toMatchObject({ body: { id: '1000', reason: null } });
  expect(await own('/api/users/1000/guilds/5', { method: 'DELETE' })).toMatchObject({ status: 204 });
  expect(await own('/api/v10/users/1001/guilds/5', { method: 'DELETE' })).toMatchObject({ status: 404 });
  expect((await own('/api/v10/users/1001')).body).toEqual({ id: '1001' });
  for (const id of ['1000', '1001'])
    expect(await own(`/api/v10/users/${id}/messages`)).toMatchObject({ status: 200, body: { id } });
  const anonymous = await call('/api/v10/users/1000/guilds/5', { method: 'DELETE' });
  expect(anonymous).toMatchObject({ status: 404, body: { code: 0 } });
});

test('HEAD returns the length without the body, and OPTIONS returns the allowed headers', async () => {
  const head = await exchange(api.server, [request('HEAD /api/v10/users/@me', AUTH)], (text) =>
    text.includes('\r\n\r\n'),
  );
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(head).toContain('Content-Length: 27\r\n');
  expect(head.endsWith('\r\n\r\n')).toBe(true);
  const options = await call('/api/v10/users/@me', { method: 'OPTIONS' });
  expect(options.status).toBe(204);
  expect(options.response.headers.get('access-control-allow-headers')).toContain('Authorization');
});

test('a 204 response has no Content-Length', async () => {
  const text = await exchange(api.server, [request('DELETE /api/v10/users/@me/guilds/5', AUTH)], (all) =>
    all.includes('\r\n\r\n'),
  );
  expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
  expect(text.toLowerCase()).not.toContain('content-length');
});

test.each([
  ['GET /api/v10/users/@me', 200],
  ['HEAD /api/v10/users/@me', 200],
  ['GET /api/v10/nowhere', 404],
  ['OPTIONS /api/v10/users/@me', 204],
])('%s with Connection: close is answered with exactly one Connection: close', async (line, status) => {
  const text = await exchange(api.server, [request(line, { ...AUTH, Connection: 'close' })], (all) =>
    all.includes('\r\n\r\n'),
  );
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(text.match(/^connection: close\r$/gim)).toHaveLength(1);
});

test('query values are coerced to booleans and to lists of ids', async () => {
  expect((await call('/api/v10/users/5?flag=True&ids=1&other=x', { headers: AUTH })).body).toEqual({
    id: '5',
    flag: true,
    ids: ['1'],
  });
  expect((await call('/api/v10/users/5?flag=0&ids=1&ids=2', { headers: AUTH })).body).toMatchObject({
    flag: false,
    ids: ['1', '2'],
  });
  expect((await call('/api/v10/users/5?ids=1&ids=x', { headers: AUTH })).body).toMatchObject({
    code: 50035,
    errors: { ids: { 1: { _errors: [{ code: 'NUMBER_TYPE_COERCE' }] } } },
  });
});

test('a path parameter that is not an id is rejected with 50035', async () => {
  expect((await call('/api/v10/users/everyone', { headers: AUTH })).body).toEqual({
    message: 'Invalid Form Body',
    code: 50035,
    errors: {
      user_id: { _errors: [{ code: 'NUMBER_TYPE_COERCE', message: 'Value "everyone" is not snowflake.' }] },
    },
  });
});

test('the audit log reason is decoded, and rejected above 512 characters', async () => {
  const reasoned = (reason: string) =>
    call('/api/v10/users/@me', { headers: { ...AUTH, 'X-Audit-Log-Reason': reason } });
  expect((await reasoned('because%20%C3%BC')).body.reason).toBe('because ü');
  expect((await reasoned('100%')).body.reason).toBe('100%');
  expect((await reasoned('x'.repeat(513))).body).toMatchObject({ code: 50035, errors: { reason: {} } });
});

const send = (body: string | Uint8Array | FormData, headers: Record<string, string> = JSON_AUTH) =>
  call('/api/v10/channels/7/messages', { method: 'POST', headers, body });

test('a JSON body is read, and malformed JSON is rejected with 50109', async () => {
  expect((await send('{"content":"hi","unknown":1}')).body).toEqual({ content: 'hi', files: [] });
  for (const wrong of ['{', '', '[1', 'nul', '"', `${'['.repeat(100_000)}`, `[${'[],'.repeat(300_000)}[]]`])
    expect((await send(wrong === '' ? ' ' : wrong)).body).toMatchObject({ code: 50109 });
  expect((await send(new Uint8Array([0x22, 0xff, 0xfe, 0x22]))).body).toMatchObject({ code: 50109 });
});

test('a lone surrogate becomes U+FFFD, and a surrogate pair is kept', async () => {
  expect((await send('{"content":"a\\ud800b\\\\ud800 \\ud83d\\ude00 \\udc00"}')).body.content).toBe(
    'a\ufffdb\\ud800 😀 \ufffd',
  );
});

test('an astral character counts as one of 2000 characters', async () => {
  expect((await send(JSON.stringify({ content: '😀'.repeat(2000) }))).status).toBe(200);
  expect((await send(JSON.stringify({ content: '😀'.repeat(2001) }))).body).toMatchObject({
    code: 50035,
    errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } },
  });
});

test('a body of another content type is rejected with 415', async () => {
  const { status, body } = await send('content=hi', {
    ...AUTH,
    'Content-Type': 'application/x-www-form-urlencoded',
  });
  expect(status).toBe(415);
  expect(body).toMatchObject({ code: 50035, errors: { _errors: [{ code: 'CONTENT_TYPE_INVALID' }] } });
});

test('a form is read with its files and its payload_json', async () => {
  const form = new FormData();
  form.set('payload_json', '{"content":"with files"}');
  form.set('files[0]', new Blob([new Uint8Array(70_000)]), 'ünï "x".bin');
  form.set('files[1]', new Blob(['abc']), 'b.txt');
  expect((await send(form, AUTH)).body).toEqual({
    content: 'with files',
    files: [
      ['files[0]', 'ünï "x".bin', 70_000],
      ['files[1]', 'b.txt', 3],
    ],
  });
});

test('a form with too many files, a too large file, too many fields or malformed text is rejected', async () => {
  const many = new FormData();
  for (let n = 0; n <= 10; n++) many.set(`files[${n}]`, new Blob(['x']), 'x');
  expect((await send(many, AUTH)).body).toMatchObject({ code: 30015 });
  const large = new FormData();
  large.set('files[0]', new Blob([new Uint8Array((10 << 20) + 1)]), 'x');
  expect(await send(large, AUTH)).toMatchObject({ status: 413, body: { code: 40005 } });
  const fields = new FormData();
  for (let n = 0; n < 40; n++) fields.set(`f${n}`, 'x');
  expect((await send(fields, AUTH)).body).toMatchObject({ code: 50035 });
  const broken = { ...AUTH, 'Content-Type': 'multipart/form-data; boundary=b' };
  expect(
    (await send('--b\r\nContent-Disposition: form-data; name="files[0]"; filename="x"\r\n\r\nabc', broken))
      .body,
  ).toMatchObject({ code: 50035 });
  expect((await send('nothing of a form', broken)).body).toMatchObject({ code: 50035 });
  expect((await send('x', { ...AUTH, 'Content-Type': 'multipart/form-data' })).body).toMatchObject({
    code: 50035,
  });
});

test('a body is rejected with 413 for a too large Content-Length before it is sent, and for endless chunks', async () => {
  const announced = request('POST /api/v10/channels/7/messages', {
    ...JSON_AUTH,
    'Content-Length': String(26 << 20),
  });
  const text = await exchange(api.server, [announced], (all) => all.includes('40005'));
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
  expect(text).toContain('"code":40005');
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
  const chunked = request('POST /api/v10/channels/7/messages', {
    ...JSON_AUTH,
    'Transfer-Encoding': 'chunked',
  });
  const endless = await exchange(api.server, [chunked, ...Array.from({ length: 30 }, () => chunk)], (all) =>
    all.includes('40005'),
  );
  expect(endless).toMatch(/^HTTP\/1\.1 413 /);
});

test('a rejected request receives its response while the client is still sending the body', async () => {
  const { status } = await send('x'.repeat(5 << 20), {
    Authorization: 'Bot bad',
    'Content-Type': 'application/json',
  });
  expect(status).toBe(401);
});

test('an internal error is answered with 503 without its cause', async () => {
  const { status, body, response } = await call('/api/v10/gateway');
  expect([status, body]).toEqual([503, { code: 0, message: '503: Service Unavailable' }]);
  expect(response.headers.get('retry-after')).toBe('1');
});

test('a resource without an owner is answered with 503 and Retry-After', async () => {
  const { status, body, response } = await call('/api/v10/gateway/bot', { headers: AUTH });
  expect([status, body]).toEqual([503, { code: 0, message: '503: Service Unavailable' }]);
  expect(response.headers.get('retry-after')).toBe('3');
});

test('a request whose owner ends while it runs is answered with 503', async () => {
  const { status, body, response } = await call('/api/v10/applications/@me', { headers: AUTH });
  expect([status, body]).toEqual([503, { code: 0, message: '503: Service Unavailable' }]);
  expect(response.headers.get('retry-after')).toBe('1');
});

test('answers to pipelined requests are never swapped', async () => {
  const both = request('GET /api/v10/users/1', AUTH) + request('GET /api/v10/users/2', AUTH);
  const text = await exchange(api.server, [both], (all) => all.includes('"id":"2"'));
  expect(text.indexOf('"id":"1"')).toBeLessThanOrEqual(Math.max(0, text.indexOf('"id":"2"')));
});

test.each([
  [
    '10,000 header lines',
    `GET /api/v10/gateway HTTP/1.1\r\nHost: a\r\n${'X-A: b\r\n'.repeat(10_000)}\r\n`,
    /^HTTP\/1\.1 431 /,
  ],
  [
    'a broken chunk',
    `${request('POST /api/v10/channels/7/messages', { ...JSON_AUTH, 'Transfer-Encoding': 'chunked' })}zz\r\n`,
    /^HTTP\/1\.1 400 /,
  ],
  [
    'a chunked body with a Content-Length',
    `${request('POST /api/v10/channels/7/messages', { ...JSON_AUTH, 'Transfer-Encoding': 'chunked', 'Content-Length': '3' })}abc`,
    /^HTTP\/1\.1 400 /,
  ],
  [
    'a negative length',
    `${request('POST /api/v10/channels/7/messages', { ...JSON_AUTH, 'Content-Length': '-3' })}abc`,
    /^HTTP\/1\.1 400 /,
  ],
  [
    'two lengths',
    `${request('POST /api/v10/channels/7/messages', { ...JSON_AUTH, 'Content-Length': '3', 'content-length': '2' })}abc`,
    /^HTTP\/1\.1 400 /,
  ],
  ['bytes that are not HTTP', '\x00\x01\x02\r\n\r\n', /^HTTP\/1\.1 (400|505) /],
])('a request with %s ends only its own connection', async (_name, bytes, expected) => {
  expect(await exchange(api.server, [bytes])).toMatch(expected);
  expect((await call('/api/v10/users/@me', { headers: AUTH })).status).toBe(200);
});

test('a body that is incomplete at its time-out is ended with 408', async () => {
  const slow = await startApi(operations, { settings: { requestTimeoutMs: 5_000 } });
  const begun = new Promise<void>((resolve) => {
    const { setTimer } = slow.clock;
    slow.clock.setTimer = (run, delayMs) => {
      resolve();
      return setTimer.call(slow.clock, run, delayMs);
    };
  });
  const head = request(
    'POST /api/v10/channels/7/messages',
    { ...JSON_AUTH, 'Content-Length': '100' },
    '{"con',
  );
  const answer = exchange(slow.server, [head]);
  await begun;
  slow.clock.advance(5_000);
  expect(await answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"message":"408: Request Timeout"/);
  slow.server.close();
});

test('a body beyond the memory bound is rejected with 503, and later bodies are accepted', async () => {
  const small = await startApi(operations, {
    settings: { bodies: { bytesMax: 1_000, reservedBytes: 0, addressBytesMax: 2_000, userBytesMax: 2_000 } },
  });
  const post = async (bytes: number) => {
    const body = JSON.stringify({ content: 'x'.repeat(bytes) });
    const init = { method: 'POST', headers: JSON_AUTH, body };
    return (await fetch(`${small.url}/api/v10/channels/7/messages`, init)).status;
  };
  expect([await post(900), await post(1_100), await post(900)]).toEqual([200, 503, 200]);
  small.server.close();
});

test('each address has its own rate limit, and X-Forwarded-For counts only behind a trusted proxy', async () => {
  const limited = { per: null, limit: 1, windowMs: 60_000 } as const;
  const one = {
    get_gateway: { ...operations.get_gateway, bucket: limited, handle: () => ({ ok: true as const }) },
  };
  for (const trustProxy of [true, false]) {
    const behind = await startApi(one, { settings: { trustProxy } });
    const statusFrom = async (address: string) => {
      const headers = { 'X-Forwarded-For': `203.0.113.9, ${address}` };
      return (await fetch(`${behind.url}/api/v10/gateway`, { headers })).status;
    };
    const statuses = [
      await statusFrom('198.51.100.1'),
      await statusFrom('198.51.100.2'),
      await statusFrom('198.51.100.2'),
    ];
    expect(statuses).toEqual(trustProxy ? [200, 200, 429] : [200, 429, 429]);
    behind.server.close();
  }
});

test('a client that disconnects in the middle of a body does not affect others', async () => {
  const head = request(
    'POST /api/v10/channels/7/messages',
    { ...JSON_AUTH, 'Content-Length': '100' },
    '{"con',
  );
  await Promise.all(Array.from({ length: 20 }, () => talkAndLeave(head)));
  expect((await call('/api/v10/users/@me', { headers: AUTH })).status).toBe(200);
});

test('a body received during the token lookup does not break the next request on its connection', async () => {
  const slow = await startApi(operations, { globalPerSecond: 100_000, lookUpTurns: 3 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, body: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { ...JSON_AUTH, 'Content-Length': Buffer.byteLength(body) };
      httpRequest(`${slow.url}/api/v10${path}`, { method, agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      })
        .on('error', reject)
        .end(body);
    });
  expect(await ask('POST', '/channels/7/messages', '{"content":"hi"}')).toBe(200);
  expect(await ask('DELETE', '/users/@me/guilds/1', '{}')).toBe(204);
  expect(await ask('GET', '/users/@me', '')).toBe(200);
  agent.destroy();
  slow.server.close();
});

async function talkAndLeave(head: string): Promise<void> {
  const { connect } = await import('node:net');
  await new Promise<void>((resolve) => {
    const socket = connect(api.server.port, '127.0.0.1', () => {
      socket.write(head, () => {
        socket.destroy();
        resolve();
      });
    });
  });
}

test('a server that stops accepting rejects new connections', async () => {
  const other = await startApi(operations);
  const socket = exchange(other.server, [request('GET /api/v10/users/@me', AUTH)], (text) =>
    text.includes('\r\n\r\n'),
  );
  expect(await socket).toMatch(/^HTTP\/1\.1 200 /);
  other.server.stopAccepting();
  await expect(fetch(`${other.url}/api/v10/users/@me`)).rejects.toThrow();
  other.server.close();
});
