// Goal: a web page that makes its own name resolve to this machine gets nothing from the admin port.
import { request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { isOwnHost, namedHost } from '../../../transports/admin/host.ts';
import { type AdminServer, openAdminPort } from '../../../transports/admin/port.ts';

const TOKEN = 'the-admin-token-of-this-test';
const servers: AdminServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function arrange() {
  const server = await openAdminPort({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    names: ['metrics.example.org'],
    open: async ({ path }) => (path === '/users' ? null : { status: 200, body: 'up 1\n' }),
    answer: async () => ({ status: 200, body: {} }),
  });
  servers.push(server);
  const { port } = new URL(server.url);
  const ask = (path: string, host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, authorization: `Bearer ${TOKEN}` };
      const sent = request({ host: '127.0.0.1', port, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.once('error', reject).end();
    });
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
      socket.once('error', reject);
      socket.once('data', (data) => {
        resolve(String(data).split('\r\n', 1)[0]!);
        socket.destroy();
      });
    });
  return { ask, raw, port };
}

describe('the admin port', () => {
  test('refuses metrics, health and the API to a name that is not its own', async () => {
    const { ask, port } = await arrange();
    for (const path of ['/metrics', '/livez', '/readyz', '/users'])
      for (const host of [
        'evil.example',
        `evil.example:${port}`,
        '127.0.0.1.evil.example',
        'localhost.evil.example',
      ])
        expect([path, host, await ask(path, host)]).toEqual([path, host, 421]);
  });

  test('accepts addresses, localhost and the configured names', async () => {
    const { ask, port } = await arrange();
    const hosts = [
      '127.0.0.1',
      `10.1.2.3:${port}`,
      '[::1]:1',
      'localhost',
      'LOCALHOST:80',
      'Metrics.Example.org.:3001',
    ];
    for (const host of hosts) expect([host, await ask('/metrics', host)]).toEqual([host, 200]);
  });

  test('accepts HTTP/1.0 probes without a Host header, and no other request without one', async () => {
    const { raw } = await arrange();
    expect(await raw('GET /readyz HTTP/1.0\r\n\r\n')).toContain(' 200 ');
    expect(await raw('GET /livez HTTP/1.0\r\n\r\n')).toContain(' 200 ');
    expect(await raw('GET /metrics HTTP/1.0\r\n\r\n')).toContain(' 421 ');
  });
});

describe('a Host header', () => {
  test('is accepted only with a known name, whatever surrounds it', () => {
    fc.assert(
      fc.property(fc.domain(), fc.option(fc.nat(65_535)), (name, port) => {
        const header = port === null ? name : `${name}:${port}`;
        expect(isOwnHost(header, '/metrics', [])).toBe(false);
        expect(isOwnHost(header.toUpperCase(), '/metrics', [name])).toBe(true);
      }),
    );
  });

  test('is parsed from any text without an exception, and never as another name', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const host = namedHost(text);
        expect(host === null || text.toLowerCase().includes(host)).toBe(true);
        expect(isOwnHost(`${text}@localhost`, '/metrics', [])).toBe(false);
      }),
    );
  });
});
