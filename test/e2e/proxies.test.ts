// Goal: the Caddyfile of deploy/ carries API, uploads and gateway over TLS.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { freePort } from '../support/freeport.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { read } from '../support/source.ts';

const has = (program: string): boolean => {
  const found = spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  if (!found) console.log(`Left out: ${program} is not installed.`);
  return found;
};

let server: TestServer;
let folder: string;
const proxies: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-proxy-'));
  server = await startServer({ relayed: false, set: { trust_proxy: true } });
});
afterAll(async () => {
  for (const proxy of proxies) {
    if (proxy.exitCode !== null) continue;
    proxy.kill('SIGTERM');
    await once(proxy, 'exit');
  }
  await server.finish();
  await rm(folder, { recursive: true, force: true });
});

function replaced(file: string, changes: Readonly<Record<string, string>>): string {
  let given = read(file);
  for (const [from, to] of Object.entries(changes)) {
    expect(given).toContain(from);
    given = given.replaceAll(from, to);
  }
  return given;
}

/** Starts a proxy and waits until it answers. */
async function started(program: string, args: readonly string[], port: number): Promise<void> {
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const proxy = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...home } });
  proxies.push(proxy);
  for (let tried = 0; tried < 100; tried += 1) {
    if (proxy.exitCode !== null) expect.fail(`${program} ended with ${proxy.exitCode}.`);
    const answered = await call(port, 'GET', '/api/v10/gateway').catch(() => null);
    if (answered?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect.fail(`${program} does not answer.`);
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function call(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false },
      async (response) => resolve({ status: response.statusCode ?? 0, body: await text(response) }),
    );
    asked.once('error', reject);
    asked.end(body);
  });
}

async function caddy(): Promise<number> {
  const port = await freePort();
  await mkdir(join(folder, 'caddy'), { recursive: true });
  const site = replaced('deploy/proxy/Caddyfile', {
    'chat.example.org {': `https://127.0.0.1:${port} {\n\ttls internal`,
    '127.0.0.1:3000': `127.0.0.1:${server.port}`,
  });
  const global = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n';
  await writeFile(join(folder, 'Caddyfile'), global + site);
  await started('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], port);
  return port;
}

describe.skipIf(!has('caddy'))('Caddy', () => {
  let port: number;
  beforeAll(async () => {
    port = await caddy();
  }, 30_000);

  test('passes requests and a body of megabytes', async () => {
    const { bot, guild } = server.info;
    const boundary = 'x'.repeat(20);
    const file = 'a'.repeat(3 << 20);
    const body = `--${boundary}\r\ncontent-disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\n${file}\r\n--${boundary}--\r\n`;
    const headers = {
      authorization: `Bot ${bot.token}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(body.length),
    };
    const { status, body: answer } = await call(
      port,
      'POST',
      `/api/v10/channels/${guild.text_channel_id}/messages`,
      headers,
      body,
    );
    expect([status, JSON.parse(answer).attachments?.[0]?.size]).toEqual([200, file.length]);
  });

  test('passes the gateway', async () => {
    const socket = new WebSocket(`wss://127.0.0.1:${port}/?v=10&encoding=json`, {
      rejectUnauthorized: false,
    });
    const [frame] = await once(socket, 'message');
    socket.close();
    expect(JSON.parse(String(frame)).op).toBe(10);
  });
});
