// Goal: a request to an application's URL reaches only hosts that may be contacted, is signed, and never holds up others.
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { createEndpointSender } from '../../../services/applications/endpoint.ts';
import { makeApplicationKeys } from '../../../services/identity/applicationkeys.ts';
import { createEndpointTransport, type EndpointSettings } from '../../../transports/outgoing/endpoints.ts';

interface Seen {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

let server: Server;
let seen: Seen[] = [];
/** The server's response to a request. */
let answer: (response: ServerResponse, request: IncomingMessage) => void;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    seen.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
    answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
  answer = (response) => response.writeHead(204).end();
});

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const transport = (
  more: Partial<EndpointSettings> = {},
  resolve?: Parameters<typeof createEndpointTransport>[1],
) =>
  createEndpointTransport(
    {
      ...{ privateOrigins: new Set(), allowsLoopback: true, extraCa: null, timeoutMs: 1_000 },
      formBytesMax: 4 << 20,
      ...more,
    },
    resolve,
  );
const post = (url: string, by = transport(), group = '1') =>
  by.send({ url, headers: { 'x-test': 'yes' }, body: Buffer.from('{}'), group });

describe('a request to an application', () => {
  test('has the given headers and body, and brings back the answer', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"type":1}');
    const got = await post(`${origin()}/hook?a=1`);
    expect(got).toEqual({
      ...{ ok: true, status: 200, contentType: 'application/json' },
      body: Buffer.from('{"type":1}'),
    });
    expect(seen).toMatchObject([
      { url: '/hook?a=1', headers: { 'x-test': 'yes', 'user-agent': 'guildhall' } },
    ]);
  });

  test('is a GET if it has no body', async () => {
    const methods: (string | undefined)[] = [];
    answer = (response, request) => {
      methods.push(request.method);
      response.writeHead(200).end('picture');
    };
    const got = await transport().send({ url: origin(), headers: {}, body: null, group: '1' });
    expect(got).toMatchObject({ ok: true, body: Buffer.from('picture') });
    expect([methods, seen[0]?.headers['content-length']]).toEqual([['GET'], undefined]);
  });

  test('reuses its connection', async () => {
    const by = transport();
    const ports = new Set<number | undefined>();
    answer = (response, request) => {
      ports.add(request.socket.remotePort);
      response.writeHead(204).end();
    };
    for (let time = 0; time < 5; time += 1) await post(origin(), by);
    expect([seen.length, ports.size]).toEqual([5, 1]);
  });

  test.each([
    'http://192.0.2.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest',
    'https://[fd00::1]/',
    'ftp://example.org/',
    'no url',
  ])('does not leave for %s', async (url) => {
    const by = transport();
    expect(by.allows(url)).toBe(false);
    expect(await post(url, by)).toEqual({ ok: false, reason: 'refused' });
  });

  test('does not reach this machine unless that is allowed', async () => {
    const by = transport({ allowsLoopback: false });
    expect(await post(origin(), by)).toEqual({ ok: false, reason: 'refused' });
    expect(seen).toEqual([]);
    expect(
      await post(origin(), transport({ allowsLoopback: false, privateOrigins: new Set([origin()]) })),
    ).toMatchObject({ ok: true, status: 204 });
  });

  test('does not reach a name that resolves to a private address', async () => {
    const { port } = server.address() as AddressInfo;
    const by = transport({ allowsLoopback: false }, (_, done) =>
      done(null, [
        { address: '93.184.215.14', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]),
    );
    expect(await post(`https://rebinding.example.org:${port}/`, by)).toEqual({
      ok: false,
      reason: 'refused',
    });
    expect(seen).toEqual([]);
  });

  test('does not follow a redirect', async () => {
    answer = (response) => response.writeHead(302, { location: `${origin()}/elsewhere` }).end();
    expect(await post(origin())).toMatchObject({ ok: true, status: 302 });
    expect(seen).toHaveLength(1);
  });

  test('ends when the answer takes too long', async () => {
    answer = () => undefined;
    expect(await post(origin(), transport({ timeoutMs: 50 }))).toEqual({ ok: false, reason: 'timeout' });
  });

  test('ends when the answer is too large, or breaks off', async () => {
    answer = (response) => response.end(Buffer.alloc((1 << 20) + 1));
    expect(await post(origin())).toEqual({ ok: false, reason: 'unreachable' });
    answer = (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('part');
      setImmediate(() => response.destroy());
    };
    expect(await post(origin())).toEqual({ ok: false, reason: 'unreachable' });
  });

  describe('whose answer is a form', () => {
    const form = { 'content-type': 'Multipart/Form-Data; boundary=x' };

    test('accepts at most the bytes that a form may have', async () => {
      answer = (response) => response.writeHead(200, form).end(Buffer.alloc(4 << 20));
      expect(await post(origin())).toMatchObject({ ok: true, body: { length: 4 << 20 } });
      answer = (response) => response.writeHead(200, form).end(Buffer.alloc((4 << 20) + 1));
      const by = transport();
      expect(await post(origin(), by)).toEqual({ ok: false, reason: 'unreachable' });
      answer = (response) => response.writeHead(200, form).end(Buffer.alloc(4 << 20));
      expect(await post(origin(), by)).toMatchObject({ ok: true });
    });

    test('shares the memory for forms with its group, and some of it with all', async () => {
      const by = transport({ formBytesMax: 1_000 });
      const held: ServerResponse[] = [];
      answer = (response) => {
        response.writeHead(200, form).write(Buffer.alloc(800));
        held.push(response);
      };
      const groups = ['1', '2', '3', '4', '5'];
      const first = groups.map((group) => post(origin(), by, group));
      await expect.poll(() => held.length).toBe(5);
      answer = (response) => response.writeHead(200, form).end(Buffer.alloc(201));
      expect(await post(origin(), by, '1')).toEqual({ ok: false, reason: 'unreachable' });
      expect(await post(origin(), by, '6')).toEqual({ ok: false, reason: 'unreachable' });
      for (const response of held) response.end();
      const settled = await Promise.all(first);
      expect(settled.map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
      expect(await post(origin(), by, '6')).toMatchObject({ ok: true });
    });
  });

  test('has no response without a listening server', async () => {
    expect(await post('http://127.0.0.1:1/')).toEqual({ ok: false, reason: 'unreachable' });
  });

  test('is refused above the bound of its group, while other groups are served', async () => {
    const by = transport();
    const slow = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    const slowUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
    const held = Array.from({ length: 401 }, () => post(slowUrl, by, 'slow'));
    expect(await held[400]).toEqual({ ok: false, reason: 'busy' });
    expect(await post(origin(), by, 'quick')).toMatchObject({ ok: true, status: 204 });
    slow.closeAllConnections();
    slow.close();
    const others = await Promise.all(held.slice(0, 400));
    expect(new Set(others.map((each) => each.ok))).toEqual(new Set([false]));
    expect(await post(origin(), by, 'slow')).toMatchObject({ ok: true, status: 204 });
  });

  test('does not wait for the slow ones of another group at the same host', async () => {
    const by = transport();
    const held: ServerResponse[] = [];
    answer = (response, request) => {
      if (request.url === '/slow') held.push(response);
      else response.writeHead(204).end();
    };
    const slow = Array.from({ length: 64 }, () => post(`${origin()}/slow`, by, 'slow'));
    expect(await post(origin(), by, 'quick')).toMatchObject({ ok: true, status: 204 });
    for (const response of held) response.writeHead(204).end();
    answer = (response) => response.writeHead(204).end();
    expect(new Set((await Promise.all(slow)).map(({ ok }) => ok))).toEqual(new Set([true]));
  });
});

describe('a signed request', () => {
  const keys = makeApplicationKeys((size) => randomBytes(size));
  const applicationId = '5' as ApplicationId;
  const sender = () =>
    createEndpointSender({
      applications: { signingKey: async (id) => (id === applicationId ? keys.signingKey : null) },
      transport: transport(),
      nowMs: () => 1_700_000_000_123,
    });
  const der = Buffer.concat([
    Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(keys.verifyKey, 'hex'),
  ]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  const isSigned = ({ headers, body }: Seen): boolean =>
    verify(
      null,
      Buffer.concat([Buffer.from(String(headers['x-signature-timestamp'])), body]),
      key,
      Buffer.from(String(headers['x-signature-ed25519']), 'hex'),
    );

  test('carries the Ed25519 signature of its time and body', async () => {
    await sender().post(applicationId, origin(), { type: 1 });
    expect(seen[0]?.headers).toMatchObject({ 'x-signature-timestamp': '1700000000' });
    expect(seen[0]?.body.toString()).toBe('{"type":1}');
    expect(seen.map(isSigned)).toEqual([true]);
  });

  test('carries another signature where the endpoint is tested', async () => {
    await sender().postForged(applicationId, origin(), { type: 1 });
    expect(seen.map(isSigned)).toEqual([false]);
  });

  test('is not sent for an application that does not exist', async () => {
    expect(await sender().post('6' as ApplicationId, origin(), {})).toEqual({
      ok: false,
      reason: 'unreachable',
    });
    expect(seen).toEqual([]);
  });
});
